"""The transcript: everything that was seen in a play, as arrays, with the average policy and the last state.

It is enough to replay, to judge and to certify the play, and to go on from where it stopped. Files hold npz and
JSON, no pickle; models are named by fingerprint and given again on loading.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise import hypotheses as classes
from likewise.errors import NotSupported, require
from likewise.policies import AveragePolicy
from likewise.protocol import (
    Auditor,
    Batch,
    Environment,
    Floats,
    Learner,
    Policy,
    Report,
    Round,
    Rows,
)
from likewise.reduction import label_weights

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Transcript:
    """What was seen in T rounds.

    Per-round arrays have T entries; people of all rounds stand one after another in ``rows``, ``y``, ``view`` and
    ``chances``, round i from ``starts[i]`` to ``starts[i + 1]``.
    """

    rows: Rows
    y: Floats
    view: Any
    chances: Floats
    """The probability shown for each person."""
    starts: NDArray[np.intp]
    pairs: NDArray[np.intp]
    """(T, 2): favoured and disfavoured positions in the batch, −1 without a report."""
    violates: NDArray[np.int8]
    """1 or 0 for a reported pair that is or isn't an α-violation, −1 where nobody can know."""
    false: NDArray[np.bool_]
    reviewed: NDArray[np.bool_]
    penalties: Floats
    """C_t: what a report weighed, or would have weighed, in each round."""
    average_policy: AveragePolicy
    hypotheses: Any
    state: Any
    facts: dict[str, Any] = field(default_factory=dict)
    """Learner's parameters, alpha, margin, costs, seed, first round, what is known of the other two roles."""

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return len(self.penalties)

    @property
    def alpha(self) -> float:
        """The level at which violations count."""
        return float(self.facts["alpha"])

    @property
    def costs(self) -> tuple[float, float]:
        """What a false positive and a false negative cost."""
        false_positive, false_negative = self.facts["costs"]
        return float(false_positive), float(false_negative)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """People in each round."""
        return np.diff(self.starts)

    @property
    def probabilities(self) -> Floats:
        """(T, largest batch): the probabilities shown, NaN where a batch was smaller."""
        sizes = self.sizes
        table = np.full((self.rounds, sizes.max(initial=0)), np.nan)
        table[np.arange(table.shape[1]) < sizes[:, None]] = self.chances
        return table

    @cached_property
    def errors(self) -> Floats:
        """Err(π^t, z^t): the expected cost of errors in each round."""
        return self._round_sums(self._bases + label_weights(self.y, self.costs) * self.chances)

    @property
    def reported(self) -> NDArray[np.bool_]:
        """Rounds with a report."""
        return np.asarray(self.pairs[:, 0] >= 0)

    @property
    def violations(self) -> NDArray[np.bool_]:
        """Rounds with a reported α-violation; a report that nobody can check is taken at its word."""
        return np.asarray(self.reported & (self.violates != 0))

    @property
    def reports(self) -> list[Report | None]:
        """The auditor's answers."""
        return [self.report(i) for i in range(self.rounds)]

    @cached_property
    def gaps(self) -> Floats:
        """π(favoured) − π(disfavoured) of each reported pair, 0 without a report."""
        first, second = (self.starts[:-1, None] + np.maximum(self.pairs, 0)).T
        return np.where(self.reported, self.chances[first] - self.chances[second], 0.0)

    @property
    def lagrangian(self) -> Floats:
        """L_{C_t}(π^t, z^t) = error + C_t · gap."""
        return self.errors + self.penalties * self.gaps

    @property
    def penalty_paid(self) -> float:
        """S: the sum of C_t over the reports."""
        return float(self.penalties[self.reported].sum())

    @property
    def signed_weights(self) -> Floats:
        """s of every person of every round: L_{C_t}(f) = constant + Σ s f."""
        s = label_weights(self.y, self.costs)
        first, second = (self.starts[:-1, None] + self.pairs)[self.reported].T
        np.add.at(s, first, self.penalties[self.reported])
        np.subtract.at(s, second, self.penalties[self.reported])
        return s

    @cached_property
    def lagrangian_regret(self) -> float:
        """Σ_t L(π^t) − min_f Σ_t L(f), exactly, as observed."""
        F = self._enumerable("An exact Lagrangian regret")
        best = F.geometry.minimum(F.losses(self.rows, self.signed_weights))
        return float(self.lagrangian.sum()) - self.base_error - best

    @property
    def base_error(self) -> float:
        """The total error of always saying 0."""
        return float(self._bases.sum())

    @property
    def unconstrained_error(self) -> float:
        """min_f Σ_t Err(f): the total error of the single best hypothesis, fair or not."""
        F = self._enumerable("The best hypothesis")
        losses = F.losses(self.rows, label_weights(self.y, self.costs))
        return self.base_error + F.geometry.minimum(losses)

    @property
    def error_per_person(self) -> float:
        """The expected cost of errors per labelled person."""
        return float(self.errors.sum() / max(1, np.isfinite(self.y).sum()))

    def __len__(self) -> int:
        return self.rounds

    def __iter__(self) -> Iterator[Round]:
        return (self.round(i) for i in range(self.rounds))

    def round(self, i: int) -> Round:
        """Round i of this transcript, counted from 0, as the learner saw it."""
        people = slice(int(self.starts[i]), int(self.starts[i + 1]))
        batch = Batch(self.rows[people], self.y[people], self.view_of(i))
        return Round(batch, self.chances[people], self.report(i), bool(self.reviewed[i]))

    def view_of(self, i: int) -> Any:
        """What the auditor saw of the people of round i."""
        people = slice(int(self.starts[i]), int(self.starts[i + 1]))
        return self.view.iloc[people] if hasattr(self.view, "iloc") else self.view[people]

    def report(self, i: int) -> Report | None:
        """The report of round i, or None."""
        favoured, disfavoured = (int(p) for p in self.pairs[i])
        if favoured < 0:
            return None
        known = None if self.violates[i] < 0 else bool(self.violates[i])
        return Report(favoured, disfavoured, known, bool(self.false[i]))

    def __add__(self, later: Transcript) -> Transcript:
        """This play and its continuation, as one."""
        expected = self.facts["first"] + self.rounds
        require(later.facts["first"] == expected, "later", f"start at round {expected}", later.facts["first"])
        same = {key: self.facts[key] == later.facts[key] for key in ("learner", "alpha", "margin", "seed")}
        require(all(same.values()), "later", "continue the same play", [k for k, v in same.items() if not v])
        return Transcript(
            rows=np.concatenate([self.rows, later.rows]),
            y=np.concatenate([self.y, later.y]),
            view=_stacked([self.view, later.view]),
            chances=np.concatenate([self.chances, later.chances]),
            starts=np.concatenate([self.starts, self.starts[-1] + later.starts[1:]]),
            pairs=np.concatenate([self.pairs, later.pairs]),
            violates=np.concatenate([self.violates, later.violates]),
            false=np.concatenate([self.false, later.false]),
            reviewed=np.concatenate([self.reviewed, later.reviewed]),
            penalties=np.concatenate([self.penalties, later.penalties]),
            average_policy=self.average_policy.joined(later.average_policy),
            hypotheses=self.hypotheses,
            state=later.state,
            facts=self.facts
            | {role: _merged(self.facts[role], later.facts[role]) for role in ("environment", "auditor")},
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per round, as a pandas dataframe."""
        import pandas as pd

        return pd.DataFrame(
            {
                "round": self.facts["first"] + np.arange(self.rounds),
                "people": self.sizes,
                "error": self.errors,
                "reviewed": self.reviewed,
                "favoured": self.pairs[:, 0],
                "disfavoured": self.pairs[:, 1],
                "gap": np.where(self.reported, self.gaps, np.nan),
                "violation": self.violations,
                "penalty": self.penalties,
                "lagrangian": self.lagrangian,
            }
        )

    def save(self, path: str | Path) -> None:
        """Write everything to one npz file, JSON inside, no pickle."""
        average = self.average_policy.total
        meta = {
            "format": FORMAT,
            "facts": self.facts,
            "hypotheses": self.hypotheses.to_dict(),
            "state": list(self._state_fields()),
            "columns": list(self.view.columns) if hasattr(self.view, "columns") else None,
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"state/{name}": np.asarray(value) for name, value in self._state_fields().items()}
        arrays |= _view_arrays(self.view)
        if average is not None:
            arrays["average"] = average
        with open(path, "wb") as file:
            np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)

    @classmethod
    def load(cls, path: str | Path, *, models: Any = None, hypotheses: Any = None) -> Transcript:
        """Read a transcript. A class built on models takes them again (``models=``); or give the class itself."""
        with np.load(path, allow_pickle=False) as file:
            meta = json.loads(str(file["meta"]))
            require(meta["format"] == FORMAT, "path", f"hold a transcript of format {FORMAT}", meta["format"])
            F = classes.from_dict(meta["hypotheses"], models) if hypotheses is None else hypotheses
            total = file.get("average")
            average = AveragePolicy.of(F, total, len(file["penalties"]))
            return cls(
                **{name: file[name] for name in _ARRAYS},
                view=_view_from(file, meta["columns"]),
                average_policy=average,
                hypotheses=F,
                state=_state_from(file, meta["state"]),
                facts=meta["facts"],
            )

    def _state_fields(self) -> dict[str, Any]:
        return dict(self.state._asdict())

    @property
    def _bases(self) -> Floats:
        """What always saying 0 costs on each person."""
        return np.asarray(self.costs[1] * np.nan_to_num(self.y, nan=0.0))

    def _round_sums(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self.starts[:-1]) if self.rounds else np.empty(0)

    def _enumerable(self, what: str) -> classes.EnumerableClass:
        if not isinstance(self.hypotheses, classes.EnumerableClass):
            raise NotSupported(
                f"{what} needs a class that can be searched exactly, got {type(self.hypotheses).__name__}."
            )
        return self.hypotheses


def facts_of(learner: Learner, environment: Environment, auditor: Auditor, seed: int, first: int) -> dict[str, Any]:
    """What is known of a play besides its rounds."""
    return {
        "learner": learner.parameters(),
        "alpha": float(auditor.alpha),
        "margin": float(auditor.margin),
        "costs": [float(cost) for cost in learner.costs],
        "environment": environment.facts() | {"sees_policy": environment.sees_policy},
        "auditor": auditor.facts(),
        "seed": seed,
        "first": first,
    }


class Recorder:
    """Collects the rounds of a play, and makes the transcript at its end."""

    def __init__(self, learner: Learner, environment: Environment, auditor: Auditor, seed: int, first: int) -> None:
        self._hypotheses = learner.hypotheses
        # Lists of arrays, not of rounds: the garbage collector would walk through those again and again.
        self._people: tuple[list[Rows], list[Floats], list[Any], list[Floats]] = ([], [], [], [])
        self._reports: dict[int, Report] = {}
        self._reviewed: list[bool] = []
        self._penalties: list[float] = []
        self._average = AveragePolicy()
        self._facts = facts_of(learner, environment, auditor, seed, first)

    @property
    def rounds(self) -> int:
        """How many rounds were recorded."""
        return len(self._penalties)

    def add(self, seen: Round, policy: Policy, penalty: float) -> None:
        """One more round."""
        (people, probabilities, report, reviewed), (rows, y, views, chances) = seen, self._people
        rows.append(people.rows)
        y.append(people.y)
        views.append(people.view)
        chances.append(probabilities)
        if report is not None:
            self._reports[self.rounds] = report
        self._reviewed.append(reviewed)
        self._penalties.append(penalty)
        self._average.include(policy)

    def transcript(self, state: Any) -> Transcript:
        """Everything recorded, stacked into arrays."""
        rows, y, views, chances = self._people
        require(self.rounds > 0, "T", "give at least one round, from an environment with people in it", 0)
        pairs, violates = np.full((self.rounds, 2), -1, dtype=np.intp), np.full(self.rounds, -1, dtype=np.int8)
        false = np.zeros(self.rounds, dtype=bool)
        for i, report in self._reports.items():
            pairs[i], false[i] = report[:2], report.false
            violates[i] = -1 if report.violates is None else report.violates
        return Transcript(
            rows=np.concatenate(rows),
            y=np.concatenate(y),
            view=_stacked(views),
            chances=np.concatenate(chances),
            starts=np.cumsum([0] + [len(labels) for labels in y]),
            pairs=pairs,
            violates=violates,
            false=false,
            reviewed=np.array(self._reviewed, dtype=bool),
            penalties=np.array(self._penalties, dtype=float),
            average_policy=self._average,
            hypotheses=self._hypotheses,
            state=state,
            facts=self._facts,
        )


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """What is known of a role that was played by two: only what is known of both."""
    if first == second:
        return first
    merged: dict[str, Any] = {"name": f"{first.get('name')}, then {second.get('name')}"}
    for name in ("iid", "sees_policy", "truthful", "exhaustive"):
        values = [first.get(name), second.get(name)]
        merged[name] = False if False in values and name != "sees_policy" else None if None in values else any(values)
    # Two populations are not one, and two people need not agree on who is alike.
    return merged | {"iid": False if "population" in first else merged["iid"], "fixed": None}


_ARRAYS = ("rows", "y", "chances", "starts", "pairs", "violates", "false", "reviewed", "penalties")


def _stacked(views: list[Any]) -> Any:
    if hasattr(views[0], "iloc"):
        import pandas as pd

        return pd.concat(views, ignore_index=True)
    return np.concatenate(views)


def _view_arrays(view: Any) -> dict[str, NDArray[Any]]:
    """The view as arrays that need no pickle: numbers as they are, anything else as text."""
    columns = {f"view/{name}": np.asarray(view[name]) for name in view.columns} if hasattr(view, "columns") else None
    arrays = {"view": np.asarray(view)} if columns is None else columns
    return {name: a.astype(str) if a.dtype.hasobject else a for name, a in arrays.items()}


def _view_from(file: Any, columns: list[Any] | None) -> Any:
    if columns is None:
        return file["view"]
    import pandas as pd

    return pd.DataFrame({name: file[f"view/{name}"] for name in columns})


def _state_from(file: Any, names: list[str]) -> Any:
    """The saved state under its field names; ``play`` turns it into the learner's own type again."""
    kind: Any = namedtuple("State", names)  # type: ignore[misc]  # the fields are known only to the file
    return kind(*(_plain(file[f"state/{name}"]) for name in names))


def _plain(value: NDArray[Any]) -> Any:
    return value.item() if value.ndim == 0 else value
