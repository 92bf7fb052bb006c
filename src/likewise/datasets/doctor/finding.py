"""A finding: what a careful colleague would say about a file, and what would mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KINDS = {
    "file": "The file",
    "written": "How values are written",
    "leak": "Columns that give the label away, if they are known only after the decision",
    "label": "The label",
    "people": "The people",
    "protected": "Protected attributes",
    "twins": "Columns that say the same",
    "id": "Who each row is",
}
"""The groups that findings are printed in, in this order, each with its heading."""


@dataclass(frozen=True)
class Finding:
    """One thing that was seen in a file.

    Attributes
    ----------
    kind
        One of ``KINDS``.
    columns
        The columns that it is about; empty if it is about the file.
    sentence
        What was seen, and what it would do.
    option
        The option that mends it: one of ``likewise play``, or ``--fix`` of ``likewise data``. Empty if none can.
    values
        What the option takes; options that take lists are joined over all findings.
    noted
        Whether the datasheet of :func:`likewise.datasets.from_frame` says it too.

    Examples
    --------
    >>> Finding("leak", ("reject",), "reject is the opposite of approve.", "--drop", ("reject",)).to_dict()["option"]
    '--drop'
    """

    kind: str
    columns: tuple[str, ...]
    sentence: str
    option: str = ""
    values: tuple[str, ...] = ()
    noted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        lists = {"columns": list(self.columns), "values": list(self.values)}
        return {"kind": self.kind, "sentence": self.sentence, "option": self.option} | lists


def several(names: tuple[str, ...], most: int = 6) -> str:
    """Names in a row, with a count of those that there is no room for.

    Examples
    --------
    >>> several(("age",)), several(("a", "b", "c", "d"), 2)
    ('age', 'a, b and 2 more')
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
