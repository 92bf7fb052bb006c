"""Whether an event may follow those before it, as an outsider can tell from the log alone.

``decide`` lets only such events happen; somebody who has the service's key could still chain
and sign others: a second verdict in place of the first, a label that changes, a report whose round is closed and not
learned, a learner that begins anew. ``evolve`` never refuses, so they are refused here, in one sentence each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from likewise.protocol import Floats
from likewise.service.stream.events import Event
from likewise.service.stream.rounds import CLOCK, VERDICTS, dropped
from likewise.service.stream.state import OpenRound, State

SLACK = 1e-3
"""Seconds by which a time in the log may miss the clock's, which it rounds."""


class Past(NamedTuple):
    """What later events may still say something about, of a round that has left the state."""

    probabilities: Floats
    known: Floats


class Course:
    """Takes the events of a log in their order, each with the state before it."""

    def __init__(self) -> None:
        self._next: tuple[str, int | None] | None = None
        self._past: dict[int, Past] = {}
        self._policies: dict[int, str] = {}
        self._decided: dict[str, tuple[float, float]] = {}

    def objection(self, state: State, event: Event) -> str:
        """Why an event can't follow; nothing if it can."""
        if (state.model is None) != (event.kind == "stream_created"):
            return "stands where a stream is created, or creates it again"
        here = event.kind, event.round
        if (self._next or here) != here or (self._next is None and event.kind in ("learned", "person_erased")):
            return "does not belong where it stands: what goes together was torn apart"
        self._next = _followed_by(event)
        check = _CHECKS.get(event.kind)
        return "" if check is None else check(self, state, event)

    # A round's beginning ------------------------------------------------------------------------------------------

    def _opened(self, state: State, event: Event) -> str:
        data, people = event.data, event.data["people"]
        if state.stopped is not None:
            return "opens a round while the stream is stopped"
        if data["round"] != state.opened + 1 or data["outstanding"] != state.outstanding:
            return f"should open round {state.opened + 1} with {state.outstanding} outstanding"
        if data["version"] != state.totals.learned:
            return f"should deploy policy {state.totals.learned}, not {data['version']}"
        if self._policies.setdefault(data["version"], data["policy"]) != data["policy"]:
            return f"deploys a policy {data['version']} that is not the one deployed before"
        if not 1 <= len(people) <= state.stream.settings.k:
            return f"opens a round of {len(people)} people"
        found = {aside.ref: str(aside.person) for aside in event.asides}
        return next((said for one in people if (said := self._decision(one, found.get(one["ref"])))), "")

    def _decision(self, one: Mapping[str, Any], person: str | None) -> str:
        """A decision is u < π with one u in [0, 1) for each person: a rising π never turns a yes into a no."""
        chance, decision = one["probability"], one["decision"]
        if not 0 <= chance <= 1 or decision not in (0, 1) or (chance in (0, 1) and decision != chance):
            return f"decides {decision} at the probability {chance}"
        if person is None:
            return ""
        no, yes = self._decided.get(person, (-math.inf, math.inf))
        no, yes = (no, min(yes, chance)) if decision else (max(no, chance), yes)
        self._decided[person] = no, yes
        return "" if no < yes else f"decides about somebody otherwise than before: no at {no}, yes at {yes}"

    # Labels -------------------------------------------------------------------------------------------------------

    def _received(self, state: State, event: Event) -> str:
        one = _open(state, event)
        if one.closed or one.labels_expired:
            return "takes labels of a round whose labels are settled"
        return _fresh(event.data["labels"], one.labels, one.erased)

    def _late(self, state: State, event: Event) -> str:
        t, labels = event.data["round"], event.data["labels"]
        one = state.rounds.get(t)
        if one is not None and not one.labels_expired:
            return "calls labels late while their round waits for them"
        known = self._past[t].known if one is None else one.known
        said = _fresh(labels, known, frozenset() if one is None else one.erased)
        if one is None and not said:
            for position, label in labels:
                known[position] = label
        return said

    def _labels_expired(self, state: State, event: Event) -> str:
        one = _open(state, event)
        if one.labels_due(state.waits) > event.time + SLACK:
            return "ends a wait for labels that has not ended"
        after = replace(one, labels_expired=True).labelled, one.missing
        said = event.data["outcome"], event.data["missing"]
        return "" if said == after else f"should say {after[0]} with {after[1]} missing"

    # The audit ----------------------------------------------------------------------------------------------------

    def _audited(self, state: State, event: Event) -> str:
        one, data = _open(state, event), event.data
        if one.verdict is not None or one.closed:
            return "is a second verdict on its round"
        if data["verdict"] == "expired":
            due = one.audit_due(state.waits) <= event.time + SLACK and data["by"] == CLOCK
            return "" if due and "pair" not in data else "ends a wait for an audit that has not ended"
        return _verdict(data, one.probabilities, one.erased, state.stream.settings.level)

    def _retracted(self, state: State, event: Event) -> str:
        verdict = _open(state, event).verdict
        made = verdict is not None and verdict.outcome != "expired"
        return "" if made else "takes back a verdict that there is not"

    def _corrected(self, state: State, event: Event) -> str:
        t, level = event.data["round"], state.stream.settings.level
        one = state.rounds.get(t)
        if one is None:
            return _verdict(event.data, self._past[t].probabilities, frozenset(), level)
        if one.verdict is None or one.verdict.outcome != "expired":
            return "corrects a round that can still be audited"
        return _verdict(event.data, one.probabilities, one.erased, level)

    # A round's end ------------------------------------------------------------------------------------------------

    def _closed(self, state: State, event: Event) -> str:
        data, one = event.data, _open(state, event)
        if one.closed or not one.may_close(state.waits, event.time + SLACK):
            return "closes a round that may not close yet"
        assert one.verdict is not None
        expected = one.verdict.outcome, one.labelled, one.teaches(state.waits)
        if (data["audit"], data["labels"], data["learns"]) != expected:
            how = "learned" if expected[2] else "discarded"
            return f"should close a round that was {expected[0]} with labels {expected[1]}, to be {how}"
        self._past[one.t] = Past(one.probabilities, one.known)
        return ""

    def _learned(self, state: State, event: Event) -> str:
        data, one = event.data, _open(state, event)
        expected = {
            "version": state.totals.learned + 1,
            "delay": state.totals.learned - one.version,
            "outstanding": state.outstanding - 1,
            "dropped": dropped(one),
        }
        wrong = [name for name, value in expected.items() if data[name] != value]
        if wrong:
            return f"should have {wrong[0]} = {expected[wrong[0]]}, not {data[wrong[0]]}"
        waited = event.time - one.opened_at
        return "" if abs(data["waited"] - waited) <= SLACK else f"should have waited = {waited:.6f}"

    # The stream ---------------------------------------------------------------------------------------------------

    def _stopped(self, state: State, event: Event) -> str:
        return "" if state.stopped is None else "stops a stream that is stopped"

    def _resumed(self, state: State, event: Event) -> str:
        return "resumes a stream that is not stopped" if state.stopped is None else ""

    def _checkpointed(self, state: State, event: Event) -> str:
        learned, said = state.totals.learned, event.data["version"]
        return "" if said == learned else f"should be of version {learned}, not {said}"


def _followed_by(event: Event) -> tuple[str, int | None] | None:
    """What the next event must be, where two are written together."""
    if event.kind == "round_closed" and event.data["learns"]:
        return "learned", event.round
    return ("person_erased", None) if event.kind == "learner_checkpointed" else None


def _open(state: State, event: Event) -> OpenRound:
    return state.rounds[event.data["round"]]


def _fresh(labels: Sequence[Sequence[int]], known: Floats, erased: frozenset[int]) -> str:
    """Labels are 0 or 1, of people of the round, and never change."""
    positions = [position for position, _ in labels]
    there = all(isinstance(i, int) and 0 <= i < len(known) and i not in erased for i in positions)
    if not there or len(set(positions)) != len(positions) or not positions:
        return "has labels of people who are not in its round"
    if any(isinstance(label, bool) or label not in (0, 1) for _, label in labels):
        return "has labels other than 0 and 1"
    return "" if all(math.isnan(known[i]) for i in positions) else "changes labels that were known"


def _verdict(data: Mapping[str, Any], chances: Floats, erased: frozenset[int], level: float) -> str:
    """A pair, and its gap, if and only if something is reported; favoured first, and far enough apart."""
    if data["verdict"] not in VERDICTS.values():
        return f"has the verdict {data['verdict']!r}"
    if data["verdict"] != "reported":
        return "" if not {"pair", "gap"} & set(data) else f"names a pair with the verdict {data['verdict']!r}"
    favoured, disfavoured = data["pair"]
    if not all(isinstance(i, int) and 0 <= i < len(chances) and i not in erased for i in (favoured, disfavoured)):
        return "reports people who are not in its round"
    gap = float(chances[favoured] - chances[disfavoured])
    return "" if gap == data["gap"] and gap > level else f"reports a gap of {data['gap']}, which was {gap}"


_CHECKS: dict[str, Callable[[Course, State, Event], str]] = {
    "round_opened": Course._opened,
    "labels_received": Course._received,
    "labels_late": Course._late,
    "labels_expired": Course._labels_expired,
    "audited": Course._audited,
    "audit_retracted": Course._retracted,
    "audit_corrected": Course._corrected,
    "round_closed": Course._closed,
    "learned": Course._learned,
    "stopped": Course._stopped,
    "resumed": Course._resumed,
    "learner_checkpointed": Course._checkpointed,
}
