"""Recognising a fitted model again without storing it: a digest of its type, parameters and fitted numbers.

Saved classes hold no pickle. A model is named by its fingerprint, and loading takes the model again and checks it.
The digest walks the object's own state, so it survives a trip through pickle, joblib or skops unchanged; of models of
XGBoost, LightGBM, CatBoost and ONNX it is taken of their library's own format. It identifies *this fitted model*, not
the recipe that made it.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from likewise.errors import ModelMismatch, NotSupported
from likewise.hypotheses.model_formats import format_of
from likewise.hypotheses.pipelines import is_mixed


def fingerprint(model: Any) -> str:
    """A SHA-256 digest of a model's type and fitted state.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> a = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> b = LogisticRegression().fit([[0.0], [2.0]], [0, 1])
    >>> fingerprint(a) == fingerprint(a), fingerprint(a) == fingerprint(b)
    (True, False)
    """
    digest = hashlib.sha256()
    _feed(digest, model, set())
    return digest.hexdigest()


def _feed(digest: Any, value: Any, above: set[int]) -> None:
    """Feed a canonical form of ``value``, with the type before every part so that parts can't be confused."""
    if is_mixed(value):  # step by step: the library's own state is in no attribute, and options change no prediction
        digest.update(b"<pipeline>")
        _feed_all(digest, [part for step in value.steps for part in step], above)
        return
    if (form := format_of(value)) is not None:
        digest.update(f"<{form[0].package} {form[1]}>".encode())
        digest.update(form[0].identity(value))
        return
    digest.update(f"<{type(value).__module__}.{type(value).__qualname__}>".encode())
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        digest.update(repr(value).encode())
        return
    if id(value) in above:
        digest.update(b"cycle")
        return
    above = above | {id(value)}
    if isinstance(value, np.ndarray):
        _feed_array(digest, value, above)
    elif isinstance(value, Mapping):
        _feed_all(digest, sorted(value.items(), key=lambda item: repr(item[0])), above)
    elif isinstance(value, (set, frozenset)):
        _feed_all(digest, sorted(value, key=repr), above)
    elif isinstance(value, (list, tuple)):
        _feed_all(digest, value, above)
    elif isinstance(value, (np.random.RandomState, np.random.Generator)) or "BinaryTree" in _bases(value):
        pass  # neither changes a prediction, and a search tree counts its calls
    elif isinstance(value, type):
        digest.update(f"{value.__module__}.{value.__qualname__}".encode())
    elif isinstance(value, (types.FunctionType, types.MethodType)):
        _feed_function(digest, value, above)
    else:
        _feed_object(digest, value, above)


def _feed_all(digest: Any, values: Iterable[Any], above: set[int]) -> None:
    for value in values:
        _feed(digest, value, above)


def _bases(value: Any) -> str:
    return " ".join(base.__name__ for base in type(value).__mro__)


def _feed_array(digest: Any, array: Any, above: set[int]) -> None:
    digest.update(f"{array.dtype}{array.shape}".encode())
    if array.dtype.names:  # field by field: the padding between fields is not data
        _feed_all(digest, [array[name] for name in array.dtype.names], above)
    elif array.dtype.hasobject:
        _feed_all(digest, array.ravel().tolist(), above)
    else:
        digest.update(np.ascontiguousarray(array).tobytes())


def _feed_function(digest: Any, function: Any, above: set[int]) -> None:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    defaults = [function.__defaults__, function.__kwdefaults__, getattr(function, "__self__", None)]
    _feed_all(digest, [*_code(function.__code__), cells, *defaults], above)


def _code(code: types.CodeType) -> list[Any]:
    """What a function does, with the functions inside it, but not where it was written."""
    constants = [_code(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    return [code.co_code, constants, code.co_names]


def _feed_object(digest: Any, value: Any, above: set[int]) -> None:
    state = vars(value) if hasattr(value, "__dict__") else None
    if state:
        _feed(digest, state, above)
    else:
        # Compiled objects (the nodes of a tree) show their numbers only through the pickle protocol.
        try:
            pieces = value.__reduce_ex__(4)[1:3]
        except (TypeError, ValueError) as error:
            raise NotSupported(
                f"A {type(value).__module__}.{type(value).__qualname__} can't be recognised again, as it does not show "
                f"its state ({error}): wrap it in a function or class that does."
            ) from None
        _feed_all(digest, [piece for piece in pieces if piece is not None], above)


def check_models(models: Sequence[Any], saved: Sequence[str]) -> None:
    """Refuse models that are not the saved ones, in order."""
    if len(models) != len(saved):
        raise ModelMismatch(f"`models` must hold the {len(saved)} models this was saved with, got {len(models)}.")
    for position, (model, expected) in enumerate(zip(models, saved, strict=True)):
        if fingerprint(model) != expected:
            raise ModelMismatch(
                f"`models[{position}]` must be the model this was saved with (fingerprint {expected[:12]}…), "
                f"got {type(model).__name__} with fingerprint {fingerprint(model)[:12]}…."
            )
