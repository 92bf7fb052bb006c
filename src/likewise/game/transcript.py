"""The transcript: everything that was seen in a play, as arrays, with the average policy and the last state.

It is enough to replay, check and certify the play, and to continue it where it stopped. Files hold npz and
JSON, no pickle; models are named by fingerprint and given again on loading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise import hypotheses as classes
from likewise import theory
from likewise.displays import facts_html, short
from likewise.errors import NotSupported
from likewise.facts import PlayFacts
from likewise.policies import AveragePolicy
from likewise.protocol import Batch, Estimate, Floats, Report, ReviewLot, Round, Rows, numbered
from likewise.reduction import label_weights
from likewise.wording import plural

if TYPE_CHECKING:
    import pandas as pd


LOTS = ("decisions", "unseen", "estimates", "turned_down", "violating")
"""What a transcript holds only where decisions were drawn."""
REVIEWS = {"review_probabilities": 1.0, "drawn": True, "largest_gaps": np.nan}
"""What a transcript holds only where rounds were drawn for review; and what stands for a round that was to be reviewed
anyway."""


@dataclass(frozen=True, eq=False, repr=False)
class Transcript:
    """What was seen in T rounds.

    Per-round arrays have T entries. The people of all rounds are kept one after another in ``rows``, ``y``, ``view``
    and ``shown``, round i from ``starts[i]`` to ``starts[i + 1]``. So are the reports of all rounds, in
    ``report_rounds``, ``pairs``, ``violates`` and ``false``: a round has none, one, or several.
    """

    rows: Rows
    y: Floats
    view: Any
    shown: Floats
    """The probability shown for each person."""
    starts: NDArray[np.intp]
    report_rounds: NDArray[np.intp]
    """The round of each report, counted from 0 in this transcript, in rising order."""
    pairs: NDArray[np.intp]
    """(reports, 2): favoured and disfavoured positions in the batch."""
    violates: NDArray[np.int8]
    """1 or 0 for a reported pair that is or isn't an α-violation, −1 where nobody can know."""
    false: NDArray[np.bool_]
    reviewed: NDArray[np.bool_]
    penalties: Floats
    """C_t: what the reports of each round weighed together, or would have weighed."""
    average_policy: AveragePolicy
    hypotheses: Any
    state: Any
    facts: PlayFacts
    """What is known of the three roles, the levels, the seed and the first round."""
    person: NDArray[np.intp] | None = None
    """A number for everybody in ``rows``: the same number is the same person; None if nobody kept count."""
    first_pass: AveragePolicy | None = None
    """The average over the rounds of a first pass over the people, where the play went on after it."""
    late: AveragePolicy | None = None
    """The average over the rounds after the half, where the play began before it."""
    weight: Floats | None = None
    """How much everybody's errors count; None if everybody counts once."""
    decisions: NDArray[np.bool_] | None = None
    """Yes or no for everybody, drawn from ``shown``; None if nobody drew."""
    unseen: NDArray[np.bool_] | None = None
    """Whose label the learner did not see because they were refused; ``y`` keeps it where a simulation knows it."""
    estimates: Floats | None = None
    """(T, 3): floor, doubt and slack by which the learner estimated unseen labels; None if it didn't."""
    turned_down: NDArray[np.intp] | None = None
    """Reports by decisions that were named and not accepted, in each round."""
    stated: Floats | None = None
    """How far apart the two people of each report may be, by the auditor's own word: NaN where they didn't say, None
    if they never did."""
    violating: Floats | None = None
    """The largest gap, in each round, of a pair that the auditor would have reported had it been decided differently:
    0 if there is none. Known only in simulations of an auditor who sees decisions."""
    compared: NDArray[np.bool_] | None = None
    """Whose probabilities the auditor compared; None if everybody's."""
    review_probabilities: Floats | None = None
    """With which probability each round was drawn for review, 0 if it was cleared; None if all were to be reviewed."""
    drawn: NDArray[np.bool_] | None = None
    """Which rounds were drawn for review. One that was drawn and not reviewed had no answer."""
    largest_gaps: Floats | None = None
    """The largest gap of a pair that could be reported in each round: not above the level, it clears the round."""

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return len(self.penalties)

    @property
    def first(self) -> int:
        """The number of the first round: 1, or more for the later part of a play."""
        return self.facts.first

    @property
    def seed(self) -> int:
        """Determines every random number of the play."""
        return self.facts.seed

    @property
    def alpha(self) -> float:
        """The level at which violations count."""
        return self.facts.alpha

    @property
    def margin(self) -> float:
        """How far below ``alpha`` pairs are already reported."""
        return self.facts.margin

    @property
    def level(self) -> float:
        """The level of reporting, α − margin: a true report has a gap above it."""
        return self.alpha - self.margin

    @property
    def costs(self) -> tuple[float, float]:
        """What a false positive and a false negative cost."""
        return self.facts.learner.costs

    @property
    def sizes(self) -> NDArray[np.intp]:
        """People in each round."""
        return np.diff(self.starts)

    @property
    def probabilities(self) -> Floats:
        """(T, largest batch): the probabilities shown, NaN where a batch was smaller."""
        sizes = self.sizes
        table = np.full((self.rounds, sizes.max(initial=0)), np.nan)
        table[np.arange(table.shape[1]) < sizes[:, None]] = self.shown
        return table

    @cached_property
    def errors(self) -> Floats:
        """Err(π^t, z^t): the expected cost of errors in each round, by all labels that are known."""
        return self.round_sums(self._bases + label_weights(self.y, self.costs, self.weight) * self.shown)

    # Reports ----------------------------------------------------------------------------------------------------

    @cached_property
    def report_starts(self) -> NDArray[np.intp]:
        """(T + 1,): the reports of round i are those from ``report_starts[i]`` to ``report_starts[i + 1]``."""
        return np.searchsorted(self.report_rounds, np.arange(self.rounds + 1))

    @property
    def report_counts(self) -> NDArray[np.intp]:
        """Reports in each round."""
        return np.diff(self.report_starts)

    @property
    def reported(self) -> NDArray[np.bool_]:
        """Rounds with a report."""
        return self.report_counts > 0

    @property
    def violations(self) -> NDArray[np.bool_]:
        """Rounds with a reported α-violation; a report that nobody can check is taken at its word."""
        violating = np.zeros(self.rounds, dtype=bool)
        violating[self.report_rounds[self.violates != 0]] = True
        return violating

    @property
    def reports(self) -> list[tuple[Report, ...]]:
        """The pairs that the auditor pointed at, for each round."""
        return [self.reports_in(i) for i in range(self.rounds)]

    def reports_in(self, i: int) -> tuple[Report, ...]:
        """The reports of round i, counted from 0."""
        i = range(self.rounds)[i]
        return tuple(self._report(j) for j in range(int(self.report_starts[i]), int(self.report_starts[i + 1])))

    def _report(self, j: int) -> Report:
        favoured, disfavoured = (int(person) for person in self.pairs[j])
        violates = None if self.violates[j] < 0 else bool(self.violates[j])
        stated = None if self.stated is None or np.isnan(self.stated[j]) else float(self.stated[j])
        return Report(favoured, disfavoured, violates, bool(self.false[j]), stated)

    def numbers_of(self, j: int) -> tuple[int, int]:
        """The numbers of the two people of report j in their round, favoured first, as people read them."""
        i = int(self.report_rounds[j])
        numbers = numbered(self.shown[self.starts[i] : self.starts[i + 1]])
        return int(numbers[self.pairs[j, 0]]), int(numbers[self.pairs[j, 1]])

    @property
    def pair_people(self) -> NDArray[np.intp]:
        """(reports, 2): where to find the two people of each report in ``rows``, ``y``, ``view`` and ``shown``."""
        return np.asarray(self.starts[self.report_rounds][:, None] + self.pairs)

    @cached_property
    def pair_gaps(self) -> Floats:
        """π(favoured) − π(disfavoured) of each reported pair."""
        favoured, disfavoured = self.pair_people.T
        return np.asarray(self.shown[favoured] - self.shown[disfavoured])

    @property
    def pair_penalties(self) -> Floats:
        """What each report weighed: the pairs of a round share its penalty evenly."""
        return np.asarray((self.penalties / np.maximum(1, self.report_counts))[self.report_rounds])

    @cached_property
    def gaps(self) -> Floats:
        """The mean gap of the pairs reported in each round, 0 without a report."""
        sums = np.bincount(self.report_rounds, weights=self.pair_gaps, minlength=self.rounds)
        return np.asarray(sums / np.maximum(1, self.report_counts))

    # Reviews by lot -----------------------------------------------------------------------------------------------

    @property
    def cleared(self) -> NDArray[np.bool_]:
        """Rounds that nobody had to look at, where reviews are drawn by lot: no gap in them is above the level."""
        gaps = np.full(self.rounds, np.nan) if self.largest_gaps is None else self.largest_gaps
        return np.asarray(gaps <= self.level)

    @property
    def outcomes(self) -> list[str]:
        """What became of each round: "cleared", "undrawn", "clean", "reported" or "unanswered"."""
        drawn = np.ones(self.rounds, dtype=bool) if self.drawn is None else self.drawn
        names = np.where(self.reported, "reported", np.where(self.reviewed, "clean", "unanswered"))
        return list(np.where(self.cleared, "cleared", np.where(drawn, names, "undrawn")).tolist())

    @property
    def review_count(self) -> theory.ReviewCount:
        """The rounds as Theorem L counts them: ``theory.review_limit`` says how many of all of them violate."""
        q = np.ones(self.rounds) if self.review_probabilities is None else self.review_probabilities
        floor = self.facts.auditor.review_floor
        return theory.count_rounds(1.0 if floor is None else floor, zip(q.tolist(), self.outcomes, strict=True))

    # Losses -----------------------------------------------------------------------------------------------------

    @property
    def lagrangian(self) -> Floats:
        """L_{C_t}(π^t, z^t) = error + C_t · mean gap."""
        return self.errors + self.penalties * self.gaps

    @property
    def penalty_paid(self) -> float:
        """S: the sum of C_t over the rounds with a report."""
        return float(self.penalties[self.reported].sum())

    @property
    def signed_weights(self) -> Floats:
        """s of every person of every round: L_{C_t}(f) = constant + Σ s f."""
        s = label_weights(self.y, self.costs, self.weight)
        favoured, disfavoured = self.pair_people.T
        np.add.at(s, favoured, self.pair_penalties)
        np.subtract.at(s, disfavoured, self.pair_penalties)
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

    @cached_property
    def constant_errors(self) -> Floats | None:
        """The total error of the best constant hypothesis, after each round; None if the class holds no constant."""
        each = 1.0 if self.weight is None else self.weight
        zeros, ones = (np.cumsum(self.round_sums((self.y == label) * each)) for label in (0, 1))
        constants = self.hypotheses.constants
        return theory.constant_error(zeros, ones, self.costs, constants) if constants else None

    @property
    def unconstrained_error(self) -> float:
        """min_f Σ_t Err(f): the total error of the single best hypothesis, fair or not."""
        F = self._enumerable("The best hypothesis")
        losses = F.losses(self.rows, label_weights(self.y, self.costs, self.weight))
        return self.base_error + F.geometry.minimum(losses)

    @property
    def error_per_person(self) -> float:
        """The expected cost of errors per labelled person."""
        known = np.isfinite(self.y)
        count = known.sum() if self.weight is None else self.weight[known].sum()
        return float(self.errors.sum() / count) if count else 0.0

    # Rounds -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.rounds

    def __repr__(self) -> str:
        facts = dict(self._facts_shown())
        return short("Transcript", facts["play"], f"error {facts['error']}", f"violations {facts['violations']}")

    def _repr_html_(self) -> str:
        return facts_html("Transcript of a play", self._facts_shown())

    def _facts_shown(self) -> list[tuple[str, str]]:
        """What happened, in a few lines."""
        size = int(self.sizes.max(initial=0))
        started = "" if self.first == 1 else f" from round {self.first:,} on"
        violations, late = self.violations, self.violations[3 * self.rounds // 4 :]
        unreviewed = int((~self.reviewed).sum())
        skipped = f", {plural(unreviewed, 'round')} not reviewed" if unreviewed else ""
        known = " by all labels, also those that the learner did not see" if self.unseen is not None else ""
        return [
            ("play", f"{plural(self.rounds, 'round')} of up to {plural(size, 'person', 'people')}{started}"),
            ("error", f"{self.error_per_person:.3f} per person{known}"),
            (
                "violations",
                f"in {plural(int(violations.sum()), 'round')}, {int(late.sum()):,} of them in the last "
                f"quarter{skipped}",
            ),
            ("learner", self.facts.learner.name),
            ("auditor", f"{self.facts.auditor.name}, α = {self.alpha:g}"),
            ("environment", self.facts.environment.name),
            ("class", repr(self.hypotheses)),
            ("seed", str(self.seed)),
        ]

    def __iter__(self) -> Iterator[Round]:
        return (self.round(i) for i in range(self.rounds))

    def round(self, i: int, *, view: bool = True) -> Round:
        """Round i of this transcript, counted from 0, as the learner saw it; with the auditor's view or without."""
        people = slice(int(self.starts[i]), int(self.starts[i + 1]))
        decisions, unseen = of(self.decisions, people), of(self.unseen, people)
        y = self.y[people] if unseen is None else np.where(unseen, np.nan, self.y[people])
        seen = self.view_of(i) if view else None
        batch = Batch(self.rows[people], y, seen, of(self.person, people), of(self.weight, people))
        estimate = None if self.estimates is None else Estimate(*self.estimates[i].tolist())
        reviewed = bool(self.reviewed[i])
        compared, lot = of(self.compared, people), self._lot(i)
        return Round(
            batch, self.shown[people], self.reports_in(i), reviewed, decisions, unseen, estimate, compared, lot
        )

    def _lot(self, i: int) -> ReviewLot | None:
        if self.review_probabilities is None or self.drawn is None or self.largest_gaps is None:
            return None
        gap = float(self.largest_gaps[i])
        if np.isnan(gap):
            return None
        return ReviewLot(float(self.review_probabilities[i]), bool(self.drawn[i]), gap, bool(gap <= self.level))

    def view_of(self, i: int) -> Any:
        """What the auditor saw of the people of round i."""
        people = slice(int(self.starts[i]), int(self.starts[i + 1]))
        return self.view.iloc[people] if hasattr(self.view, "iloc") else self.view[people]

    def __add__(self, later: Transcript) -> Transcript:
        """This play and its continuation as one transcript."""
        from likewise.game.joined import joined

        return joined(self, later)

    @property
    def rounds_once(self) -> int | None:
        """How many of these rounds belong to the first pass over the people; None if people don't come in passes."""
        environment = self.facts.environment
        if environment.drawn != "passes" or environment.population is None or self.person is None:
            return None
        # Every pass leaves out less than a batch, so the first one ends where the first person comes again.
        firsts = np.unique(self.person, return_index=True)[1]
        again = np.setdiff1d(np.arange(len(self.person)), firsts, assume_unique=True)
        whole = int(np.searchsorted(self.starts, again[0], side="right")) - 1 if len(again) else self.rounds
        distinct = environment.population if environment.people is None else environment.people
        return max(0, min(whole, distinct // int(self.sizes.max()) - (self.first - 1)))

    @property
    def first_pass_policy(self) -> AveragePolicy | None:
        """The average policy of the first pass: all that a play in passes says of new people; None if there is none."""
        if not self.rounds_once:
            return None
        return self.average_policy if self.rounds_once == self.rounds else self.first_pass

    @property
    def last_half_policy(self) -> AveragePolicy | None:
        """The average policy of the last half: of the learner's horizon, or without one of the rounds so far.

        None if there is no such round yet, or if its average was not kept.
        """
        policy = self.average_after((self.facts.learner.T or self.first - 1 + self.rounds) // 2)
        return policy if policy is not None and policy.rounds else None

    def average_after(self, half: int) -> AveragePolicy | None:
        """The average over the rounds after round ``half``, an empty one if there are none; None if unknown."""
        last = self.first - 1 + self.rounds
        if half < self.first:
            return self.average_policy
        if half >= last:
            return AveragePolicy()
        return self.late if self.late is not None and self.late.rounds == last - half else None

    def to_frame(self) -> pd.DataFrame:
        """One row per round, as a pandas dataframe.

        Where decisions were drawn also how many people were accepted, how many reports were turned down, and the
        largest gap that violates, where a simulation knows it. Where reviews were drawn, how.
        """
        from likewise.game.dataframes import by_round

        return by_round(self)

    def reports_frame(self) -> pd.DataFrame:
        """One row per reported pair, as a pandas dataframe; ``violates`` is missing where nobody can know."""
        from likewise.game.dataframes import by_report

        return by_report(self)

    def save(self, path: str | Path) -> None:
        """Write everything to one npz file, JSON inside, no pickle."""
        from likewise.game import saved

        saved.write(self, path)

    @classmethod
    def load(cls, path: str | Path, *, models: Any = None, hypotheses: Any = None) -> Transcript:
        """Read a transcript. A class built on models takes them again (``models=``); or give the class itself."""
        from likewise.game import saved

        return saved.read(path, models=models, hypotheses=hypotheses)

    @property
    def _bases(self) -> Floats:
        """What always saying 0 costs on each person."""
        bases = np.asarray(self.costs[1] * np.nan_to_num(self.y, nan=0.0))
        return bases if self.weight is None else bases * self.weight

    def round_sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers of people, added up round by round."""
        return np.add.reduceat(values, self.starts[:-1]) if self.rounds else np.empty(0)

    def _enumerable(self, wanted: str) -> classes.EnumerableClass:
        if not isinstance(self.hypotheses, classes.EnumerableClass):
            raise NotSupported(
                f"{wanted} needs a class that can be searched exactly, got {type(self.hypotheses).__name__}."
            )
        return self.hypotheses


def of(part: Any, places: Any) -> Any:
    """Some entries of an array; None where there is no array."""
    return None if part is None else part[places]
