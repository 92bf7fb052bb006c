"""``replace`` for what every event copies: that of ``dataclasses`` runs ``__init__`` again, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # so that the names and types of fields are checked
    from dataclasses import replace as replace
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """The same value with some fields changed; of a dataclass without slots and without ``__post_init__``."""
        if not changes.keys() <= value.__dict__.keys():
            raise TypeError(f"{type(value).__name__} has no {sorted(changes.keys() - value.__dict__.keys())}")
        copied = object.__new__(type(value))
        copied.__dict__.update(value.__dict__)
        copied.__dict__.update(changes)
        return copied
