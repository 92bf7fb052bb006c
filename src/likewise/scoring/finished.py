"""A finished policy: how to read people, the class of hypotheses and its weights, in one file.

``policy.json`` holds plain JSON: no pickle, a format number, and a SHA-256 of its own content, so that a file which was
changed by hand or cut short is refused. A class on models' scores names each model by its fingerprint, and needs the
models again on loading.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.datasets import Encoder
from likewise.displays import some
from likewise.errors import InvalidParameter, require
from likewise.game import Transcript
from likewise.hypotheses import open_models
from likewise.policies import DeployablePolicy, Mixture
from likewise.protocol import Floats
from likewise.reading import Reading
from likewise.scoring.scored_columns import SCORERS, ScoredColumns
from likewise.storage import write_whole

if TYPE_CHECKING:
    from likewise.scoring.classifier import PolicyClassifier

FORMAT = 1
MODELS = "models.zip"
"""The file of the fitted models that a policy needs, beside it in the folder of a run."""


class FinishedPolicy(DeployablePolicy):
    """A policy that has finished learning, with everything that it needs to score people as they come.

    Parameters
    ----------
    policy
        The mixture.
    encoder
        From a table of people to the features that the class was built on; None where those are the table's columns.
    facts
        Where the policy comes from, in plain JSON values; kept and shown, never used.
    scorers
        Columns that models fill before the encoder reads people; None if there are none.

    Examples
    --------
    >>> from likewise import Thresholds
    >>> policy = FinishedPolicy(Mixture(Thresholds([[0.5]], names=["income"]), np.array([0.0, 0.2, 0.8, 0.0])))
    >>> policy.columns, policy.probability([[0.4], [0.6]]).tolist()
    (['income'], [0.2, 1.0])
    """

    def __init__(
        self,
        policy: Mixture,
        encoder: Encoder | None = None,
        facts: dict[str, Any] | None = None,
        scorers: ScoredColumns | None = None,
    ) -> None:
        require(isinstance(policy, Mixture), "policy", "be a Mixture over a class", type(policy).__name__)
        self.policy = policy
        self.hypotheses = policy.hypotheses
        self.encoder = encoder
        self.facts = dict(facts or {})
        self.scorers = scorers

    @classmethod
    def from_transcript(cls, transcript: Transcript, encoder: Encoder | None = None) -> FinishedPolicy:
        """The average policy of a play: the one that the theorems on people not yet seen are about."""
        settings = {
            "learner": dict(transcript.facts.learner.parameters),
            "alpha": transcript.alpha,
            "margin": transcript.margin,
            "seed": transcript.seed,
        }
        facts = {"rounds": transcript.rounds, "draws": len(transcript.y)} | settings
        return cls(transcript.average_policy.mixture(), encoder, facts)

    def _described(self) -> list[str]:
        reads = "" if self.columns is None else f"reads {some(self.columns)}"
        return [repr(self.policy), reads]

    @property
    def columns(self) -> list[str] | None:
        """The columns that a table of people must have; None where only their number matters."""
        if self.encoder is not None and self.scorers is not None:
            read = [name for name in self.encoder.columns if name not in self.scorers.models]
            return list(dict.fromkeys([*read, *self.scorers.inputs]))
        if self.encoder is not None:
            return list(self.encoder.columns)
        names = getattr(self.hypotheses, "names", None)
        named = names is not None and all(isinstance(name, str) for name in names) and not self._on_models
        return list(names) if names is not None and named else None

    @property
    def _on_models(self) -> bool:
        return getattr(self.hypotheses, "models", None) is not None

    def at(self, rows: Any) -> Floats:
        """π at encoded people."""
        return self.policy.at(rows)

    def probability(self, X: Any) -> Floats:
        """π at people: a dataframe (pandas, Polars, PyArrow) with ``columns``, or an array of them in order."""
        return self.policy.probability(self._features(X))

    def reading(self) -> Reading:
        """The policy in the units of the file, as ``rules``, ``reasons`` and ``what_if`` read it."""
        encoder, reading = self.encoder, self.policy.reading(self.encoder)
        if encoder is None:
            return reading
        return replace(reading, features=self._features, shown=lambda X: encoder.shown(self._table(X)))

    def _features(self, X: Any) -> Any:
        return X if self.encoder is None else self.encoder.transform(self._table(X))

    def _table(self, X: Any) -> Any:
        table = _table(X, self.columns or [])
        return table if self.scorers is None else self.scorers.added(table)

    def classifier(self, threshold: float = 0.5) -> PolicyClassifier:
        """The same policy for tools that expect a scikit-learn classifier."""
        from likewise.scoring.classifier import PolicyClassifier

        return PolicyClassifier(self, threshold)

    # On disk ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values, with the fingerprint of the rest."""
        content = {
            "format": FORMAT,
            "encoder": None if self.encoder is None else self.encoder.to_dict(),
            "policy": self.policy.to_dict(),
            "facts": self.facts,
        }
        if self.scorers is not None:
            content["scorers"] = self.scorers.to_dict()
        return content | {"fingerprint": _fingerprint(content)}

    @classmethod
    def from_dict(
        cls,
        data: dict[str, Any],
        models: Sequence[Any] | str | Path | None = None,
        scorers: Mapping[str, Any] | Sequence[Any] | str | Path | None = None,
    ) -> FinishedPolicy:
        """Rebuild the policy. One on models' scores needs them (or a file of them) and checks them.

        So do columns that models fill: ``scorers`` are these, in order or by name.
        """
        require(isinstance(data, dict) and "policy" in data, "policy", "be a saved policy", _kind(data))
        require(data.get("format") == FORMAT, "policy", f"be a saved policy of format {FORMAT}", data.get("format"))
        content = {name: value for name, value in data.items() if name != "fingerprint"}
        if _fingerprint(content) != data.get("fingerprint"):
            raise InvalidParameter("`policy` must be as it was saved, got content that does not match its fingerprint.")
        encoder = None if data["encoder"] is None else Encoder.from_dict(data["encoder"])
        kept = data.get("scorers")
        columns = None if kept is None else ScoredColumns.from_dict(kept, _in_order(kept, scorers))
        return cls(Mixture.from_dict(data["policy"], models), encoder, data["facts"], columns)

    def save(self, path: str | Path) -> Path:
        """Write ``policy.json``, whole or not at all."""
        return write_whole(Path(path), json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def load(
        cls,
        path: str | Path,
        models: Sequence[Any] | str | Path | None = None,
        scorers: Mapping[str, Any] | Sequence[Any] | str | Path | None = None,
    ) -> FinishedPolicy:
        """Read a policy written by ``save``; models of its columns are looked for beside it."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not JSON"
            raise InvalidParameter(
                f"`policy` must be a saved policy or the folder of a run, got {str(path)!r}: {why}."
            ) from None
        beside = Path(path).with_name(SCORERS)
        return cls.from_dict(data, models, beside if scorers is None and beside.exists() else scorers)


def _in_order(columns: Mapping[str, Any], scorers: Mapping[str, Any] | Sequence[Any] | str | Path | None) -> list[Any]:
    if not isinstance(scorers, Mapping):
        return open_models(scorers)
    require(set(scorers) == set(columns), "models", f"be those of the columns {list(columns)}", sorted(scorers))
    return [scorers[name] for name in columns]


def models_beside(policy: Path) -> Path | None:
    """The file of models in the folder of a policy; older runs have a ``models.skops``. None if there is none."""
    return next((file for name in (MODELS, "models.skops") if (file := policy.with_name(name)).exists()), None)


def _fingerprint(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _kind(data: Any) -> str:
    return f"JSON with {sorted(data)[:4]}" if isinstance(data, dict) else type(data).__name__


def _table(X: Any, columns: Sequence[str]) -> Any:
    """A dataframe as it is; an array as a table, its columns taken in order."""
    if hasattr(X, "columns"):
        return X
    import pandas as pd

    values = np.asarray(X)
    fits = values.ndim == 2 and values.shape[1] == len(columns)
    require(fits, "X", f"have the {len(columns)} columns {list(columns)}", f"shape {values.shape}")
    return pd.DataFrame(values, columns=list(columns)).infer_objects()
