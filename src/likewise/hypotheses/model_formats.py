"""Fitted models as bytes, each in the format of its own library: XGBoost, LightGBM, CatBoost and ONNX.

What such a library computes with lies in its own memory, where neither pickle nor a walk over attributes finds it. Its
own format holds the whole model, says the same again after a trip through a file, and can be opened without us.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.errors import ModelMismatch, NotSupported, require
from likewise.protocol import Floats


class ModelFormat(ABC):
    """A library's own format for its fitted models."""

    package: ClassVar[str]
    ending: ClassVar[str]
    kinds: ClassVar[Sequence[str]]
    """The types whose whole state the format holds. A type that derives from them may add to it, so it isn't one."""

    def kind(self, model: Any) -> str | None:
        """The name of a model's type, if this format holds such models; one that was never fitted has no content."""
        name, package = type(model).__name__, type(model).__module__.split(".")[0]
        return name if package == self.package and name in self.kinds and _is_fitted(model) else None

    @abstractmethod
    def content(self, model: Any) -> bytes:
        """The fitted model."""

    @abstractmethod
    def restored(self, content: bytes, kind: str) -> Any:
        """The model again."""

    def identity(self, model: Any) -> bytes:
        """What a fingerprint is taken of."""
        return self.content(model)

    def module(self) -> Any:
        """The library; one sentence where it isn't installed."""
        try:
            return importlib.import_module(self.package)
        except ImportError:
            raise ModelMismatch(f"Reading a model of {self.package} needs {self.package}: install it first.") from None


def _is_fitted(model: Any) -> bool:
    check = getattr(model, "__sklearn_is_fitted__", None) or getattr(model, "is_fitted", None)
    return check is None or bool(check())


class XGBoostFormat(ModelFormat):
    """Universal binary JSON, as ``save_model`` writes it."""

    package, ending = "xgboost", "ubj"
    kinds = ("Booster", "XGBClassifier", "XGBRegressor", "XGBRanker", "XGBRFClassifier", "XGBRFRegressor")

    def content(self, model: Any) -> bytes:
        """The booster; what a classifier knows beyond it can be read off it."""
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return bytes(booster.save_raw("ubj"))

    def restored(self, content: bytes, kind: str) -> Any:
        """A model of the same type."""
        model = getattr(self.module(), kind)()
        model.load_model(bytearray(content))
        return model


class BoosterRegressor:
    """A booster of LightGBM as a step of a pipeline of scikit-learn, which asks its last step for ``fit``."""

    def __init__(self, booster: Any) -> None:
        self.booster_ = booster

    def fit(self, X: Any, y: Any) -> Any:
        """It was fitted before it was saved."""
        raise NotSupported("A model from a file can't be fitted again: fit a new one.")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()

    def predict(self, X: Any) -> Any:
        """What the booster says."""
        return np.asarray(self.booster_.predict(X), dtype=float)


class BoosterClassifier(BoosterRegressor):
    """How LightGBM's classifier comes back from a file: LightGBM's format holds the booster and nothing around it.

    It gives the same probabilities and the same answers, for the labels 0 and 1.
    """

    def predict_proba(self, X: Any) -> Floats:
        """(people, 2): the probabilities of 0 and of 1."""
        ones = np.asarray(self.booster_.predict(X), dtype=float)
        return np.column_stack([1.0 - ones, ones])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The label with the larger probability; 0 if both are the same."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))


class LightGBMFormat(ModelFormat):
    """LightGBM's text format."""

    package, ending = "lightgbm", "txt"
    kinds = ("Booster", "LGBMClassifier", "LGBMRegressor", "LGBMRanker")

    def kind(self, model: Any) -> str | None:
        """Regressors are their boosters, and a classifier from a file is still one."""
        if isinstance(model, BoosterRegressor):
            return "LGBMClassifier" if isinstance(model, BoosterClassifier) else "Booster"
        kind = super().kind(model)
        return kind if kind in (None, "LGBMClassifier") else "Booster"

    def content(self, model: Any) -> bytes:
        """The booster as text."""
        text: str = getattr(model, "booster_", model).model_to_string()
        return text.encode()

    def restored(self, content: bytes, kind: str) -> Any:
        """A booster, or a classifier around it."""
        booster = self.module().Booster(model_str=content.decode())
        return BoosterClassifier(booster) if kind == "LGBMClassifier" else booster


class CatBoostFormat(ModelFormat):
    """CatBoost's binary format."""

    package, ending = "catboost", "cbm"
    kinds = ("CatBoost", "CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker")

    def content(self, model: Any) -> bytes:
        """What ``save_model`` writes."""
        return self._written(model, "cbm")

    def identity(self, model: Any) -> bytes:
        """Its JSON form, sorted: the binary one lists its remarks in any order."""
        return json.dumps(json.loads(self._written(model, "json")), sort_keys=True).encode()

    def restored(self, content: bytes, kind: str) -> Any:
        """A model of the same type."""
        model = getattr(self.module(), kind)()
        model.load_model(blob=content)
        return model

    @staticmethod
    def _written(model: Any, form: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model.{form}"
            model.save_model(str(path), format=form)
            return path.read_bytes()


class OnnxModel:
    """A model in the ONNX format, which most libraries can write: a scorer for ``Thresholds.scores``.

    Its first input takes people as one table of numbers. Its score is the probability of 1: the second column of an
    output with two, the entry of 1 of an output that names its classes, or the only number of each person.

    Parameters
    ----------
    model
        A file, or the bytes of one.

    Examples
    --------
    >>> from likewise.hypotheses import fingerprint
    >>> model = OnnxModel(b"the bytes of a file")  # it is opened when it first scores somebody
    >>> fingerprint(model) == fingerprint(OnnxModel(b"the bytes of another file"))
    False
    """

    def __init__(self, model: str | Path | bytes) -> None:
        path = isinstance(model, (str, Path))
        require(path or isinstance(model, bytes), "model", "be a file or the bytes of one", type(model).__name__)
        self.content = Path(model).read_bytes() if isinstance(model, (str, Path)) else model
        self._session: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self.content, "_session": None}  # a session belongs to its process

    def __call__(self, X: Any) -> Floats:
        """The score of each person."""
        session = self._opened()
        given = session.get_inputs()[0]
        people = np.asarray(X, dtype=np.float64 if "double" in given.type else np.float32)
        scores = [_second(output) for output in session.run(None, {given.name: people})]
        fitting = [score for score in scores if score is not None and score.shape == (len(people),)]
        require(
            bool(fitting), "model", "give a number for each person", [output.name for output in session.get_outputs()]
        )
        # Classifiers give the label first and then its probabilities.
        return fitting[-1]

    def _opened(self) -> Any:
        if self._session is None:
            try:
                from onnxruntime import InferenceSession, SessionOptions
            except ImportError:
                raise ModelMismatch("Scoring with an ONNX model needs onnxruntime: install it first.") from None
            options = SessionOptions()
            options.intra_op_num_threads = 1  # one order of additions, the same numbers everywhere
            self._session = InferenceSession(self.content, options, providers=["CPUExecutionProvider"])
        return self._session


def _second(output: Any) -> Floats | None:
    """The probability of 1 of everybody in one output; None if it has no such number."""
    if isinstance(output, list):
        return np.array([classes.get(1, np.nan) for classes in output], dtype=float)
    if output.dtype.kind not in "fiub":
        return None
    table = output.reshape(len(output), -1).astype(float)
    return table[:, -1] if table.shape[1] in (1, 2) else None


class OnnxFormat(ModelFormat):
    """The ONNX file itself."""

    package, ending, kinds = "likewise", "onnx", ("OnnxModel",)

    def content(self, model: Any) -> bytes:
        """The file."""
        return bytes(model.content)

    def restored(self, content: bytes, kind: str) -> OnnxModel:
        """A scorer on the same file."""
        return OnnxModel(content)


FORMATS: dict[str, ModelFormat] = {
    form.ending: form for form in (XGBoostFormat(), LightGBMFormat(), CatBoostFormat(), OnnxFormat())
}
"""Formats by the ending of their files."""


def format_of(model: Any) -> tuple[ModelFormat, str] | None:
    """The format that holds a model, and the model's type in it; None if it is none of these libraries'."""
    for form in FORMATS.values():
        if (kind := form.kind(model)) is not None:
            return form, kind
    return None
