"""The pictures of a stream, from what the database added up, each with a caption that says how to read it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from likewise.service.log import Store
from likewise.service.pages.charts import Plot, rows_across
from likewise.service.projections import pairs, summaries
from likewise.service.projections.bins import Bin
from likewise.service.projections.pairs import LINES, Spread
from likewise.service.stream.claims import coverage as plan_coverage
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import State
from likewise.service.stream.status import fair_at
from likewise.theory.agreement import binomial_limits
from likewise.wording import plural

FAR = 8
"""A limit that is so many times higher than what it limits would flatten the picture."""
STRETCHES = 12
"""Of rounds, for a rate with an interval."""
Paths = Mapping[int, Sequence[tuple[int, float]]]


class Figure(NamedTuple):
    """A picture, its heading, and how to read it."""

    name: str
    title: str
    svg: Markup | None
    caption: str


def figures(store: Store, stream: str, state: State, bins: Sequence[Bin]) -> list[Figure]:
    """All pictures of a stream: from the bins, and from one more query each where those don't tell."""
    settings, sampled = state.stream.settings, summaries.sampled(store, stream)
    spreads = pairs.spreads(store, stream)
    few = bool(spreads) and spreads[0].pairs <= LINES
    return [
        reports(bins),
        helped(spreads, pairs.paths(store, stream) if few else {}, sampled, settings),
        errors(bins, one_sided=settings.labels == "accepted"),
        coverage(bins, settings),
        by_plan(state),
        delay(bins),
        ranked(summaries.newest(store, stream), settings),
        violations(bins, sampled, state),
        regret(sampled, state),
    ]


def reports(bins: Sequence[Bin]) -> Figure:
    """Reports per hundred reviewed rounds along the way, each stretch with its interval."""
    title = "Reports per 100 rounds reviewed or cleared"
    width = max(1, -(-len(bins) // STRETCHES))
    stretches = [bins[i : i + width] for i in range(0, len(bins), width)]
    counts = [(s[-1].last, sum(bin.reports for bin in s), sum(bin.reviewed for bin in s)) for s in stretches]
    seen = [(last, reported, reviewed) for last, reported, reviewed in counts if reviewed]
    if not seen:
        return _nothing("reports", title)
    limits = [(last, binomial_limits(reported, reviewed)) for last, reported, reviewed in seen]
    steps = [(last, 100 * reported / reviewed) for last, reported, reviewed in seen]
    low, high = [(x, 100 * limit.low) for x, limit in limits], [(x, 100 * limit.high) for x, limit in limits]
    top = min(100.0, max(5.0, 1.6 * max(y for _, y in steps), min(y for _, y in high)))
    plot = Plot((0, bins[-1].last), (0, top), "rounds", "reports per 100 rounds", title)
    plot.area([(x, min(y, top)) for x, y in low], [(x, min(y, top)) for x, y in high], "half")
    plot.line(steps, "main", "reported")
    caption = (
        f"Rounds are taken together in {plural(len(seen), 'stretch', 'stretches')}. The band holds, for each stretch "
        "by itself, the rates that fit what was found there with 95 % confidence, if its rounds were alike: the fewer "
        "were reviewed, the wider it is. Rounds that arithmetic cleared count here; those "
        "that nobody looked at, and that could hold a violation, don't."
    )
    return Figure("reports", title, plot.svg(), caption)


def violations(bins: Sequence[Bin], sampled: Sequence[Any], state: State) -> Figure:
    """How many violations there were so far, under what is promised and what is proved of them."""
    title, settings = "Violations so far", state.stream.settings
    total = list(itertools.accumulate(bin.violations for bin in bins))
    if not total:
        return _nothing("violations", title)
    promised = [] if state.totals.delay_max else _promised(state, bins)
    proved = [(float(row.learned), min(row.violations, row.learned)) for row in sampled if row.violations is not None]
    near = FAR * max(1, total[-1])  # a limit that is far above would flatten the curve, and is told in words
    drawn = [[] if line and line[-1][1] > near else line for line in (promised, proved)]
    most = max([float(total[-1]), *(y for line in drawn for _, y in line)])
    plot = Plot((0, bins[-1].last), (0, max(1.0, 1.1 * most)), "rounds", "violations, added up", title)
    plot.line(drawn[0], "bound", "promised limit")
    plot.line(drawn[1], "limit", "proved limit" if _proven(sampled) else "limit by regret")
    plot.line([(0.0, 0.0), *((bin.last, float(y)) for bin, y in zip(bins, total, strict=True))], "main", "reported")
    caption = [
        f"Reported pairs further apart than α = {settings.alpha:g}.",
        "Read the slope: where the curve flattens, the policy has learned what the reviewers object to.",
    ]
    if promised:
        empty = ", one in every round, so it says nothing yet" if promised[-1][1] >= bins[-1].last else ""
        most_words = f"{promised[-1][1]:,.0f} by now{empty}"
        line = "The dotted line is the most" if drawn[0] else "Too high for this picture is the most"
        caption.append(f"{line} that the learner's theorem allows: {most_words}.")
    elif state.totals.delay_max:
        caption.append(
            "Rounds were learned late, so the limit that the learner promises does not hold, and is not drawn."
        )
    if proved:
        caption.append(_limited(state, sampled, proved[-1][1], drawn=bool(drawn[1])))
    return Figure("violations", title, plot.svg(), " ".join(caption))


def _limited(state: State, sampled: Sequence[Any], most: float, *, drawn: bool) -> str:
    """What the limit that follows from the regret is."""
    source = "the limit proved for the regret" if _proven(sampled) else "the observed regret"
    place = "The dashed line is drawn instead:" if state.totals.delay_max else "The dashed line is"
    place = place if drawn else "Too high for this picture is"
    return f"{place} the most that {source} and the errors leave room for, {most:,.0f} by now."


def _proven(sampled: Sequence[Any]) -> bool:
    return bool(sampled) and sampled[-1].proved is not None


def _promised(state: State, bins: Sequence[Bin]) -> list[tuple[float, float]]:
    """The theorem's limit after each bin; one that was tuned for T rounds is about those, and drawn flat."""
    learner: Any = state.stream.learner
    settings = state.stream.settings
    if settings.T is not None:
        bound = learner.bound(settings.level) if bins[-1].last <= settings.T else None
        limits = [(0.0, bound), (float(bins[-1].last), bound)]
    else:
        limits = [(float(bin.last), learner.bound(settings.level, T=bin.last)) for bin in bins]
    return [(x, bound.violations) for x, bound in limits if bound is not None and math.isfinite(bound.violations)]


def regret(sampled: Sequence[Any], state: State) -> Figure:
    """Lagrangian regret along the way, under its limits; of a learner that keeps reports, the limit of its errors."""
    title = "Lagrangian regret"
    if state.stream.keeps_reports:
        return _errors_limited(sampled, state)
    if not sampled:
        return _nothing("regret", title)
    late, last = state.totals.delay_max > 0, sampled[-1]
    proved = [(row.learned, row.proved) for row in sampled if row.proved is not None] if _proven(sampled) else []
    promised = [] if late else [(row.learned, row.promised) for row in sampled if row.promised is not None]
    values = [row.regret for row in sampled]
    top = 1.1 * max([1.0, *values, *(y for _, y in proved)])
    seen = promised if promised and promised[-1][1] <= FAR * top else []
    top = max([top, *(y for _, y in seen)])
    plot = Plot((0, last.learned), (min(0.0, *values), top), "rounds learned", "regret", title)
    plot.line(seen, "bound", "promised")
    plot.line(proved, "limit", "proved limit")
    plot.line([(row.learned, row.regret) for row in sampled], "main", "observed")
    caption = [
        "How much more the policies have cost so far, in errors and penalised reports together, than the best single "
        "hypothesis in hindsight. When the curve grows more and more slowly, the policy is learning."
    ]
    if late:
        caption.append(
            "Rounds were learned late, so what the learner promises before the first round does not hold. Look at the "
            "observed regret instead" + (", under the dashed limit that is proved from it." if proved else ".")
        )
    elif proved:
        caption.append("It stays under the dashed limit that is proved from what happened.")
    if seen:
        caption.append("The dotted line was promised before the first round.")
    elif promised:
        caption.append(
            f"What was promised before the first round, {promised[-1][1]:,.0f}, is too high for this picture."
        )
    caption.append(f"Drawn from {plural(len(sampled), 'moment')}.")
    return Figure("regret", title, plot.svg(), " ".join(caption))


def _errors_limited(sampled: Sequence[Any], state: State) -> Figure:
    """By how much a fixed fair policy could have erred less, at most, along the way."""
    title = "Errors above those of fair policies, at most"
    if not sampled:
        return _nothing("regret", title)
    limits = [(float(row.learned), row.proved) for row in sampled]
    promised = [(float(row.learned), row.promised) for row in sampled if row.promised is not None]
    low, top = min(0.0, *(y for _, y in limits)), 1.1 * max(1.0, *(y for _, y in limits))
    seen = promised if promised and not state.totals.delay_max and promised[-1][1] <= FAR * top else []
    top = max([top, *(y for _, y in seen)])
    plot = Plot((0, sampled[-1].learned), (low, top), "rounds learned", "errors, weighed by their costs", title)
    plot.line(seen, "bound", "promised")
    plot.line(limits, "main", "proved limit")
    caption = [
        "No fixed mixture of the stream's rules that keeps every pair within its distance plus "
        f"{fair_at(state):g} would have saved more errors than this. Below 0, each would have made more. When the "
        "curve grows more and more slowly, the policy is learning. It is proved from what happened, if the reports are "
        "true."
    ]
    if state.stream.settings.labels == "accepted":
        caption.append("Errors are estimated from the people who were accepted.")
    if state.totals.delay_max:
        caption.append("Rounds were learned late, which voids what the learner promises, but not this limit.")
    elif seen:
        caption.append("The dotted line was promised before the first round.")
    caption.append(f"Drawn from {plural(len(sampled), 'moment')}.")
    return Figure("regret", title, plot.svg(), " ".join(caption))


def errors(bins: Sequence[Bin], *, one_sided: bool = False) -> Figure:
    """Errors among people whose label came; estimated among all, where it comes of accepted people only."""
    if one_sided:
        return _errors_estimated(bins)
    title = "Error"
    points = [(bin.last, bin.error / bin.labelled) for bin in bins if bin.labelled]
    if not points:
        return _nothing("error", title)
    total, labelled = sum(bin.error for bin in bins), sum(bin.labelled for bin in bins)
    plot = Plot((0, bins[-1].last), (0, max(0.5, *(y for _, y in points))), "rounds", "error per person", title)
    plot.level(total / labelled, "bound", "mean of all")
    plot.line(points, "main", "error")
    caption = (
        f"The expected share of wrong decisions among the {labelled:,} people whose label came and was learned; "
        "neighbouring rounds are added up. People without a label are not counted. Each mistake counts once, whatever "
        "it costs."
    )
    return Figure("error", title, plot.svg(), caption)


def _errors_estimated(bins: Sequence[Bin]) -> Figure:
    """Errors among everybody who got a decision, estimated from accepted people, as they add up.

    An estimate of a few rounds jumps, and one of rounds in which nobody was accepted is 0: only sums say something.
    """
    title = "Error so far, estimated"
    learned = [bin for bin in bins if bin.learned == bin.rounds]
    errors, people = (
        itertools.accumulate(bin.error for bin in learned),
        itertools.accumulate(bin.people for bin in learned),
    )
    points = [(bin.last, error / count) for bin, error, count in zip(learned, errors, people, strict=True) if count]
    if not points or not any(bin.labelled for bin in learned):
        return _nothing("error", title)
    plot = Plot((0, bins[-1].last), (0, max(0.5, *(y for _, y in points))), "rounds", "error per person", title)
    plot.line(points, "main", "so far")
    everybody = sum(bin.people for bin in learned)
    caption = (
        f"An estimate of the share of wrong decisions among all {everybody:,} people up to each round, the refused "
        "ones too; rounds that wait to be learned are left out. Outcomes are known only of accepted people, so each of "
        "those stands for as many people as one divided by their probability: the first part of the curve jumps. Each "
        "mistake counts once, whatever it costs."
    )
    return Figure("error", title, plot.svg(), caption)


def helped(spreads: Sequence[Spread], paths: Paths, sampled: Sequence[Any], settings: Settings) -> Figure:
    """Whether reports helped: the gap of every reported pair under the policies after it."""
    title = "Did the report help?"
    drawn = _trusted(spreads)
    if len(drawn) < 2:
        return _nothing("helped", title)
    total, few = spreads[0].pairs, spreads[0].pairs <= LINES
    lines = {t: path for t, path in paths.items() if len(path) > 1} if few else {}
    far = max([drawn[-1].age, *(path[-1][0] for path in lines.values())])
    low = min([0.0, *(spread.gaps[0] for spread in drawn), *(gap for path in lines.values() for _, gap in path)])
    plot = Plot((0, far), (low, 1.0), "rounds learned since the report", "gap of the pair", title, tens="x")
    allowed = [(0.0, max(low, -settings.alpha)), (float(far), max(low, -settings.alpha))]
    plot.area(allowed, [(0.0, settings.alpha), (float(far), settings.alpha)], "zone")
    for path in lines.values():
        plot.line([(float(x), y) for x, y in path], "faint")
    if not few:
        curves = [[(float(spread.age), spread.gaps[i]) for spread in drawn] for i in range(5)]
        plot.area(curves[0], curves[4], "most")
        plot.area(curves[1], curves[3], "half")
    plot.level(settings.alpha, "bound", f"α = {settings.alpha:g}")
    plot.line([(float(spread.age), spread.gaps[2]) for spread in drawn], "main", "middle pair")
    each = (
        f"Each thin line is one of all {plural(total, 'reported pair')}, and the thick one their middle"
        if few
        else f"All {total:,} reported pairs together: the thick line is the middle one, the darker band holds the "
        "middle half of them, the lighter one eight in ten"
    )
    caption = [
        f"How far apart the same two people would be under later policies. {each}. The shaded band is "
        "within α; below it the other person is ahead, which is a new gap.",
        "Each pair is checked 1, 2, 3 … rounds after its report was learned, then more and more rarely, up to the age "
        "that a tenth of the pairs have reached.",
    ]
    return Figure("helped", title, plot.svg(), " ".join([*caption, *_now(sampled, total)]))


def _trusted(spreads: Sequence[Spread]) -> list[Spread]:
    """Ages at which enough pairs were seen: a tenth of all, and half as many as at any later age."""
    if not spreads or spreads[0].age != 0:
        return []
    later = list(itertools.accumulate((spread.pairs for spread in reversed(spreads)), max))[::-1]
    least = spreads[0].pairs / 10
    return [spread for spread, most in zip(spreads, later, strict=True) if spread.pairs >= max(least, most / 2)]


def _now(sampled: Sequence[Any], total: int) -> list[str]:
    """How all pairs stand under the policy that was sampled last."""
    last = sampled[-1] if sampled else None
    if last is None or not last.pairs:
        return []
    sentence = (
        f"Under the policy after {plural(last.learned, 'round')}, {last.closer:,} of {last.pairs:,} "
        f"{_are(last.closer)} closer than when reported, and {last.within:,} {_are(last.within)} within α."
    )
    gone = total - last.pairs
    return (
        [sentence, f"{plural(gone, 'pair')} can't be followed any more, because somebody was erased."]
        if gone > 0
        else [sentence]
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def ranked(rows: Sequence[Any], settings: Settings) -> Figure:
    """The newest rounds, person by person, reported pairs joined."""
    title = "The newest rounds"
    if not rows:
        return _nothing("ranked", title)
    probabilities = {row.round: json.loads(row.probabilities) for row in rows}
    plot = Plot((rows[0].round - 1, rows[-1].round + 1), (0, 1), "round", "probability", title, width=1300.0)
    joined = [
        ((row.round, probabilities[row.round][row.favoured]), (row.round, probabilities[row.round][row.disfavoured]))
        for row in rows
        if row.verdict == "reported"
    ]
    plot.segments(joined, "joint")
    plot.dots(((t, p) for t, ps in probabilities.items() for p in ps), "dots")
    plot.dots((end for pair in joined for end in pair), "dots-joined")
    newest = "the newest round" if len(rows) == 1 else f"the newest {len(rows)} rounds"
    caption = (
        f"Every dot is a person, at the probability given to them, in {newest}. A line joins the "
        f"two people of a reported pair; reports need a gap above {settings.level:g}."
    )
    return Figure("ranked", title, plot.svg(), caption)


def coverage(bins: Sequence[Bin], settings: Settings) -> Figure:
    """Which share of rounds somebody looked at."""
    needless = ", or that held nothing to report" if settings.keeps_record else ""
    title = "Review coverage"
    if not bins:
        return _nothing("coverage", title)
    plot = Plot((0, bins[-1].last), (0, 100), "rounds", "per cent of rounds", title)
    starts = [0, *(bin.last for bin in bins)]
    shares = [100 * bin.reviewed / bin.rounds for bin in bins]
    plot.bars(zip(starts, starts[1:], shares, strict=False), "share")
    reviewed, rounds = sum(bin.reviewed for bin in bins), sum(bin.rounds for bin in bins)
    plot.level(100 * reviewed / rounds, "bound", "mean of all")
    caption = (
        f"The share of rounds that a reviewer cleared or reported{needless}: {reviewed:,} of {rounds:,}. Rounds that "
        "were skipped, expired or still wait are the rest; a round that nobody looked at is not a round without "
        "violation."
    )
    return Figure("coverage", title, plot.svg(), caption)


def by_plan(state: State) -> Figure:
    """How far reviews have come: drawn by the plan, due, and done."""
    title, found = "Reviews by the plan", plan_coverage(state)
    if state.opened == 0:
        return _nothing("plan", title)
    rows = [
        ("cleared by arithmetic", found.cleared),
        ("not drawn", found.undrawn),
        ("drawn for review", found.drawn),
        ("… done", found.judged),
        ("… due", found.due),
        ("… not answered", found.unanswered),
    ]
    caption = (
        f"All {plural(state.opened, 'round')}. Nobody has to look at those that arithmetic cleared. Of the "
        f"{found.drawn:,} drawn for review, {found.judged:,} are done, {found.due:,} are due, and {found.unanswered:,} "
        "were skipped or expired: those count as reported."
    )
    return Figure("plan", title, rows_across(rows, title), caption)


def delay(bins: Sequence[Bin]) -> Figure:
    """How late rounds were learned."""
    title = "Delay"
    points = [(bin.last, bin.delay) for bin in bins if bin.delay is not None]
    if not points:
        return _nothing("delay", title)
    worst = [(bin.last, float(bin.delay_max)) for bin in bins if bin.delay_max is not None]
    waits = [bin.waited for bin in bins if bin.waited is not None]
    plot = Plot((0, bins[-1].last), (0, 1.1 * max(1.0, *(y for _, y in worst))), "rounds", "delay in rounds", title)
    plot.line(worst, "limit", "longest")
    plot.line([(x, float(y)) for x, y in points], "main", "mean")
    caption = (
        "How many other rounds were learned between a round's decisions and its own learning. It stays low if "
        f"reviewers keep up. From decision to learning it took {_duration(float(np.mean(waits)))} on average."
    )
    return Figure("delay", title, plot.svg(), caption)


def _duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> _duration(42.0), _duration(150.0), _duration(7200.0), _duration(200_000.0)
    ('42 seconds', '2.5 minutes', '2.0 hours', '2.3 days')
    """
    for unit, size, until in (("seconds", 1.0, 90.0), ("minutes", 60.0, 5400.0), ("hours", 3600.0, 129_600.0)):
        if seconds < until:
            return f"{seconds / size:.{0 if size == 1 else 1}f} {unit}"
    return f"{seconds / 86_400:.1f} days"


def _nothing(name: str, title: str) -> Figure:
    return Figure(name, title, None, "There is nothing to draw yet.")
