"""Auditors who are not a distance: noise around another auditor, a recorded script, a person at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from likewise.auditors.pairwise import checked_level
from likewise.errors import require, require_number
from likewise.facts import AuditorFacts
from likewise.protocol import SKIPPED, Answer, Auditor, Batch, Floats, Key, Report, reports_of


class NoisyAuditor:
    """Another auditor who sometimes misses a pair and sometimes reports one that is fine.

    False reports are marked as such (``Report.false``), so that a simulation can count them; the learner can't
    tell.

    Parameters
    ----------
    auditor
        The auditor behind the noise.
    misses
        The probability that a report is lost.
    false_reports
        The probability that a round in which the other auditor finds nothing gets a report of a random pair.

    Examples
    --------
    >>> from likewise.auditors import MetricAuditor
    >>> NoisyAuditor(MetricAuditor("euclidean", 0.1), misses=0.2).facts().exhaustive
    False
    """

    marks_false = True
    """Its reports may be impossible, and say so: ``play`` lets them pass."""

    def __init__(self, auditor: Auditor, misses: float = 0.0, false_reports: float = 0.0) -> None:
        require_number(misses, "misses", 0, 1)
        require_number(false_reports, "false_reports", 0, 1)
        sees = getattr(auditor, "sees", "probabilities")
        require(sees == "probabilities", "auditor", "see probabilities to have noise around", sees)
        self.auditor = auditor
        self.misses = misses
        self.false_reports = false_reports
        self.alpha = auditor.alpha
        self.margin = auditor.margin

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """The other auditor's answer, with noise."""
        answer = self.auditor.audit(batch, probabilities, key)
        if answer is SKIPPED:
            return answer
        rng = key.stream(1)  # the wrapped auditor may draw from the first one
        if answer is not None:
            reports = reports_of(answer)
            kept = tuple(report for report in reports if rng.random() >= self.misses)
            return answer if len(kept) == len(reports) else kept or None
        if len(probabilities) < 2 or rng.random() >= self.false_reports:
            return None
        pair = rng.choice(len(probabilities), size=2, replace=False)
        low, high = sorted(pair.tolist(), key=lambda i: probabilities[i])
        return Report(high, low, violates=False, false=True)

    def opinion(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """What the other auditor says of two people: who is asked about one pair doesn't overlook it."""
        return self.auditor.audit(batch, probabilities, key)

    def facts(self) -> AuditorFacts:
        """As the auditor behind it, but no longer exhaustive where it misses."""
        inner = self.auditor.facts()
        return AuditorFacts(
            "NoisyAuditor",
            truthful=False if self.false_reports > 0 else inner.truthful,
            exhaustive=False if self.misses > 0 else inner.exhaustive,
            fixed=inner.fixed,
            details={"around": asdict(inner), "misses": self.misses, "false_reports": self.false_reports},
            marks_false=inner.truthful is True or inner.marks_false,
        )


class ScriptedAuditor:
    """Replays answers: a sequence from round 1 on, or a mapping from round to answer; ``transcript.reports`` will do.

    Rounds that the script doesn't reach were not reviewed. ``marks_false`` lets reports pass that are marked as false,
    to replay a play with a ``NoisyAuditor``.

    Examples
    --------
    >>> from likewise.protocol import Role
    >>> auditor = ScriptedAuditor([None, Report(0, 1)], alpha=0.1)
    >>> [auditor.audit(None, None, Key(0, Role.AUDITOR, t)) for t in (1, 3)]
    [None, <Skip.SKIPPED: 'skipped'>]
    """

    def __init__(
        self,
        answers: Sequence[Answer] | Mapping[int, Answer],
        alpha: float,
        margin: float = 0.0,
        *,
        marks_false: bool = False,
    ) -> None:
        checked_level(alpha, margin)
        self.marks_false = marks_false
        self.alpha = alpha
        self.margin = margin
        pairs = answers.items() if isinstance(answers, Mapping) else enumerate(answers, start=1)
        # A transcript says () where somebody looked and found nothing.
        self.answers: dict[int, Answer] = {t: None if answer == () else answer for t, answer in pairs}

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """The scripted answer of this round."""
        return self.answers.get(key.t, SKIPPED)

    def facts(self) -> AuditorFacts:
        """Nobody knows how the script was written."""
        return AuditorFacts("ScriptedAuditor")


class Silent:
    """A console that shows nothing, for examples and tests."""

    def print(self, text: Any) -> None:
        """Nothing."""


class AskAuditor:
    """A person at the terminal: sees the batch as a table with probabilities, types two numbers or Enter.

    People are numbered from 1, highest probability first, as everywhere. Where the view is a dataframe whose index has
    a name, such as "row of people.csv", the index is shown too.

    Parameters
    ----------
    alpha, margin
        Gaps up to ``alpha - margin`` can't be violations, and are refused with a reason.
    ask
        How to ask; ``input`` by default. When there is nobody left to ask (end of input), rounds go unreviewed.

    Examples
    --------
    >>> from likewise.protocol import Role
    >>> answers = iter(["1 3", ""])
    >>> auditor = AskAuditor(alpha=0.1, ask=lambda prompt: next(answers), console=Silent())
    >>> batch = Batch(np.empty((3, 0)), np.zeros(3), view=np.array([[30.0], [31.0], [32.0]]))
    >>> auditor.audit(batch, np.array([0.9, 0.5, 0.2]), Key(0, Role.AUDITOR, 1))
    Report(favoured=0, disfavoured=2, violates=None, false=False, stated=None)
    """

    def __init__(
        self,
        alpha: float,
        margin: float = 0.0,
        *,
        ask: Callable[[str], str] | None = None,
        console: Any = None,
    ) -> None:
        self.level = checked_level(alpha, margin)
        self.alpha = alpha
        self.margin = margin
        self._ask = ask or input
        self._console = console

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """Show the people, highest probability first, and ask until the answer makes sense."""
        order = np.argsort(-probabilities, kind="stable")
        self._show(batch, probabilities, order, key.t)
        prompt = "Treated too differently? Two numbers (like 1 4), Enter for none, s to skip: "
        while True:
            try:
                words = self._ask(prompt).replace(",", " ").split()
            except EOFError:
                return SKIPPED
            if not words:
                return None
            if words == ["s"]:
                return SKIPPED
            answer = self._pair(words, order, probabilities)
            if isinstance(answer, Report):
                return answer
            self._print(answer)

    def facts(self) -> AuditorFacts:
        """A person: nobody can know whether every violation is reported, and by one measure."""
        return AuditorFacts("AskAuditor")

    def _pair(self, words: list[str], order: Any, probabilities: Floats) -> Report | str:
        """The report that the words name, or what is wrong with them."""
        k = len(order)
        if len(words) != 2 or not all(word.isdecimal() and 1 <= int(word) <= k for word in words):
            return f"Please type two different numbers from 1 to {k}, or just Enter."
        first, second = sorted(int(word) for word in words)
        if first == second:
            return "Please name two different people."
        favoured, disfavoured = int(order[first - 1]), int(order[second - 1])
        gap = probabilities[favoured] - probabilities[disfavoured]
        if gap <= self.level:
            return f"Their probabilities differ by {gap:.2f}; up to {self.level:g} is never too different."
        return Report(favoured, disfavoured)

    def _print(self, text: Any) -> None:
        if self._console is None:
            from rich.console import Console

            self._console = Console()
        self._console.print(text)

    def _show(self, batch: Batch, probabilities: Floats, order: Any, t: int) -> None:
        from rich.markup import escape
        from rich.table import Table

        table = Table(title=f"Round {t}")
        names, values = _columns(batch.view, len(order))
        for name in ["", "probability", *names]:
            table.add_column(escape(str(name)), justify="right")
        for number, person in enumerate(order, start=1):
            table.add_row(str(number), f"{probabilities[person]:.2f}", *(escape(_cell(v)) for v in values[person]))
        self._print(table)


def _columns(view: Any, people: int) -> tuple[list[Any], Any]:
    """The names and values of what is shown of each person."""
    if not hasattr(view, "columns"):
        values = np.asarray(view).reshape(people, -1)
        return [f"x{j}" for j in range(values.shape[1])], values.astype(object)
    shown = view if view.index.name is None else view.reset_index(allow_duplicates=True)
    return list(shown.columns), np.asarray(shown, dtype=object)


def _cell(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else str(value)
