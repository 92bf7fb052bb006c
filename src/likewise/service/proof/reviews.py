"""Which rounds are reviewed, computed again from a log: what the plan gives each round, and what its lot says.

q_t = clip(share · gap/mean gap, share/3, 1) of a round whose largest gap exceeds the level; the mean is over the last
300 such rounds, this one included. A budget a day is a share of such rounds of the past day. All of it is known before
the lot.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from datetime import datetime
from typing import Any

from likewise.service.proof.drawn import lot
from likewise.service.proof.spelling import unhex

WINDOW = 300
"""Rounds that the mean gap is over."""
FLOOR = 1 / 3
"""The least probability of a review, as a part of the share."""
PLAN = {"share": 1.0, "budget": None, "choose": "gap", "second": 0.0, "gold": 0.0, "ask_all": False}
"""What a stream has whose settings say nothing of reviews."""
ANNOUNCED = ("cleared_by_arithmetic", "review_drawn")
"""What directly follows the opening of a round, where nobody is asked or a lot says who is."""


class Reviews:
    """Computes again which rounds need nobody, and with which probability and with what result the others are drawn."""

    def __init__(self, created: dict[str, Any]) -> None:
        settings = created["settings"]
        self._stream, self._next = settings["name"], created.get("review")
        self._plan = PLAN | settings.get("review", {})
        self._level = settings["alpha"] - settings.get("margin", 0.0)
        self._decisions = settings.get("audits") == "decisions"
        self._record = self._decisions or settings.get("labels") == "accepted" or settings.get("lot") == "round"
        self._gaps: deque[float] = deque(maxlen=WINDOW)
        self._hours: dict[int, int] = {}
        self._hour: int | None = None
        self._opened: dict[str, Any] = {"t": 0}
        self._due: str | None = None

    def wrong(self, kind: str, at: str, data: dict[str, Any]) -> str:
        """What is wrong with an event; nothing if it follows from the plan, the rounds before and its nonce."""
        due, self._due = self._due, None
        if due is not None and kind != due:
            return f"should be {due} of round {self._opened['t']}, which was just opened"
        if due is None and kind in ANNOUNCED:
            return "says of a round what does not follow from the plan and its largest gap"
        if kind == "plan_changed":
            self._plan = self._plan | data["changes"]
        elif kind == "round_opened":
            self._due = self._announces(at, data)
        return self._drawn(data) if kind == "review_drawn" else ""

    def _announces(self, at: str, opened: dict[str, Any]) -> str | None:
        """Remember a round, unless arithmetic clears it, and say what must follow it."""
        self._opened, gap = opened, self._gap(opened)
        if gap > self._level:
            hour = int(datetime.fromisoformat(at).timestamp() // 3600)
            if hour != self._hour:  # what is a day old was left out when this hour began
                self._hour = hour
                self._hours = {past: rounds for past, rounds in self._hours.items() if past > hour - 24}
            self._hours[hour] = self._hours.get(hour, 0) + 1
            self._gaps.append(gap)
        plan, cleared = self._plan, gap <= self._level
        if plan["ask_all"] and not self._decisions:
            cleared = self._record and len(self._fresh(opened)) < 2
        by_lot = plan["share"] < 1 or plan["budget"] is not None or plan["second"] > 0 or plan["gold"] > 0
        return ANNOUNCED[0] if cleared else ANNOUNCED[1] if by_lot else None

    def _fresh(self, opened: dict[str, Any]) -> list[dict[str, Any]]:
        returning = set(opened.get("returning", ()))
        return [person for i, person in enumerate(opened["people"]) if i not in returning]

    def _gap(self, opened: dict[str, Any]) -> float:
        """How far apart the two are who differ most, of those that could be reported together."""
        fresh = self._fresh(opened)
        if self._decisions:
            yes, no = ([one["probability"] for one in fresh if one["decision"] == said] for said in (1, 0))
        else:
            yes = no = [one["probability"] for one in fresh]
        gap = max(yes) - min(no) if yes and no else 0.0
        return float(gap) if not self._decisions or gap > self._level else 0.0

    def _share(self) -> float:
        if self._plan["budget"] is None:
            return float(self._plan["share"])
        return min(1.0, float(self._plan["budget"]) / sum(self._hours.values()))

    def _probability(self) -> float:
        """q of the round that was opened last."""
        share, choose, gap, gaps = self._share(), self._plan["choose"], self._gaps[-1], self._gaps
        if choose == "equal" or share == 1:
            return share
        floor = share * FLOOR
        if choose == "largest":
            surely = (share - floor) / (1 - floor) * len(gaps)
            larger, ties = sum(other > gap for other in gaps), sum(other == gap for other in gaps)
            return floor + (1 - floor) * min(1.0, max(0.0, (surely - larger) / ties))
        return min(1.0, max(floor, share * gap / (math.fsum(gaps) / len(gaps))))

    def _drawn(self, data: dict[str, Any]) -> str:
        nonce, committed, t = unhex(data["lot"]["nonce"]), self._next, data["t"]
        self._next = data["lot"]["next"]
        if t != self._opened["t"] or hashlib.sha256(nonce).hexdigest() != committed:
            return "draws a round that was not just opened, or with a nonce that is not the one committed to"
        q = self._probability()
        if data["probability"] != q:
            return f"draws round {t} with the probability {data['probability']}, where the plan gives {q}"
        shown = [person["probability"] for person in self._opened["people"]]
        drawn = lot(nonce, self._stream, t, shown, "review") < q
        second = drawn and lot(nonce, self._stream, t, shown, "second") < self._plan["second"]
        gold = drawn and lot(nonce, self._stream, t, shown, "gold") < self._plan["gold"]
        follows = (data["drawn"], data["second"], data.get("gold", False)) == (drawn, second, gold)
        return "" if follows else "says of a review what does not follow from its lot"
