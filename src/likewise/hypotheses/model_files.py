"""Fitted models in one file, without pickle: each in the format of its own library, in a zip archive.

    models.json      which model is where
    0.ubj, 1.txt, …  models of XGBoost, LightGBM, CatBoost and ONNX, which these libraries open by themselves
    models.skops     all models of scikit-learn together, as they may share parts
    2.1.ubj          step 1 of model 2, a pipeline of scikit-learn with a step of another library
    3.npy            an array, such as the pool of an ``EstimatorClass``

A function has no such format: its source is what must be kept.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from likewise.errors import InvalidParameter, ModelMismatch, NotSupported, require
from likewise.hypotheses.model_formats import FORMATS, format_of
from likewise.hypotheses.pipelines import is_mixed, pipeline_of
from likewise.storage import whole_file

FORMAT = 1
CONTENTS, SKOPS = "models.json", "models.skops"
SCORES = frozenset(
    f"likewise.classes.{name}"
    for name in (
        "anchors.Anchors", "anchors.Lipschitz", "reads.Reads", "reads.Term",
        "scores.Additive", "scores.Average", "scores.Column", "scores.Smoother",
    )
)  # fmt: skip
"""The types that scores of suggested classes are made of: what may be read beside the types of scikit-learn."""


def save_models(models: Sequence[Any], path: str | Path) -> Path:
    """Write fitted models to one file, each in the format of its own library; whole or not at all.

    Parameters
    ----------
    models
        Models of scikit-learn, XGBoost, LightGBM, CatBoost or ``likewise.OnnxModel``, pipelines of scikit-learn with
        such models as steps, and arrays: ``F.models``.
    path
        The file, a zip archive.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = open_models(save_models([model], Path(folder) / "models.zip"))
    >>> bool((again[0].coef_ == model.coef_).all())
    True
    """
    parts = _Parts({}, [])
    entries = [parts.entry(model, str(position)) for position, model in enumerate(models)]
    if parts.together:
        parts.contents[SKOPS] = _by_skops(parts.together)
    with whole_file(Path(path)) as draft, ZipFile(draft, "w") as archive:
        archive.writestr(CONTENTS, json.dumps({"format": FORMAT, "models": entries}))
        for name, content in parts.contents.items():
            archive.writestr(name, content)
    return Path(path)


@dataclass(frozen=True)
class _Parts:
    """What goes into a file: contents by name, and the models of scikit-learn that go together."""

    contents: dict[str, bytes]
    together: list[Any]

    def entry(self, model: Any, place: str) -> dict[str, Any]:
        """Add a model, and say where it is."""
        if is_mixed(model):
            steps = [[name, self.entry(step, f"{place}.{k}")] for k, (name, step) in enumerate(model.steps)]
            return {"pipeline": steps}
        form = format_of(model)
        if form is not None:
            return self._kept(f"{place}.{form[0].ending}", form[0].content(model)) | {"kind": form[1]}
        if isinstance(model, np.ndarray):
            return self._kept(f"{place}.npy", _array(model))
        _require_savable(model, place)
        self.together.append(model)
        return {"file": SKOPS, "place": len(self.together) - 1}

    def _kept(self, name: str, content: bytes) -> dict[str, Any]:
        self.contents[name] = content
        return {"file": name}


def open_models(models: Sequence[Any] | str | Path | None) -> list[Any]:
    """The models given on loading: a sequence of them, a file of ``save_models``, or a skops file of a list.

    A file may hold scikit-learn's own types, the scores of suggested classes and models of the libraries whose formats
    we know, and no others. Nothing is asked to predict before its fingerprint was found in what is being loaded, so a
    file is as safe as the policy or the transcript that it comes with, and the library that reads its format.
    """
    if models is None:
        return []
    if not isinstance(models, (str, Path)):
        return list(models)
    try:
        return _from_file(Path(models))
    except (InvalidParameter, ModelMismatch):
        raise
    except (OSError, ValueError, KeyError, IndexError, TypeError, BadZipFile) as error:
        raise ModelMismatch(
            f"`models` must be a file of models (lw.save_models) or a skops file, got {str(models)!r}: {error}."
        ) from None


def named(model: Any) -> str:
    """What to call a model where people read it: its type, or the name of a function."""
    name = getattr(model, "__name__", None)
    return name if callable(model) and isinstance(name, str) and name != "<lambda>" else type(model).__name__


def _require_savable(model: Any, position: str) -> None:
    if callable(model) and not hasattr(model, "get_params") and not type(model).__module__.startswith("likewise."):
        name = getattr(model, "__qualname__", type(model).__qualname__)
        raise NotSupported(
            f"`models[{position}]` is the function `{name}` of {model.__module__}, which no file can hold: keep its "
            "source, and give it again on loading, as `models=[…]`."
        )


def _array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def _by_skops(models: list[Any]) -> bytes:
    skops = _skops()
    try:
        content: bytes = skops.dumps(models)
    except Exception as error:  # skops raises whatever the model's own state raises
        kinds = ", ".join(sorted({type(model).__name__ for model in models}))
        raise NotSupported(
            f"skops can't write {kinds}: {error}; keep the models yourself, and give them again."
        ) from None
    if strange := _strange(skops.get_untrusted_types(data=content)):
        raise NotSupported(
            f"A file of models can't hold {', '.join(strange)}, which is neither scikit-learn's nor a whole model of "
            "XGBoost, LightGBM or CatBoost: keep the models yourself, and give them again on loading, as `models=[…]`."
        )
    return content


def _strange(names: Sequence[str]) -> list[str]:
    return [name for name in names if not name.startswith("sklearn.") and name not in SCORES]


def _skops() -> Any:
    from skops import io as skops

    return skops


def _from_file(path: Path) -> list[Any]:
    with ZipFile(path) as archive:
        if CONTENTS not in archive.namelist():
            return _from_skops(path.read_bytes())
        manifest = json.loads(archive.read(CONTENTS))
        require(manifest["format"] == FORMAT, "models", f"be a file of format {FORMAT}", manifest["format"])
        together = _from_skops(archive.read(SKOPS)) if SKOPS in archive.namelist() else []
        return [_restored(entry, archive, together) for entry in manifest["models"]]


def _restored(entry: dict[str, Any], archive: ZipFile, together: list[Any]) -> Any:
    if "pipeline" in entry:
        return pipeline_of([(name, _restored(step, archive, together)) for name, step in entry["pipeline"]])
    name, ending = entry["file"], Path(entry["file"]).suffix[1:]
    if name == SKOPS:
        return together[entry["place"]]
    if ending == "npy":
        return np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
    form = FORMATS[ending]
    require(entry["kind"] in form.kinds, "models", f"hold models of {form.package} of a known type", entry["kind"])
    return form.restored(archive.read(name), entry["kind"])


def _from_skops(content: bytes) -> list[Any]:
    skops = _skops()
    # skops warns of trees with forged nodes, which can crash `predict`: fingerprints are checked before that.
    types = skops.get_untrusted_types(data=content)
    strange = _strange(types)
    require(not strange, "models", "hold models of scikit-learn; load others yourself and pass them", strange)
    loaded = skops.loads(content, trusted=types)
    return list(loaded) if isinstance(loaded, (list, tuple)) else [loaded]
