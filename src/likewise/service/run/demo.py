"""``likewise serve --demo``: a stream with a past, and rounds that wait for the newcomer's verdict.

It is as a bank's would be: nobody learns how refused people would have turned out, and one lot decides a round. People
are those of the Adult census data, or made-up ones where that can't be found. A few hundred rounds were decided,
labelled, drawn for review and audited by simulated reviewers who know the data set's hidden distance and overlook some
of it; twenty more wait for a person.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise import datasets
from likewise.auditors import MetricAuditor
from likewise.errors import DataUnavailable
from likewise.hypotheses.base import quantile_cuts
from likewise.protocol import Batch, Key, Role
from likewise.service.accounts.sessions import Sessions
from likewise.service.accounts.tokens import ADMIN, AUDITOR, Tokens
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.keys import signer_at
from likewise.service.projections.follower import Follower
from likewise.service.refusals import Conflict
from likewise.service.stream.known import Use
from likewise.service.stream.settings import Settings
from likewise.verdicts import Question
from likewise.wording import joined

if TYPE_CHECKING:
    from likewise.datasets import Dataset

log = logging.getLogger(__name__)
ALPHA = 0.1
PEOPLE = 8
"""People in a round."""
AT_ONCE = 5
"""Rounds that are open at once, at most, so that there is some delay to see."""
COSTS = (1.0, 3.0)
"""Few people have the label 1: if missing one of them cost no more than a false yes, hardly anybody would get a yes."""
CUTS = 12
"""Of each number."""
UNKNOWN = "unknown"
SIMULATED, ASKING = ("Rhea (simulated)", "Sam (simulated)", "Tove (simulated)"), "demo"
"""The names in the log of those who audit, and of whoever asks for decisions."""
PLAN = {"share": 0.8, "second": 0.75, "gold": 0.2}
"""Rounds are drawn for review, some of them for a second verdict, and known rounds are mixed in."""
KNOWN = 40
"""Rounds on whose answer two agreed that are marked as known, half of them with a violation; a few for practice."""
PRACTICE = 4
SEES, SKIPS = 0.85, 0.04
"""How often a simulated reviewer sees a pair that is there, and how often they skip a round."""


NEWCOMERS = {"reviewer": AUDITOR, "administrator": ADMIN}
"""Who a newcomer can be, with their roles."""


class Links(NamedTuple):
    """Codes of login links, which work once."""

    reviewer: str
    administrator: str


class DemoPeople(NamedTuple):
    """The people of a demo: each as a request has them, their labels, and what the simulated auditor compares."""

    stream: str
    people: list[dict[str, Any]]
    labels: list[int]
    view: Any
    metric: Any
    settings: Settings
    brief: dict[str, str]


class ManualClock:
    """A clock that is moved by hand, so that the demo's past takes no time."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now


def fill(
    make: Callable[[Callable[[], float]], Engine],
    rounds: int = 300,
    waiting: int = 20,
    *,
    data: Dataset | None = None,
    seed: int = 0,
    now: float | None = None,
) -> str:
    """Make a stream with a past; its name.

    Parameters
    ----------
    make
        From a clock to an engine on the store of the service.
    rounds, waiting
        Rounds that are over, and rounds that wait for review.
    data
        The people; Adult by default, made-up ones where that can't be found.
    seed
        Which people, in which order.
    now
        When the past ends, in seconds; the present by default.
    """
    end = time.time() if now is None else now
    clock = ManualClock(end - 120.0 * (rounds + waiting))
    demo, engine, rng = _demo_people(data or people(), seed), make(clock), np.random.default_rng(seed)
    engine.create(demo.settings, ASKING)
    engine.change_brief(demo.stream, demo.brief, ASKING)
    follower = Follower(engine)
    auditor = MetricAuditor(demo.metric, alpha=ALPHA)
    first = 1
    while first <= rounds:
        group = range(first, min(first + int(rng.integers(1, AT_ONCE + 1)), rounds + 1))
        first = group.stop
        opened = [(t, *_decided(engine, demo, t, clock)) for t in group]
        _met_known_rounds(engine, demo.stream, rng)
        for t, chosen, probabilities in opened:
            _audited(engine, demo, t, chosen, probabilities, auditor, rng)
            clock.now += 40.0
        engine.tick()
        _marked(engine, demo.stream, group)
        follower.follow(demo.stream)
    t = rounds
    while waiting > 0:
        t += 1
        _decided(engine, demo, t, clock)
        waiting -= engine.round(demo.stream, t)["audit"] is None
    follower.follow(demo.stream)
    return demo.stream


def prepare(
    configuration: Configuration,
    rounds: int = 300,
    waiting: int = 20,
    data: Dataset | None = None,
    *,
    before: Callable[[], None] | None = None,
) -> Links:
    """Fill the database of a service, unless it has a stream already, and make a login link for each newcomer.

    ``before`` is called only if there is something to fill, which takes a while.
    """
    with Store(configuration.database) as store:
        store.migrate()
        points = CheckpointFile(configuration.checkpoint_file)
        signer = signer_at(configuration.key_file, points, **configuration.key_source)
        if not store.streams():
            if before is not None:
                before()
            fill(lambda clock: Engine(store, signer, None, clock), rounds, waiting, data=data)
        tokens, sessions = Tokens(store), Sessions(store, signer)
        for name, role in NEWCOMERS.items():
            known = [token for token in tokens.list() if (token["name"], token["role"]) == (name, role)]
            if not any(token["revoked_at"] is None and token["expires_at"] is None for token in known):
                tokens.add(name, role)
        return Links(*(sessions.link(name) for name in NEWCOMERS))


def people() -> Dataset:
    """Adult, or made-up people if its files can't be found."""
    try:
        return datasets.adult()
    except DataUnavailable as error:
        log.warning("The Adult data can't be found (%s); the people of this demo are made up.", error)
        return datasets.synthetic()


def _demo_people(data: Dataset, seed: int) -> DemoPeople:
    order = np.random.default_rng(seed).permutation(len(data))[:6000]
    frame = data.people.iloc[order].reset_index(drop=True)
    numbers = {name for name in frame.columns if frame[name].dtype.kind in "iufb"}
    features = [_feature(data, frame, name, name in numbers) for name in frame.columns]
    rows = [
        {name: float(row[name]) if name in numbers else _text(row[name]) for name in frame.columns}
        for row in frame.to_dict("records")
    ]
    stream = "".join(letter if letter.isalnum() else "-" for letter in data.name.lower()).strip("-")
    plain = {"name": stream, "features": features, "alpha": ALPHA, "k": PEOPLE, "waits": {"grace": 10.0}}
    plain |= {"costs": COSTS, "labels": "accepted", "lot": "round", "review": PLAN}
    plain["cuts"] = {feature["name"]: _cuts(feature, rows) for feature in features if not feature["sensitive"]}
    return DemoPeople(
        stream=stream,
        people=[{"id": f"person-{i + 1:04d}", "features": row} for i, row in enumerate(rows)],
        labels=data.y[order].astype(int).tolist(),
        view=data.viewer.transform(frame),
        metric=data.metric,
        settings=Settings.from_dict(plain),
        brief=_brief(data),
    )


def _brief(data: Dataset) -> dict[str, str]:
    """What the reviewers are told: what the simulated ones go by."""
    compared = joined([name.replace("_", " ") for name in data.compare_by])
    meaning = data.datasheet.positive.removeprefix("1")
    return {
        "decided": f"A demonstration with the data set {data.name}. A yes{meaning}",
        "alike": data.distance_described,
        "pairs": f"Two people with nearly the same {compared}, but far apart in probability.",
        "non_pairs": "Two people who differ much in one of these: that justifies a gap.",
    }


def _feature(data: Dataset, frame: Any, name: str, is_number: bool) -> dict[str, Any]:
    levels = [] if is_number else sorted({_text(value) for value in frame[name]})
    sensitive = name in data.sensitive
    return {
        "name": name,
        "kind": "number" if is_number else "category",
        "levels": levels,
        "shown": not sensitive,
        "sensitive": sensitive,
        "compare": name in data.compare_by,
    }


def _cuts(feature: dict[str, Any], rows: list[dict[str, Any]]) -> list[float] | None:
    """Quantiles of a number; of one that is nearly always the same, whether it is more than that."""
    if feature["kind"] == "category":
        return None
    values = np.array([row[feature["name"]] for row in rows])
    return quantile_cuts(values, CUTS).tolist() or [float(np.nextafter(values.min(), np.inf))]


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) and value else UNKNOWN


def _decided(engine: Engine, demo: DemoPeople, t: int, clock: ManualClock) -> tuple[list[int], Any]:
    """Open round ``t`` and say how it turned out; who was in it, and their probabilities."""
    chosen = [i % len(demo.people) for i in range(PEOPLE * (t - 1), PEOPLE * t)]
    asked = [demo.people[i] for i in chosen]
    done = engine.decide(demo.stream, asked, ASKING)
    clock.now += 40.0
    answers = zip(chosen, done["decisions"], strict=True)
    seen = [i for i, answer in answers if answer["decision"] and not answer["returning"]]
    if seen:
        engine.label(demo.stream, t, {demo.people[i]["id"]: demo.labels[i] for i in seen}, ASKING)
    clock.now += 40.0
    return chosen, np.array([decision["probability"] for decision in done["decisions"]])


def _audited(
    engine: Engine, demo: DemoPeople, t: int, chosen: list[int], probabilities: Any, auditor: MetricAuditor, rng: Any
) -> None:
    """Everybody answers what they are asked, until nothing is left to ask; each overlooks something now and then."""
    batch = Batch(demo.view[chosen], np.zeros(len(chosen)), demo.view[chosen])
    report = auditor.audit(batch, probabilities, Key(0, Role.AUDITOR, t))
    there = None if report is None else [demo.people[chosen[i]]["id"] for i in (report.favoured, report.disfavoured)]
    team = [*SIMULATED[t % 3 :], *SIMULATED[: t % 3]]
    while (who := _next(engine, demo.stream, t, team)) is not None:
        by, question = who
        sees, how = rng.random() < SEES, _look(rng)
        if question.pair is not None:
            ids = [demo.people[chosen[i]]["id"] for i in question.pair]
            engine.judge_pair(demo.stream, t, ids, there is not None and set(ids) == set(there), by, **how)
        elif rng.random() < SKIPS:
            engine.audit(demo.stream, t, "skip", by, **how)
        elif there is not None and sees:
            engine.audit(demo.stream, t, "pair", by, pair=there, reason="same qualifications", **how)
        else:
            engine.audit(demo.stream, t, "none", by, **how)


def _look(rng: Any) -> dict[str, Any]:
    """How long a simulated reviewer looks, about half a minute, and whether they ask why, one time in five."""
    return {"seconds": round(float(rng.lognormal(3.4, 0.4)), 1), "hints": bool(rng.random() < 0.2)}


def _marked(engine: Engine, stream: str, rounds: Iterable[int]) -> None:
    """Mark rounds that are over as known, as a lead would: as many with a violation as without."""
    for t in rounds:
        known = engine.streams.get(stream).current().known
        with suppress(Conflict):  # fewer than two judged it, or it is open
            record = engine.round(stream, t)
            violates = record["audit"] is not None and record["audit"]["verdict"] == "reported"
            alike = sum(bool(each.pairs) == violates for each in known.rounds)
            if alike < KNOWN // 2:
                use: Use = "practice" if alike < PRACTICE // 2 else "gold"
                engine.mark_known(stream, t, use, ASKING)


def _met_known_rounds(engine: Engine, stream: str, rng: Any) -> None:
    """Reviewers who are shown a known round answer it, and overlook something now and then."""
    for by in SIMULATED:
        claimed = engine.claim(stream, by, 1.0)
        look = None if claimed is None else engine.streams.get(stream).current().known.under(claimed["t"], by)
        if claimed is not None and look is None:
            engine.leases.release(stream, claimed["t"], by)
        if claimed is None or look is None:
            continue
        past = engine.gold_round(stream, look.number, by)
        sees = rng.random() < SEES
        pair = [str(past.ids[i]) for i in look.pairs[0]] if sees and look.pairs and past is not None else []
        engine.audit(stream, look.number, "pair" if pair else "none", by, pair=pair, **_look(rng))


def _next(engine: Engine, stream: str, t: int, team: list[str]) -> tuple[str, Question] | None:
    """Who is asked what about a round next; None if nothing is left to ask."""
    round_ = engine.streams.get(stream).current().rounds.get(t)
    if round_ is None or round_.verdict is not None:
        return None
    asked = ((by, round_.panel.asks(by)) for by in team)
    return next(((by, question) for by, question in asked if question is not None), None)
