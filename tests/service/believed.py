"""What a round should be, by the words of the design alone: a model simple enough to be believed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from likewise.verdicts import Outcome, Question, Verdict, close, settle


@dataclass
class Believed:
    """What a round should be, by the words of the design alone."""

    ids: list[str | None]
    opened: float
    returning: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    estimated: bool = False
    labels: dict[int, int] = field(default_factory=dict)
    late: dict[int, int] = field(default_factory=dict)
    verdict: str | None = None
    auditor: str | None = None
    said: float = 0.0
    pair: tuple[int, int] | None = None
    retracted: float = -math.inf
    labels_over: bool = False
    status: str = "open"
    q: float = 1.0
    unlooked: bool = False
    found_later: bool = False
    voices: list = field(default_factory=list)
    opinions: list = field(default_factory=list)
    late_voices: list = field(default_factory=list)
    wanted: int = 1
    rule: str | None = None
    corrected: bool = False

    def asked(self, by):
        """Whether somebody is to be asked for a verdict, or an opinion."""
        if self.status != "open" or self.verdict is not None:
            return None
        if not self.voices:
            return Question("verdict")
        return next((q for q in self.outcome().questions if q.of == by or (q.of is None and by not in q.but)), None)

    @property
    def disputed(self):
        """Whether it was closed while a pair was in dispute, which nobody has settled, corrected or lost since."""
        ended = self.status in ("learned", "discarded") and self.auditor == "clock" and self.voices
        if not ended or self.corrected or None in self.ids:
            return False
        questions = self.outcome().questions
        return bool(questions) and all(question.pair is not None for question in questions)

    def left(self, by):
        """What somebody is asked of it then."""
        questions = self.outcome().questions if self.disputed else ()
        return next((q for q in questions if q.of == by or (q.of is None and by not in q.but)), None)

    def outcome(self):
        blind = [Verdict(by, pair, outcome == "skipped") for by, outcome, pair in self.voices]
        skipped = [voice.skipped for voice in blind]
        if self.rule is None or (len(blind) > 1 and all(skipped)):
            return Outcome(True)
        wanted = 1 if any(skipped) and not all(skipped) else self.wanted
        return settle(blind, self.opinions, wanted=wanted, rule=self.rule)

    def heard(self, now, over=False):
        """What the voices come to."""
        self.verdict, self.said, self.auditor = None, now, "clock" if over else "somebody"
        given = [outcome for _, outcome, _ in self.voices if outcome != "skipped"]
        if over:
            blind = [Verdict(by, pair, outcome == "skipped") for by, outcome, pair in self.voices]
            self.verdict = "expired" if not given else "reported" if close(blind, self.opinions) else "cleared"
        elif self.voices and self.outcome().settled:
            if self.rule is None or not given:
                self.verdict = self.voices[-1][1]
            else:
                self.verdict = "reported" if self.outcome().accepted else "cleared"

    @property
    def untaken(self):
        """Whose labels are not taken."""
        return self.returning | (self.refused if self.estimated else set())

    @property
    def final(self):
        """Whether nobody gave its verdict."""
        return self.verdict in ("expired", "undrawn") or self.auditor == "clock"

    @property
    def counts(self):
        """What it is among all rounds."""
        if self.verdict == "cleared" and self.auditor == "clock" and not self.voices:
            return "cleared"
        late = self.found_later or any(pair for _, _, pair in self.late_voices)
        if self.verdict == "cleared" and not self.unlooked and late:
            return "reported"
        words = {"cleared": "clean", "reported": "reported", "undrawn": "undrawn", None: None}
        return "unanswered" if self.verdict == "cleared" and self.unlooked else words.get(self.verdict, "unanswered")

    @property
    def labelled(self):
        if all(i in self.labels or name is None or i in self.untaken for i, name in enumerate(self.ids)):
            return "complete"
        if not self.labels_over:
            return None
        return "partial" if self.labels else "expired"

    def audit_due(self, waits):
        """When its audit expires, if nobody makes it."""
        wait = waits.audit is not None and self.verdict is None
        return max(self.opened + waits.audit, self.retracted + waits.grace) if wait else math.inf

    def due(self, waits):
        """When the clock has something to say about it."""
        moments = [self.audit_due(waits)]
        if self.labelled is None and waits.label is not None:
            moments.append(self.opened + waits.label)
        if self.labelled is not None and self.verdict is not None:
            moments.append(self.said + (0 if self.final else waits.grace))
        return min(moments)

    def settle(self, waits, now):
        """Close it if audit and labels are settled; whether it was learned."""
        over = self.verdict is not None and now >= self.said + (0 if self.final else waits.grace)
        if self.status != "open" or self.labelled is None or not over:
            return False
        discarded = (self.verdict == "expired" and waits.audit_end == "discard") or (
            self.labelled != "complete" and waits.label_end == "discard"
        )
        self.status = "discarded" if discarded else "learned"
        return not discarded

    def pass_time(self, waits, now):
        if now >= self.audit_due(waits):
            self.heard(now, over=True)
        if self.labelled is None and waits.label is not None and now >= self.opened + waits.label:
            self.labels_over = True
        return self.settle(waits, now)
