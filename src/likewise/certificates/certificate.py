"""The certificate of a play: what it reached and what is proved of it, with the assumptions.

``likewise.certificates.certifying`` makes it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise import theory
from likewise.certificates.accounts import Hidden
from likewise.certificates.assumptions import BLACK_BOX, UNCLEAR, Assumption, Claim, Status
from likewise.certificates.brackets import Bracket
from likewise.certificates.held_out_people import counted
from likewise.certificates.reviews import Reviews
from likewise.displays import short, text_html
from likewise.drawing import COLOURS, LINES, canvas
from likewise.protocol import Floats
from likewise.wording import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from likewise.certificates.choice import Choice
    from likewise.certificates.shown import ShownPeople


class Regret(NamedTuple):
    """The most by which the play's errors exceed those of any policy of Q_{α−ε} over the class.

    Attributes
    ----------
    epsilon
        The slack; the comparison holds for every ε of the curve at once.
    by_reports
        From the linear program of the reports alone; None where the class can't be searched exactly.
    by_lagrangian
        From the observed Lagrangian regret.
    by_prices
        From the prices that a learner gave the reports it kept, by weak duality: sharper than ``by_lagrangian`` for
        such a learner, and it needs no program. None for any other.
    """

    epsilon: float
    by_reports: float | None
    by_lagrangian: float | None
    by_prices: float | None = None

    @property
    def best(self) -> float:
        """The smallest of them."""
        limits = [value for value in (self.by_reports, self.by_lagrangian, self.by_prices) if value is not None]
        return min(limits) if limits else math.inf


class Generalisation(NamedTuple):
    """Fairness of the average policy on new people, by one theorem.

    Attributes
    ----------
    theorem
        Which one.
    sum_of_betas
        The limit of Σ_t β^t that it gives.
    q
        The integer of the interpolation lemma that makes α' − α and β smallest together.
    alpha, beta
        At that q, π^avg is (alpha, beta)-fair.
    sharp
        Whether it uses the sharper threshold of the interpolation lemma.
    anytime
        Whether it holds for a play that may stop at any time.
    rounds
        The rounds that it is about: the policy is their average.
    """

    theorem: str
    sum_of_betas: float
    q: int
    alpha: float
    beta: float
    sharp: bool
    anytime: bool
    rounds: int


class Redraw(NamedTuple):
    """What draws with replacement prove: about another draw from the same rows, and nobody else.

    Attributes
    ----------
    rows
        How many rows there are.
    fairness
        Limits for two draws from these rows, the sharpest first.
    error
        The average policy's expected cost of errors on a draw from these rows, or a limit of it; None if labels are
        missing.
    exact
        Whether ``error`` was computed on all of the rows, so that it is no limit but the number itself.
    """

    rows: int
    fairness: tuple[Generalisation, ...]
    error: float | None
    exact: bool


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What a play reached, and what is proved of it. A claim whose assumptions are broken is left out.

    ``str(certificate)`` is a letter of at most 200 words, ``appendix()`` has the rest, ``to_dict()`` is JSON, and
    ``plot()`` a picture.

    Attributes
    ----------
    alpha, audited_alpha, level, delta
        The level of the comparison, the one at which the auditor counted violations, the one at which they reported
        (``audited_alpha`` less the margin), and one minus the confidence of each claim about new people.
    error, costs, draws, people, rounds, reports, violations, late_violations, unseen
        What was observed; ``draws`` counts everybody with a known label, in every round that they came, and ``people``
        those who are distinct; errors are weighed by ``costs``, ``reports`` and ``violations`` count rounds with one,
        ``late_violations`` are those of the last quarter, and ``unseen`` counts rounds that nobody reviewed or that
        held one person.
    constant_error
        What one answer for everybody would have cost on the same people: the better of the two.
    hypotheses
        How many hypotheses the class holds: the comparison is with their mixtures.
    regret
        Limits of the error regret for ε from 0 to α.
    behind_constant
        The most by which the play, at the end of any of its rounds, had erred more than the best single answer for
        everybody would have until then; below 0 if it was ahead all the time. Counted, not estimated, and true whatever
        the auditor did; ``learner.behind_constant`` is the limit that was proved before. None if the class holds no
        constant.
    fairness
        Limits for the average policy, the sharpest first. They hold together: each is taken at a third of ``delta``.
        Of a play in passes it is the average policy of the first pass.
    error_on_new_people
        The same policy's expected cost of errors on a new person is at most this.
    rounds_once
        The rounds of the first pass over a file, which these claims are about; None if people don't come in passes.
    redraw
        Where people were drawn with replacement: what is proved of another draw from the same rows, which is all.
    brackets
        What the reports say about the hidden distance.
    assumptions
        What all of this rests on.
    choice
        What to deploy, chosen on people who were held out; None if none were.
    estimated
        Whether errors are estimated from accepted people, as no others' labels were seen: ``error``,
        ``constant_error``, ``regret`` and ``behind_constant`` are then right on average over the lots, for a policy
        that was fixed before the play.
    refused, unknown
        People whose labels are unseen because they were refused, and others without a label.
    regret_likely
        Where everybody counted as good until proved bad: a limit of the true error regret against every policy of Q_α
        at once, with confidence 1 − ``delta``. None otherwise.
    hidden
        Where the auditor saw decisions only: rounds with a pair that could have been reported, seen or not.
    reviews
        Where rounds were drawn for review by lot, or where detection was measured: how many of all rounds violate.
    """

    alpha: float
    audited_alpha: float
    level: float
    delta: float
    rounds: int
    draws: int
    people: int
    error: float
    constant_error: float
    costs: tuple[float, float]
    reports: int
    violations: int
    late_violations: int
    unseen: int
    hypotheses: int | None
    regret: tuple[Regret, ...]
    behind_constant: float | None
    fairness: tuple[Generalisation, ...]
    error_on_new_people: float | None
    rounds_once: int | None
    redraw: Redraw | None
    brackets: tuple[Bracket, ...]
    assumptions: tuple[Assumption, ...]
    choice: Choice | None = None
    estimated: bool = False
    refused: int = 0
    unknown: int = 0
    regret_likely: float | None = None
    hidden: Hidden | None = None
    reviews: Reviews | None = None

    @property
    def counts_errors(self) -> bool:
        """Whether an error costs 1, so that costs are numbers of errors."""
        return self.costs == (1.0, 1.0)

    @property
    def per(self) -> str:
        """What errors are counted per: a person, or a draw where the same people were drawn again."""
        return "person" if self.draws <= self.people else "draw"

    @property
    def counted(self) -> str:
        """Whose labels are known, in words: draws of distinct people, or of rows that may be one person."""
        unclear = any(assumption.detail == UNCLEAR for assumption in self.assumptions)
        if self.draws > self.people:
            return f"{self.draws:,} draws of {counted(self.people, unclear)}"
        return counted(self.people, unclear)

    @property
    def black_box(self) -> bool:
        """Whether an online classifier decided, and not a mixture of the hypotheses that it is compared with."""
        return any(assumption.name == BLACK_BOX for assumption in self.assumptions)

    @property
    def contradictions(self) -> tuple[Bracket, ...]:
        """Reported pairs that a clear round contradicts."""
        return tuple(bracket for bracket in self.brackets if bracket.contradicts)

    def rests_on(self, claim: Claim, status: Status) -> list[Assumption]:
        """The assumptions of one claim that have this status."""
        return [a for a in self.assumptions if claim in a.needed_for and a.status == status]

    def curve(self, generalisation: Generalisation) -> tuple[Floats, Floats]:
        """(α', β) of the average policy for q = 1 … T."""
        return theory.interpolation_curve(
            generalisation.sum_of_betas, self.level, generalisation.rounds, sharp=generalisation.sharp
        )

    def with_choice(self, choice: Choice) -> Certificate:
        """The same certificate, whose letter says what to deploy and what held-out people prove of it."""
        return replace(self, choice=choice)

    def __repr__(self) -> str:
        chosen = "" if self.choice is None else f"recommends {self.choice.recommended}"
        violations = f"{self.violations:,} of them with a violation"
        return short("Certificate", plural(self.rounds, "round"), violations, chosen, "print it to read the letter")

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def __str__(self) -> str:
        from likewise.certificates.letter import letter

        return letter(self)

    def appendix(self, people: ShownPeople | None = None) -> str:
        """Every limit and assumption behind the letter; with ``people``, also who was reported, side by side."""
        from likewise.certificates.appendix import appendix

        return appendix(self, people)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values; numbers that are not finite become None."""
        data: dict[str, Any] = dict(vars(self))
        data |= {
            "regret": [r._asdict() for r in self.regret],
            "fairness": [f._asdict() for f in self.fairness],
            "redraw": None
            if self.redraw is None
            else self.redraw._asdict() | {"fairness": [f._asdict() for f in self.redraw.fairness]},
            "brackets": [b._asdict() | {"contradicts": b.contradicts} for b in self.brackets],
            "assumptions": [a._asdict() for a in self.assumptions],
            "choice": None if self.choice is None else self.choice.to_dict(),
            "hidden": None if self.hidden is None else self.hidden._asdict(),
            "reviews": None if self.reviews is None else self.reviews.to_dict(),
        }
        return dict(json.loads(json.dumps(data), parse_constant=lambda _: None))

    def plot(self) -> Figure:
        """Left, the limit of the error regret against ever stricter policies; right, fairness on new people."""
        with canvas(8, 4.9) as figure:
            left, right = figure.subplots(1, 2)
            epsilon = [r.epsilon for r in self.regret]
            lines = {"by the reports": "by_reports", "by the Lagrangian regret": "by_lagrangian"}
            lines |= {"by the prices of kept reports": "by_prices"}
            for (label, name), colour, line in zip(lines.items(), COLOURS, LINES, strict=False):
                values = [getattr(r, name) for r in self.regret]
                if None not in values:
                    left.plot(epsilon, values, color=colour, linestyle=line, label=label)
            left.axhline(0, color="#555555", linewidth=1)
            left.set(xlabel="ε: against policies fair at α − ε", title="Errors above the best, at most")
            redrawn = () if self.redraw is None else self.redraw.fairness
            for f, colour, line in zip(self.fairness or redrawn, COLOURS, LINES, strict=False):
                right.plot(*self.curve(f), color=colour, linestyle=line, label=f.theorem)
                right.plot(f.alpha, f.beta, "o", color=colour)
            who = "" if self.fairness or self.redraw is None else f", of these {self.redraw.rows:,} rows"
            title = f"Pairs beyond it, at most{who}"
            right.set(xlabel="α': allowed beyond the distance", title=title, ylim=(0, 1.02))
            for axes in (left, right):
                if axes.get_legend_handles_labels()[0]:
                    axes.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.2), fontsize=11)  # below, over no line
                else:
                    axes.text(0.5, 0.5, "nothing can be claimed", ha="center", transform=axes.transAxes)
                    axes.set(xticks=[], yticks=[])
        return figure
