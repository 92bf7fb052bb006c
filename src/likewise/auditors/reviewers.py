"""Several reviewers who share the rounds: blind verdicts, some of them double, and what they come to together.

``Panel`` has distances that vote on every pair. Here each looks at a round as they would alone, and names one pair at
most; ``likewise.verdicts`` says what their verdicts teach, and what has to be asked, of whom. The service settles
rounds by the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from likewise import verdicts
from likewise.errors import require, require_number
from likewise.facts import AuditorFacts, all_known
from likewise.protocol import SKIPPED, Answer, Auditor, Batch, Floats, Key, Report, reports_of
from likewise.theory import Overlap
from likewise.verdicts import Opinion, Outcome, Pair, Question, Verdict


class Judged(NamedTuple):
    """What reviewers said of one round.

    Attributes
    ----------
    wanted
        How many blind verdicts it was drawn for.
    verdicts, opinions
        What they said, in order.
    """

    wanted: int
    verdicts: tuple[Verdict, ...]
    opinions: tuple[Opinion, ...]


class Reviewers:
    """Several auditors who take turns, with blind second verdicts, mutual questions and a third where two disagree.

    Parameters
    ----------
    members
        Who reviews: simulated or real, all with the same alpha and margin. Who is asked is drawn for each round. A
        member is asked about one pair by a look at these two people alone; one that has a method ``opinion`` is asked
        by that.
    second
        q₂: the probability that a round gets a second blind verdict, whatever the first one was.
    rule
        ``"adjudicated"``: where two judged, a pair counts if a second or a third upholds it. ``"any"``: every pair that
        was named counts.

    Attributes
    ----------
    rounds
        For each round of the last play, what was said.

    Examples
    --------
    >>> import likewise as lw
    >>> sharp = lw.MetricAuditor("cityblock", alpha=0.1)
    >>> team = Reviewers([lw.NoisyAuditor(sharp, misses=0.2), lw.NoisyAuditor(sharp, misses=0.4), sharp], second=1.0)
    >>> batch = Batch(np.empty((3, 0)), np.zeros(3), view=np.array([[0.0], [0.2], [5.0]]))
    >>> for t in range(1, 401):
    ...     answer = team.audit(batch, np.array([0.9, 0.3, 0.0]), Key(0, lw.Role.AUDITOR, t))
    >>> found = lw.theory.positive_agreement(team.overlap())
    >>> 0.7 < found.low < found.high < 0.9
    True
    """

    def __init__(self, members: Sequence[Auditor], second: float = 0.1, rule: str = "adjudicated") -> None:
        usable = isinstance(members, Sequence) and all(callable(getattr(m, "audit", None)) for m in members)
        require(usable and len(members) > 0, "members", "be a list of auditors", members)
        sees = {getattr(member, "sees", "probabilities") for member in members}
        require(sees == {"probabilities"}, "members", "see probabilities", sorted(sees))
        levels = {(member.alpha, member.margin) for member in members}
        require(len(levels) == 1, "members", "have the same alpha and margin", sorted(levels))
        require_number(second, "second", 0, 1)
        require(second == 0 or len(members) > 1, "second", "be 0 for a single reviewer", second)
        require(rule in verdicts.RULES, "rule", f"be one of {', '.join(map(repr, verdicts.RULES))}", rule)
        self.members = {f"reviewer {i}": member for i, member in enumerate(members, start=1)}
        self.second, self.rule = second, rule
        self.alpha, self.margin = members[0].alpha, members[0].margin
        self.marks_false = any(getattr(member, "marks_false", False) for member in members)
        self.rounds: dict[int, Judged] = {}

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """Ask until the round is settled, or until nobody is left to ask."""
        if key.t in self.rounds:
            self.rounds.clear()  # another play has begun
        rng = key.stream(2)
        wanted = 2 if rng.random() < self.second else 1
        desk = _Desk(self, batch, probabilities, key, rng.permutation(len(self.members)).tolist(), wanted)
        outcome = desk.settle()
        self.rounds[key.t] = Judged(wanted, tuple(desk.verdicts), tuple(desk.opinions))
        if all(verdict.skipped for verdict in desk.verdicts):
            return SKIPPED
        return tuple(desk.named[pair] for pair in outcome.accepted) or None

    def overlap(self, *, upheld: bool = False, of: str | None = None) -> Overlap:
        """How blind double verdicts of the last play compare; ``upheld`` counts only reports that were accepted.

        ``of`` one reviewer, by name: only their rounds, and they are the first of the two.
        """
        twice = [(judged.verdicts, judged.opinions) for judged in self.rounds.values() if judged.wanted == 2]
        return verdicts.overlap(twice, upheld=upheld, of=of)

    def facts(self) -> AuditorFacts:
        """As the members, together; nobody knows whether they share one distance."""
        facts = [member.facts() for member in self.members.values()]
        return AuditorFacts(
            "Reviewers",
            truthful=all_known([fact.truthful for fact in facts]),
            exhaustive=all_known([fact.exhaustive for fact in facts]),
            fixed=False if any(fact.fixed is False for fact in facts) else None if len(facts) > 1 else facts[0].fixed,
            details={"members": [asdict(fact) for fact in facts], "second": self.second, "rule": self.rule},
            marks_false=all(fact.truthful is True or fact.marks_false for fact in facts),
        )


class _Desk:
    """One round on its way through the team."""

    def __init__(
        self, team: Reviewers, batch: Batch, probabilities: Floats, key: Key, order: list[int], wanted: int
    ) -> None:
        names = list(team.members)
        self.team, self.batch, self.probabilities, self.key, self.wanted = team, batch, probabilities, key, wanted
        self.order = [names[i] for i in order]
        self.verdicts: list[Verdict] = []
        self.opinions: list[Opinion] = []
        self.named: dict[Pair, Report] = {}

    def settle(self) -> Outcome:
        """Ask what has to be asked; where nobody is left to ask, close with what was said."""
        while True:
            outcome = verdicts.settle(self.verdicts, self.opinions, wanted=self.wanted, rule=self.team.rule)
            if outcome.settled:
                return outcome
            if not any(self._ask(question) for question in outcome.questions):
                return Outcome(True, verdicts.close(self.verdicts, self.opinions))

    def _ask(self, question: Question) -> bool:
        """Put a question to whom it is for, or to the first who may be asked; False if there is nobody."""
        able = [name for name in self.order if name not in question.but and question.of in (None, name)]
        if not able:
            return False
        if question.pair is None:
            self._verdict(able[0])
        else:
            self._opinion(able[0], question.pair)
        return True

    def _verdict(self, name: str) -> None:
        answer = self.team.members[name].audit(self.batch, self.probabilities, self._key(name, 0))
        if answer is SKIPPED:
            self.verdicts.append(Verdict(name, skipped=True))
            return
        report = next(iter(reports_of(answer)), None)  # who names several pairs is taken at the first
        pair = None if report is None else (int(report.favoured), int(report.disfavoured))
        if report is not None and pair is not None:
            self.named.setdefault(pair, report)
        self.verdicts.append(Verdict(name, pair))

    def _opinion(self, name: str, pair: Pair) -> None:
        member: Any = self.team.members[name]
        places = list(pair)
        view = self.batch.view.iloc[places] if hasattr(self.batch.view, "iloc") else self.batch.view[places]
        two = Batch(self.batch.rows[places], self.batch.y[places], view)
        ask = getattr(member, "opinion", member.audit)
        answer = ask(two, self.probabilities[places], self._key(name, 1 + len(self.opinions)))
        self.opinions.append(Opinion(name, pair, None if answer is SKIPPED else bool(reports_of(answer))))

    def _key(self, name: str, asked: int) -> Key:
        """A key of the member's own, so that two who draw random numbers don't draw the same."""
        place = list(self.team.members).index(name)
        seed = np.random.SeedSequence([self.key.seed, place, asked]).generate_state(1, np.uint64)
        return self.key._replace(seed=int(seed[0]))
