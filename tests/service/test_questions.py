"""What a lead's page answers in words: how pairs stand, who looked, and how sure a rate is."""

from __future__ import annotations

import re

import numpy as np
from loans import loans, people

from likewise.service.pages import figures
from likewise.service.pages.questions import helped, looked
from likewise.service.projections.bins import Bin
from likewise.service.projections.pairs import Standing
from likewise.service.stream.settings import Review
from likewise.theory.agreement import binomial_limits


def test_a_pair_that_turned_round_is_a_new_gap_and_not_a_smaller_one():
    now, then = np.array([0.05, -0.05, 0.2, 0.6, 0.5, -0.3]), np.full(6, 0.5)
    standing = Standing.of(now, then, 0.1)
    assert standing == Standing(pairs=6, within=2, closer=1, wider=2, flipped=1)
    first, *others = helped(standing, 0.1)
    assert first == "2 of 6 reported pairs are within α = 0.1 today."
    assert any("Turned round" in sentence and ": 1." in sentence for sentence in others)
    assert not any("Turned round" in sentence for sentence in helped(standing._replace(flipped=0), 0.1))


def test_who_looked_is_told_by_name(tmp_path, start):
    engine = start(str(tmp_path / "log.db"))
    engine.create(loans(review=Review(ask_all=True)), "root")
    for t, (verdict, by) in enumerate([("none", "bea"), ("skip", "ann"), ("none", "ann"), ("none", "ann")], 1):
        engine.decide("loans", people([[0.1, 0.2], [0.8, 0.9]], prefix=f"{t}."), "decider")
        engine.audit("loans", t, verdict, by)
    rows = looked(engine.reads, "loans")
    assert [tuple(row) for row in rows] == [("ann", 3, 0, 2, 1), ("bea", 1, 0, 1, 0)]
    assert [row.verdicts for row in looked(engine.reads, "loans", count=2)] == [2]


def test_reports_per_hundred_have_a_band_that_is_wider_where_fewer_were_reviewed():
    plain = dict.fromkeys(Bin._fields, 0)
    bins = [
        Bin(**plain | {"last": 100 * (i + 1), "reviewed": reviewed, "reports": reviewed // 5})
        for i, reviewed in enumerate((100, 10))
    ]
    drawn = figures.reports(bins)
    assert "95 % confidence" in drawn.caption
    band = re.search(r'<path[^>]*class="[^"]*half[^"]*"[^>]*>', drawn.svg)[0]
    path = re.search(r' d="([^"]*)"', band)[1]
    points = [tuple(map(float, point)) for point in re.findall(r"([\d.]+)[ ,]([\d.]+)", path)]
    heights = {x: max(y for at, y in points if at == x) - min(y for at, y in points if at == x) for x, _ in points}
    many, few = (heights[x] for x in sorted(heights))
    widths = [limit.high - limit.low for limit in (binomial_limits(20, 100), binomial_limits(2, 10))]
    assert few > many > 0
    assert many / few > 0.9 * widths[0] / widths[1]  # the wider one may be cut at the top
