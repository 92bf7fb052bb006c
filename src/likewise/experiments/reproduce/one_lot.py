"""Experiment 11: one lot per round. Labels only of the accepted, and an auditor who sees only the decisions."""

from __future__ import annotations

from dataclasses import dataclass

from likewise import datasets
from likewise.errors import DataUnavailable
from likewise.experiments import demo
from likewise.experiments.reproduce.accepted import (
    ALPHA,
    BAD_UNTIL,
    DEFAULT,
    FULL,
    KINDS,
    LOTS,
    NAIVE,
    RUNNING,
    SAFE,
    SURELY,
    TILTED,
    TOLERANCE,
    TRAPS,
    UNFORGETTING,
    Desk,
    Grown,
    K,
    Real,
    Trapped,
    bad_first,
    desk,
    having,
    mean,
    predicted,
    real_play,
    slope,
    trapped,
    two_person_game,
)
from likewise.experiments.reproduce.one_lot_drawn import errors_drawn, logarithm_drawn, lots_drawn, real_drawn
from likewise.experiments.reproduce.result import Check, Experiment, Table, assumed, check
from likewise.experiments.reproduce.work import Workers

TITLE = "One lot per round: outcomes of the accepted only"
BAD_FIRST = "everybody is bad at first"
FORGETFUL = (NAIVE + UNFORGETTING, RUNNING + UNFORGETTING)


@dataclass(frozen=True)
class Size:
    """Rounds and seeds of the traps; rounds of the plays that begin badly; those of real people; of two people."""

    T: int
    seeds: int
    bad: tuple[int, ...]
    real: int
    real_seeds: int
    horizons: tuple[int, ...]
    synthetic: bool = False


SIZES = {
    "tiny": Size(75, 2, (75,), 60, 1, (100, 200, 400), synthetic=True),
    "quick": Size(500, 4, (500,), 500, 1, (1000, 3162, 10_000)),
    "full": Size(2000, 20, (500, 2000), 2000, 5, (1000, 3162, 10_000, 31_623, 100_000)),
}


def run(size: Size, workers: Workers) -> Experiment:
    """Play the traps, the bad beginnings, real people, two people, and both kinds of lots."""
    growth = workers.map(two_person_game, [(rule, size.horizons) for rule in (DEFAULT, TILTED)])
    settings, missing = _settings(size)
    real = workers.map(real_play, [(kind, s, seed) for s in settings for seed in range(size.real_seeds)
                                   for kind in KINDS])  # fmt: skip
    desks = workers.map(desk, [(lot, settings[0], seed) for seed in range(size.real_seeds)
                               for lot in ("round", "person")])  # fmt: skip
    seeds = range(size.seeds)
    traps = workers.map(trapped, [(game, kind, size.T, seed) for game in TRAPS for kind in KINDS for seed in seeds])
    bad = workers.map(bad_first, [(BAD_FIRST, kind, T, seed) for T in size.bad for kind in (*KINDS, *FORGETFUL)
                                  for seed in seeds])  # fmt: skip
    return Experiment(
        number=11,
        title=TITLE,
        question=(
            "Who lends money never learns whether a refused person would have paid back, and who reviews may see only "
            "who got a yes. One random number a round, its lot, decides about everybody: a yes for those whose "
            "probability is above it. What does it cost to see only the outcomes of those who got a yes? And what does "
            "an auditor of decisions see? "
            f"Batches of {K} people, α = {ALPHA}, unless said; errors are those of the probabilities, per person, by "
            f"all labels, which only the simulation knows. {missing}"
        ),
        pictures=[errors_drawn(traps, bad), real_drawn(real), logarithm_drawn(growth), lots_drawn(desks)],
        tables=[_traps(traps), _bad(bad), _real(real), _growth(growth), _desks(desks)],
        bounds=[assumed(r.bound, r.kind) for r in real if r.kind in (FULL, RUNNING, SAFE) and r.seed == 0][:3],
        checks=_checks([*traps, *bad], real, growth, desks),
        notes=[_note(traps, bad), _real_note(real)],
    )


def _settings(size: Size) -> tuple[list[demo.Setting], str]:
    """Adult and COMPAS, ready to play; made-up people where neither is wanted or found."""
    loaded, missing = [], []
    for load in () if size.synthetic else (datasets.adult, datasets.compas):
        try:
            loaded.append(load())
        except DataUnavailable as error:
            missing.append(str(error))
    loaded = loaded or [datasets.synthetic(4000)]
    return [demo.prepare(data, T=size.real, k=K, alpha=ALPHA) for data in loaded], " ".join(missing)


# Checks -----------------------------------------------------------------------------------------------------------


def _checks(trapped: list[Trapped], real: list[Real], growth: list[Grown], desks: list[Desk]) -> list[Check]:
    limited = [(v, limit) for g in growth for v, limit in zip(g.violations, g.limits, strict=True)]
    limited += [(r.violations, r.bound.violations) for r in real if r.bound is not None]
    unseen = [(d.violating, d.limit) for d in desks] + [(g.hidden[-1], g.hidden_limit) for g in growth]
    upright = [(float(d.inverted), 0.0) for d in desks if d.lot == "round"]
    return [
        check("error above the best constant's ≤ the limit proved by the play itself",
              [p.behind for p in trapped] + [p.behind for p in real],
              "none: it holds for every sequence of estimates, and of labels where all are seen"),
        check("violations ≤ the theorem's limit, surely", limited, "reports have a gap above the tolerance"),
        check("violating rounds, seen or not ≤ their limit from the reports (Lemma 6)", unseen,
              f"a persistent auditor; confidence {1 - SURELY:g}"),
        check("benign pairs decided differently: one lot ≤ own lots, on average over the lots (Lemma 5)",
              [d.benign for d in desks], "the same probabilities"),
        check("with one lot nobody gets a yes while somebody of higher probability gets a no", upright, "one lot"),
    ]  # fmt: skip


# Tables -----------------------------------------------------------------------------------------------------------


def _traps(plays: list[Trapped]) -> Table:
    columns = ("game", "labels", "T", "plays", "error, mean", "best", "worst", "mean above all labels", "labels seen")
    rows = []
    for game in TRAPS:
        full = mean(p.error for p in having(plays, game=game, kind=FULL))
        for kind in KINDS:
            same = having(plays, game=game, kind=kind)
            errors = [p.error for p in same]
            rows.append((game, kind, same[0].T, len(same), mean(errors), min(errors), max(errors),
                         mean(errors) - full, mean(p.seen for p in same)))  # fmt: skip
    return Table("traps", "Two traps: error per person", columns, rows)


def _bad(plays: list[Trapped]) -> Table:
    columns = ("labels", "T", "plays", "stuck", "last quarter above the better constant, mean", "worst", "labels seen")
    rows = []
    for T in sorted({p.T for p in plays}):
        for kind in (*KINDS, *FORGETFUL):
            same = having(plays, kind=kind, T=T)
            above = [p.above for p in same]
            stuck = sum(p.stuck for p in same)
            rows.append((kind, T, len(same), stuck, mean(above), max(above), mean(p.seen for p in same)))
    return Table(
        "bad-first",
        f"Everybody is bad in the first {BAD_UNTIL:.0%} of the rounds; then most people are good",
        columns,
        rows,
    )


def _real(plays: list[Real]) -> Table:
    columns = ("people", "labels", "plays", "error", "above all labels", "best fair policy (exact)", "violations",
               "labels seen")  # fmt: skip
    rows = []
    for data in dict.fromkeys(p.data for p in plays):
        best, full = (mean(getattr(p, name) for p in having(plays, data=data, kind=FULL)) for name in ("best", "error"))
        for kind in KINDS:
            same = having(plays, data=data, kind=kind)
            error = mean(p.error for p in same)
            measured = (data, kind, len(same), error, error - full, best)
            rows.append((*measured, mean(p.violations for p in same), mean(p.seen for p in same)))
    return Table("real", "Real people: means over the plays", columns, rows)


def _growth(growth: list[Grown]) -> Table:
    columns = ("rule", "T", "violations", "violating rounds, seen or not", "limit of violations",
               "fitted per ln T", "predicted at most")  # fmt: skip
    rows = []
    for g in growth:
        for i, T in enumerate(g.T):
            last = (slope(g), predicted() if g.rule == TILTED else "") if i == len(g.T) - 1 else ("", "")
            rows.append((g.rule, T, g.violations[i], g.hidden[i], g.limits[i], *last))
    return Table(
        "logarithm", f"Two people, decisions and outcomes of the accepted only, τ = {TOLERANCE}", columns, rows
    )


def _desks(desks: list[Desk]) -> Table:
    columns = ("lot", "plays", "error", "reports accepted", "violating rounds", "pairs decided differently",
               "could be accepted", "alike, gap within the tolerance", "not alike", "lower probability got the yes",
               "variance of acceptances", "by the lot's law", "benign on average, one lot", "own lots")  # fmt: skip
    rows = []
    for lot in ("round", "person"):
        same = having(desks, lot=lot)
        names = ("error", "violations", "violating", "differently", "acceptable", "within", "unlike", "inverted",
                 "variance", "exact")  # fmt: skip
        measured = [mean(getattr(d, name) for d in same) for name in names]
        rows.append((LOTS[lot], len(same), *measured, *(mean(d.benign[i] for d in same) for i in (0, 1))))
    return Table("lots", "One lot beside own lots: means over the plays", columns, rows)


# Notes ------------------------------------------------------------------------------------------------------------


def _note(traps: list[Trapped], bad: list[Trapped]) -> str:
    worst = {kind: max(p.error for p in having(traps, game="first trap", kind=kind)) for kind in KINDS}
    longest = max(p.T for p in bad)
    stuck = {kind: sum(p.stuck for p in having(bad, kind=kind, T=longest)) for kind in (*KINDS, *FORGETFUL)}
    plays = len(having(bad, kind=FULL, T=longest))
    return (
        f"First trap, the worst plays: {worst[FULL]:.3f} with all labels, {worst[NAIVE]:.3f} where unseen labels "
        f"are ignored, {worst[RUNNING]:.3f} with the default and {worst[SAFE]:.3f} with safe. Everybody bad at first, "
        f"T = {longest:,}: stuck in {stuck[NAIVE]} of {plays} plays where unseen labels are ignored, in "
        f"{stuck[RUNNING]} with the default; in {stuck[FORGETFUL[0]]} and {stuck[FORGETFUL[1]]} if the learner never "
        "mixes its prior in again. Stuck means: the last quarter errs more than 0.05 above the better constant."
    )


def _real_note(plays: list[Real]) -> str:
    """The price of seeing only the outcomes of the accepted, for each data set."""
    sentences = []
    for data in dict.fromkeys(p.data for p in plays):
        means = {(kind, name): mean(getattr(p, name) for p in having(plays, data=data, kind=kind))
                 for kind in (FULL, NAIVE, RUNNING) for name in ("error", "violations", "seen")}  # fmt: skip
        price, ignoring = (means[kind, "error"] - means[FULL, "error"] for kind in (RUNNING, NAIVE))
        sentences.append(
            f"{data}: the default errs {price:+.4f} beside all labels, with {means[RUNNING, 'violations']:.1f} "
            f"violations to {means[FULL, 'violations']:.1f}, and sees {means[RUNNING, 'seen']:.0%} of the labels; who "
            f"ignores unseen labels errs {ignoring:+.4f}."
        )
    return " ".join(sentences)
