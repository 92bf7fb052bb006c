"""What the pictures are drawn from, and that they say what they show: counts, limits, and every reported pair."""

from __future__ import annotations

import itertools
import json
import math
import re
import threading
from contextlib import closing

import numpy as np
import pytest
from loans import drawn, loans
from serving import running, strict_demo, until
from sqlalchemy import event, insert, select
from visitors import Browser

from likewise import datasets
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.jobs import runner as jobs
from likewise.service.log import tables
from likewise.service.pages import figures, overview, questions
from likewise.service.projections import bins as binned
from likewise.service.projections import history, pairs, summaries
from likewise.service.projections.follower import Follower
from likewise.service.projections.gathering import gathering
from likewise.service.projections.kept import Kept, forget, hash_of_rows, replace
from likewise.service.projections.sheets import BLANK, LEVELS, WIDTH, changed, hash_of, write
from likewise.service.refusals import AlteredRows, BrokenLog
from likewise.service.run import demo
from likewise.service.stream import status
from likewise.service.stream.settings import Settings

ON_SCORES = {
    "name": "loans",
    "features": [{"name": "score"}],
    "cuts": {"score": [i / 20 for i in range(1, 20)]},
    "alpha": 0.1,
    "review": {"ask_all": True},
    "k": 4,
    "waits": {"grace": 0},
}


class Play:
    """A stream that is played with an auditor who wants people with scores like each other treated alike.

    Every policy is kept, and what is kept of the stream is brought up to date after every round.
    """

    def __init__(self, engine, at_once=1, seed=0, **changes):
        self.engine, self.at_once = engine, at_once
        self.follower, self.rng = Follower(engine), np.random.default_rng(seed)
        self.policies, self.limits, self.t = {}, [], 0
        engine.create(Settings.from_dict(ON_SCORES | changes), "root")

    @property
    def state(self):
        return self.engine.streams.get("loans").current()

    def rounds(self, count):
        """Play so many rounds, several of them open at once if that was wanted."""
        for _ in range(0, count, self.at_once):
            opened = [self._open() for _ in range(self.at_once)]
            for t, asked, chances in opened:
                self._close(t, asked, chances)
                self.policies[self.state.totals.learned] = self.state.policy
                self.follower.follow("loans")
                self.limits.append((self.state.totals, status.violations_limit(self.state)))
        return self

    def _open(self):
        self.t += 1
        asked = [{"id": f"{self.t}-{i}", "features": {"score": float(x)}} for i, x in enumerate(self.rng.random(4))]
        done = self.engine.decide("loans", asked, "decider")
        return self.t, asked, np.array([one["probability"] for one in done["decisions"]])

    def _close(self, t, asked, chances):
        x = np.array([one["features"]["score"] for one in asked])
        y = (x + 0.3 * self.rng.normal(size=4) > 0.5).astype(int)
        self.engine.label("loans", t, {one["id"]: int(label) for one, label in zip(asked, y, strict=True)}, "decider")
        excess = chances[:, None] - chances - np.abs(x[:, None] - x) / 2 - 0.1
        a, b = np.unravel_index(excess.argmax(), excess.shape)
        if excess[a, b] > 0:
            self.engine.audit("loans", t, "pair", "ann", pair=[asked[a]["id"], asked[b]["id"]])
        else:
            self.engine.audit("loans", t, "none", "ann")

    def reports(self):
        """(number of the first policy that knew of it, favoured and disfavoured features) of every report learned."""
        found = {}
        for t in range(1, self.t + 1):
            whole = self.engine.round("loans", t)
            if whole["audit"] and whole["audit"]["verdict"] == "reported" and None not in whole["audit"]["pair"]:
                features = {one["id"]: one["features"] for one in whole["people"]}
                two = [features[name] for name in whole["audit"]["pair"]]
                found[t] = (whole["learned"]["version"], two, whole["audit"]["gap"])
        return found

    def gap(self, two, version):
        """How far apart two people are under the policy of some version."""
        model = self.state.stream
        chances = model.probabilities(self.policies[version], model.encode(two))
        return chances[0] - chances[1]

    def figures(self):
        """The pictures by name."""
        return {one.name: one for one in figures.figures(self.engine.store, "loans", self.state, self.bins())}

    def bins(self):
        """What the pictures are drawn from."""
        return summaries.bins(self.engine.store, "loans")


@pytest.fixture
def file_engine(start, tmp_path):
    """An engine on SQLite, for what is said about numbers that do not depend on the database."""
    return start(str(tmp_path / "log.db"))


# Did the report help? ----------------------------------------------------------------------------------------------


def test_every_reported_pair_is_held_against_later_policies_and_counted_once_at_each_age(engine):
    play = Play(engine).rounds(40)
    reports, last = play.reports(), play.state.totals.learned
    assert len(reports) == play.state.totals.reported > 5
    spreads = {one.age: one for one in pairs.spreads(engine.store, "loans")}
    for age in pairs.AGES[pairs.AGES <= 40].tolist():
        old = [(two, version, gap) for version, two, gap in reports.values() if last - version + 1 >= age]
        seen = [gap if age == 0 else play.gap(two, version + age - 1) for two, version, gap in old]
        assert spreads[age].pairs == len(old) if old else age not in spreads
        if old:
            wanted = np.quantile(seen, pairs.QUANTILES, method="inverted_cdf")
            assert np.abs(np.array(spreads[age].gaps) - wanted).max() <= 1 / pairs.BINS + 1e-9
    for t, path in pairs.paths(engine.store, "loans").items():
        version, two, gap = reports[t]
        assert path[0] == (0, gap)
        assert [age for age, _ in path] == [age for age in pairs.AGES if age <= last - version + 1]
        assert [gap for _, gap in path[1:]] == pytest.approx([play.gap(two, version + age - 1) for age, _ in path[1:]])


def test_all_pairs_under_the_policy_of_now_are_told_in_the_caption(file_engine):
    play = Play(file_engine).rounds(40)
    now = [(abs(play.gap(two, 40)), gap) for _, two, gap in play.reports().values()]
    closer, within = sum(a < b for a, b in now), sum(a <= 0.1 for a, _ in now)
    told = play.figures()["helped"].caption
    assert f"Each thin line is one of all {len(now)} reported pairs" in told
    assert f"Under the policy after 40 rounds, {closer} of {len(now)} {'is' if closer == 1 else 'are'} closer" in told
    assert f"and {within} {'is' if within == 1 else 'are'} within α" in told
    assert play.figures()["helped"].svg.count('class="faint"') == len(now)


def test_looking_rarely_or_from_a_new_process_counts_no_pair_twice(engine):
    play = Play(engine)
    play.follower.follow = lambda stream: 0  # nobody looks meanwhile
    play.rounds(30)
    for _ in range(2):
        Follower(engine).follow("loans")
    found = pairs.spreads(engine.store, "loans")
    reported = play.state.totals.reported
    assert found[0].pairs == reported
    assert sum(one.pairs for one in found[1:]) == reported
    assert len(summaries.sampled(engine.store, "loans")) == 1


def test_many_pairs_are_drawn_together_and_only_the_newest_are_kept_one_by_one(engine, monkeypatch):
    monkeypatch.setattr(pairs, "LINES", 4)
    monkeypatch.setattr(figures, "LINES", 4)
    monkeypatch.setattr(pairs, "AT_ONCE", 3)
    play = Play(engine).rounds(40)
    reported = play.state.totals.reported
    with engine.store.read() as connection:
        rounds = set(connection.scalars(select(tables.gaps.c.round)))
    assert rounds <= set(list(play.reports())[-5:])
    drawn = play.figures()["helped"]
    assert f"All {reported} reported pairs together" in drawn.caption
    assert 'class="half"' in drawn.svg
    assert 'class="most"' in drawn.svg
    assert 'class="faint"' not in drawn.svg


def test_people_who_are_not_those_of_the_log_are_in_no_picture(file_engine):
    """Neither changed, nor gone without an event that says so."""
    play = Play(file_engine).rounds(40)
    reads, store = file_engine.reads, file_engine.store
    settings = play.state.stream.settings
    assert len(gathering(reads, store, "loans", settings).differ) > 0
    assert pairs.Pairs(store, reads, "loans").read_on(play.state)
    for statement in ("UPDATE asides SET content = replace(content, '0.', '1.')", "DELETE FROM asides"):
        store.write(lambda connection, statement=statement: connection.exec_driver_sql(statement) and None)
        for look in (lambda: gathering(reads, store, "loans", settings),
                     lambda: pairs.Pairs(store, reads, "loans").read_on(play.state)):  # fmt: skip
            with pytest.raises(BrokenLog):
                look()


def test_a_pair_with_somebody_who_was_erased_is_left_out_and_that_is_said(engine):
    play = Play(engine).rounds(30)
    t = next(iter(play.reports()))
    before = len(play.reports())
    engine.erase("loans", engine.round("loans", t)["audit"]["pair"][0], "root")
    play.rounds(10)
    last = summaries.sampled(engine.store, "loans")[-1]
    assert last.pairs == len(play.reports()) < pairs.spreads(engine.store, "loans")[0].pairs
    assert "1 pair can't be followed any more, because somebody was erased." in play.figures()["helped"].caption
    assert len(play.reports()) >= before - 1


# Limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"penalty": "growing"},
        {"penalty": "growing", "costs": [1.0, 3.0]},
        {"learner": "hedge", "penalty": 20.0},
        {"penalty": "growing", "hypotheses": "cells"},
    ],
)
@pytest.mark.parametrize("at_once", [1, 4])
def test_violations_stay_under_the_limit_that_follows_from_the_regret(file_engine, at_once, changes):
    play = Play(file_engine, at_once, **changes).rounds(48)
    assert (play.state.totals.delay_max > 0) == (at_once > 1)
    for totals, limit in play.limits:
        assert totals.reported <= limit + 1e-9
    constant = _best_constant(play)
    state = play.state
    said = status.regret(state)
    regret = said["observed"] if said["proved"] is None else said["proved"]
    weight = 0.1 * state.totals.penalties / state.totals.reported
    assert play.limits[-1][1] == pytest.approx((regret + constant - state.totals.errors) / weight)


def _best_constant(play):
    """The errors of always saying 0, or always 1, by counting labels."""
    labels = [p["label"] for t in range(1, play.t + 1) for p in play.engine.round("loans", t)["people"]]
    false_positive, false_negative = play.state.stream.settings.costs
    return min(false_negative * labels.count(1), false_positive * labels.count(0))


def test_without_delay_the_promise_is_drawn_above_what_was_reported(file_engine):
    play = Play(file_engine, penalty="growing").rounds(60)
    drawn = play.figures()
    assert "promised limit" in drawn["violations"].svg
    assert "the most that the learner's theorem allows" in drawn["violations"].caption
    assert 'class="limit"' in drawn["violations"].svg
    assert "void" not in drawn["violations"].caption + drawn["regret"].caption
    assert "proved limit" in drawn["regret"].svg
    assert "promised" in drawn["regret"].svg or "promised before the first round" in drawn["regret"].caption
    promised = play.state.stream.learner.bound(0.1, T=60)
    assert f"{promised.violations:,.0f} by now" in drawn["violations"].caption
    assert heights(drawn["violations"].svg, "bound")[-1] < heights(drawn["violations"].svg, "main")[-1]  # y grows down


def test_with_delay_the_promise_is_void_and_the_observed_regret_stands_in_its_place(file_engine):
    play = Play(file_engine, at_once=4, penalty="growing").rounds(60)
    drawn, letter = play.figures(), file_engine.certificate("loans")["letter"]
    assert "promised" not in drawn["violations"].svg + drawn["regret"].svg
    assert (
        "the limit that the learner promises does not hold, and is not drawn. The dashed line is drawn instead"
        in drawn["violations"].caption
    )
    assert "Look at the observed regret instead, under the dashed limit" in drawn["regret"].caption
    assert "proved limit" in drawn["regret"].svg
    assert heights(drawn["violations"].svg, "limit")[-1] < heights(drawn["violations"].svg, "main")[-1]
    assert heights(drawn["regret"].svg, "limit")[-1] < heights(drawn["regret"].svg, "main")[-1]
    said = " ".join(overview.in_words(play.state, play.bins()))
    for text in (said, " ".join(letter.split())):
        assert "does not hold here. Look at the observed regret instead" in text


@pytest.mark.parametrize("at_once", [1, 4])
def test_of_a_learner_that_keeps_reports_the_limit_of_its_errors_is_drawn_and_said(file_engine, at_once):
    """Under delay too: only what was promised falls."""
    play = Play(file_engine, at_once=at_once).rounds(60)
    drawn, letter = play.figures(), " ".join(file_engine.certificate("loans")["letter"].split())
    assert play.state.totals.reported > 0
    regret = drawn["regret"]
    assert regret.title == "Errors above those of fair policies, at most"
    assert "within its distance plus 0.05 would have saved more errors than this" in regret.caption
    assert "if the reports are true" in regret.caption
    assert ("which voids what the learner promises, but not this limit" in regret.caption) == (at_once > 1)
    sampled = summaries.sampled(file_engine.store, "loans")
    assert len(heights(regret.svg, "main")) == len(sampled)
    assert [row.regret for row in sampled] == [None] * len(sampled)
    said = overview.in_words(play.state, play.bins())[1]
    proved = status.regret(play.state)["proved"]
    most = f"would have saved more than {math.ceil(proved)} errors." if proved > 0 else "errors."
    assert said.startswith(("No fixed mixture of its rules", "Every fixed mixture of its rules"))
    assert most in said
    assert "Lagrangian" not in " ".join(overview.in_words(play.state, play.bins())) + letter.split("Appendix")[0]
    assert ("Look at the limit that is proved from what happened instead." in letter) == (at_once > 1)
    assert ("promised limit" in drawn["violations"].svg) == (at_once == 1)
    assert ("60 by now, one in every round, so it says nothing yet." in drawn["violations"].caption) == (at_once == 1)
    assert 'class="limit"' not in drawn["violations"].svg


def test_with_delay_and_a_learner_whose_limits_all_fall_only_the_observed_regret_is_drawn(file_engine):
    drawn = Play(file_engine, at_once=4, learner="hedge", penalty=20.0).rounds(60).figures()
    assert 'class="limit"' not in drawn["regret"].svg
    assert drawn["regret"].caption.count("Look at the observed regret instead.") == 1
    assert "limit by regret" not in drawn["violations"].svg  # it would flatten the curve, whose slope is to be read
    told = "Too high for this picture is the most that the observed regret and the errors leave room for"
    assert told in drawn["violations"].caption


def heights(svg, kind):
    """Where the points of a curve are, from the top."""
    path = re.search(rf'class="{kind}" d="([^"]*)"', svg)[1]
    return [float(y) for _, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]


@pytest.mark.parametrize("costs", [[1.0, 1.0], [1.0, 3.0]])
def test_the_policies_and_one_answer_for_all_are_compared_on_the_same_people_by_the_same_costs(file_engine, costs):
    play = Play(file_engine, costs=costs).rounds(12)
    people = [person for t in range(1, 13) for person in file_engine.round("loans", t)["people"]]
    p, y = (np.array([person[name] for person in people], dtype=float) for name in ("probability", "label"))
    board = questions.cost(play.state, play.bins())
    assert board.people == len(people)
    assert board.error / 100 == pytest.approx(np.mean(costs[0] * (1 - y) * p + costs[1] * y * (1 - p)))
    assert board.constant / 100 == pytest.approx(min(costs[1] * y.mean(), costs[0] * (1 - y).mean()))
    assert board.by_lot == pytest.approx(np.mean(2 * p * (1 - p)))
    assert board.behind == (board.constant < board.error)


def test_nothing_is_compared_before_the_first_label_was_learned(file_engine):
    play = Play(file_engine)
    assert questions.cost(play.state, play.bins()) is None


def test_what_is_said_of_reviews_counts_the_rounds_that_the_tiles_count(engine):
    play = Play(engine).rounds(6)
    engine.decide("loans", [{"id": "new", "features": {"score": 0.5}}], "decider")  # nobody has looked at it yet
    play.follower.follow("loans")
    reviewed = sum(one.reviewed for one in play.bins())
    assert f"A reviewer looked at {reviewed} of 7 rounds " in overview.in_words(play.state, play.bins())[0]


def test_one_round_is_not_told_as_many_and_has_no_halves(file_engine):
    drawn = Play(file_engine).rounds(1).figures()
    assert "in the newest round." in drawn["ranked"].caption
    assert not re.search(r'text-anchor="middle">\d+\.\d', drawn["ranked"].svg + drawn["coverage"].svg)


# What happened before anybody looked -------------------------------------------------------------------------------


def kept(engine):
    """Everything that the pictures of a stream know beside the rounds themselves."""
    sampled = [row._asdict() for row in summaries.sampled(engine.store, "loans")]
    return pairs.spreads(engine.store, "loans"), pairs.paths(engine.store, "loans"), sampled


@pytest.mark.parametrize("at_once", [1, 4])
def test_running_the_learner_again_tells_what_looking_all_along_would_have_seen(start, tmp_path, at_once):
    all_along = Play(start(str(tmp_path / "one.db")), at_once).rounds(36)
    never = Play(start(str(tmp_path / "other.db")), at_once)
    never.follower.follow = lambda stream: 0
    never.rounds(36)
    Follower(never.engine).follow("loans")
    assert history.first_look(never.engine.store, "loans") == 36
    shares = []
    assert history.fill_in(never.engine, "loans", shares.append) == 35
    assert shares[-1] == pytest.approx(35 / 36)
    seen, wanted = kept(never.engine), kept(all_along.engine)
    assert [one[:2] for one in seen[0]] == [one[:2] for one in wanted[0]]
    assert seen[0][0] == wanted[0][0]
    assert [row["learned"] for row in seen[2]] == [row["learned"] for row in wanted[2]]
    for a, b in zip(seen[2], wanted[2], strict=True):
        assert a == pytest.approx(b)
    for t, path in seen[1].items():
        # The last look was the first one, at whatever age; those before it are those of who looked all along.
        assert np.array(path[:-1]) == pytest.approx(np.array(wanted[1][t][: len(path) - 1]))
    assert max(len(path) for path in seen[1].values()) > 5
    before = kept(never.engine)
    history.fill_in(never.engine, "loans", shares.append)  # once is enough
    assert kept(never.engine) == before


def test_where_people_were_erased_the_past_is_told_as_far_as_it_can_be(engine):
    play = Play(engine)
    play.follower.follow = lambda stream: 0
    play.rounds(20)
    engine.erase("loans", engine.round("loans", next(iter(play.reports())))["audit"]["pair"][0], "root")
    play.rounds(20)
    Follower(engine).follow("loans")
    assert history.fill_in(engine, "loans", lambda share: None) == 39
    last = summaries.sampled(engine.store, "loans")
    assert 20 < len(last) < 40
    assert last[-1].learned == 40


@pytest.fixture
def only_pages_look(monkeypatch):
    """The clock of a service reads nothing on."""
    monkeypatch.setattr(Follower, "__call__", lambda follower: None)


def test_the_overview_of_a_restored_log_fills_its_pictures_by_itself(tmp_path, only_pages_look):
    with running(database=str(tmp_path / "log.db")) as service:
        play = Play(service.engine)
        play.follower.follow = lambda stream: 0
        play.rounds(30)
        cookie = service.app.state.service.sessions.login(service.tokens["viewer"])
        with closing(Browser(service, cookie)) as viewer:
            until(lambda: "data-busy" not in viewer.get("/streams/loans").text)
            assert "Drawn from 30 moments" in viewer.get("/streams/loans").text


# Somebody changes what is kept -------------------------------------------------------------------------------------

EDITS = {
    "a verdict": "UPDATE summaries SET verdict = 'cleared', gap = NULL WHERE verdict = 'reported'",
    "a probability": "UPDATE summaries SET probabilities = replace(probabilities, '0.', '1.') WHERE round > 20",
    "how many events a round has": "UPDATE summaries SET events = events - 1",
    "a round gone": "DELETE FROM summaries WHERE round = 29",
    "all rounds and their hashes": "DELETE FROM summaries; DELETE FROM sheets",
    "a hash": "UPDATE sheets SET content = replace(content, 'a', 'b') WHERE level = 0",
    "a bin": "UPDATE followed SET content = replace(content, '[1, 1', '[1, 2')",
    "how far it was read": "UPDATE followed SET seq = seq + 1",
    "all that is sealed": "DELETE FROM followed",
    "a sample": "UPDATE samples SET proved = 0.0",
    "a sample gone": "DELETE FROM samples WHERE learned = 7",
    "a gap": "UPDATE gaps SET gap = 0.0",
    "a count of pairs": "UPDATE helped SET pairs = pairs + 1",
}


@pytest.mark.parametrize("kind", EDITS)
def test_a_picture_that_somebody_changed_is_drawn_again_from_the_log(file_engine, kind, caplog):
    """An insider who has the database but not the key changes no picture, and it is said in the service's log."""
    play = Play(file_engine).rounds(30)
    store, settings = file_engine.store, play.state.stream.settings

    def look():
        history.fill_in(file_engine, "loans", lambda share: None)
        rows = [row._asdict() for row in summaries.newest(store, "loans")]
        recent = summaries.recent_violations(store, "loans", settings.alpha)
        return rows, recent, gathering(file_engine.reads, store, "loans", settings), play.figures()

    honest = look()
    assert play.follower.checked("loans", look) == honest
    assert caplog.text == ""
    for statement in EDITS[kind].split("; "):
        store.write(lambda connection, statement=statement: connection.exec_driver_sql(statement) and None)
    shown = play.follower.checked("loans", look)
    assert "are not those that this service wrote" in caplog.text
    assert shown[:3] == honest[:3]
    same = [name for name in honest[3] if name != "helped"]  # its last look was at another age
    assert [shown[3][name].svg for name in same] == [honest[3][name].svg for name in same]


def test_rows_of_an_earlier_moment_are_not_taken_for_those_of_now(file_engine):
    """Whoever puts some rows back is noticed; whoever puts back all only makes the service read on from there."""
    play = Play(file_engine).rounds(12)
    store, every = file_engine.store, (tables.summaries, tables.sheets, tables.followed)
    t, asked, chances = play._open()
    play.follower.follow("loans")
    with store.read() as connection:
        old = {table: [row._asdict() for row in connection.execute(select(table))] for table in every}
    play._close(t, asked, chances)
    summaries.read_on(file_engine, "loans")
    honest = [row._asdict() for row in summaries.newest(store, "loans")]

    def put_back(*some):
        def write(connection):
            for table in some:
                connection.execute(table.delete())
                connection.execute(insert(table), old[table])

        store.write(write)

    put_back(*every)
    assert summaries.newest(store, "loans")[-1].status == "open"
    summaries.read_on(file_engine, "loans")
    assert [row._asdict() for row in summaries.newest(store, "loans")] == honest
    for some in ([tables.summaries], [tables.summaries, tables.sheets], [tables.followed]):
        put_back(*some)
        with pytest.raises(AlteredRows):
            summaries.newest(store, "loans")
        Follower(file_engine).checked("loans", lambda: summaries.newest(store, "loans"))
        assert [row._asdict() for row in summaries.newest(store, "loans")] == honest


# Catching up -------------------------------------------------------------------------------------------------------


def test_a_log_that_was_never_read_is_caught_up_with_a_little_at_a_time_and_pages_say_so(
    tmp_path, monkeypatch, only_pages_look
):
    monkeypatch.setattr(summaries, "PAGE", 20)
    monkeypatch.setattr(overview, "PATIENCE", 1e-6)
    monkeypatch.setattr(jobs, "AT_ONCE", 60.0)  # once it has caught up, the page waits for the past to be told, too
    with running(database=str(tmp_path / "log.db")) as service:
        play = Play(service.engine)
        play.follower.follow = lambda stream: 0
        play.rounds(30)
        sessions = service.app.state.service.sessions
        with closing(Browser(service, sessions.login(service.tokens["viewer"]))) as viewer:
            told = []
            assert "catching up" in viewer.get("/streams/loans/rounds").text
            while "catching up with the log" in (text := viewer.get("/streams/loans").text):
                told.append(int(re.search(r"all but ([\d,]+) events?", text)[1].replace(",", "")))
                assert "progress.js" in text
            assert len(told) > 2
            assert told == sorted(set(told), reverse=True)
            assert "progress.js" not in text
            assert text.count('<svg class="figure"') == 9


def test_the_clock_reads_on_for_a_moment_only_and_finishes_in_the_end(engine, monkeypatch):
    monkeypatch.setattr(summaries, "PAGE", 20)
    play = Play(engine)
    follower, play.follower.follow = Follower(engine), lambda stream: 0
    play.rounds(20)
    left = follower.follow("loans", seconds=0.0)
    assert 0 < left <= engine.store.head("loans")[0] - 20
    until(lambda: follower() or summaries.behind(engine.store, "loans") == 0)
    assert sum(one.rounds for one in summaries.bins(engine.store, "loans")) == 20


# Pictures ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def past(tmp_path_factory):
    """A small demo: forty rounds that are over, five that wait."""
    with running(database=str(tmp_path_factory.mktemp("demo") / "log.db")) as service:
        service.service.each_tick.clear()  # tests look when they want to, and nobody looks meanwhile
        made = lambda clock: Engine(service.service.store, service.engine.signer, None, clock)  # noqa: E731
        with strict_demo():
            service.stream = demo.fill(made, rounds=40, waiting=5, data=datasets.synthetic(2000))
        Follower(service.engine).follow(service.stream)
        service.opened = service.engine.stream(service.stream)["rounds"]
        yield service


def test_the_demo_has_a_past_and_rounds_that_wait(past):
    found = past.engine.stream(past.stream)
    assert found["rounds"] >= 45
    assert (found["learned"], found["outstanding"]) == (found["rounds"] - 5, 5)
    assert found["audits"]["reported"] > 0
    assert found["reviews"]["agreement"]["judged_twice"] > 10
    assert found["reviews"]["at_most"] < found["rounds"]
    features = {one["name"]: one for one in found["settings"]["features"]}
    assert features["group"]["sensitive"]
    assert features["skill"]["compare"]
    brief = past.engine.brief(past.stream)["brief"]
    assert "skill and effort" in brief["alike"], "a newcomer is told what counts"
    assert "skill and effort" in brief["pairs"]
    shown = past.engine.claim(past.stream, "somebody")["t"]
    known = past.engine.streams.get(past.stream).current().known
    assert shown >= 41 or known.under(shown, "somebody") is not None
    assert {round_.use for round_ in known.rounds} == {"gold", "practice"}


def test_bins_add_up_to_what_the_log_says(past, monkeypatch):
    store, state = past.service.store, past.engine.streams.get(past.stream).current()
    monkeypatch.setattr(summaries, "PAGE", 50)
    for count in (1, 7, past.opened):
        monkeypatch.setattr(binned, "BINS", count)
        forget(store, past.stream)
        Follower(past.engine).follow(past.stream)
        bins = summaries.bins(store, past.stream)
        assert count / 2 <= len(bins) <= count
        assert sum(one.rounds for one in bins) == past.opened
        assert sum(one.reports for one in bins) == state.totals.reported
        assert sum(one.reviewed for one in bins) == state.totals.reported + state.totals.cleared
        assert sum(one.people for one in bins) == state.totals.people
        assert sum(one.labelled for one in bins) == state.totals.people - state.totals.refused
        assert max(one.delay_max for one in bins if one.delay_max is not None) == state.totals.delay_max
    rounds = [past.engine.round(past.stream, t) for t in range(1, past.opened + 1)]
    learned = [one for one in rounds if one["status"] == "learned"]
    accepted = [p for one in learned for p in one["people"] if p["label"] is not None]
    wrong = sum(abs(p["label"] - p["probability"]) / p["probability"] for p in accepted)
    assert sum(one.error for one in bins) == pytest.approx(wrong)


def test_summaries_are_the_same_read_at_once_or_bit_by_bit(past):
    store = past.service.store
    before = summaries.newest(store, past.stream, 100)
    forget(store, past.stream)
    Follower(past.engine).follow(past.stream)
    assert summaries.newest(store, past.stream, 100) == before


def test_samples_hold_the_regret_that_stands(past):
    last = summaries.sampled(past.service.store, past.stream)[-1]
    found = past.engine.stream(past.stream)["regret"]
    assert last.learned == past.opened - 5
    assert (last.regret, found["observed"]) == (None, None)
    assert last.proved == pytest.approx(found["proved"])


def test_a_retracted_report_leaves_the_summaries(past):
    store, engine = past.service.store, past.engine
    engine.audit(past.stream, past.opened, "none", "ann")
    Follower(engine).follow(past.stream)
    assert summaries.newest(store, past.stream, 1)[0].verdict == "cleared"
    engine.retract(past.stream, past.opened, "ann")
    Follower(engine).follow(past.stream)
    assert summaries.newest(store, past.stream, 1)[0].verdict is None


def test_the_overview_tells_counts_and_draws_nine_pictures_with_captions(past):
    sessions = past.app.state.service.sessions
    cookie = sessions.login(past.tokens["viewer"])
    with closing(Browser(past, cookie)) as viewer:
        text = viewer.get(f"/streams/{past.stream}").text
    assert text.count('<svg class="figure"') == 9
    assert text.count("<figcaption>") == 9
    assert "There is nothing to draw yet" not in text
    state = past.engine.streams.get(past.stream).current()
    assert f"{state.totals.reported + state.totals.cleared:,} of {past.opened} rounds were reviewed" in text
    assert f"{state.totals.refused:,} of {demo.PEOPLE * (past.opened - 5)} people were refused" in text
    assert "Outcome unknown" in text
    assert "cost of errors per 100 people, estimated" in text


def test_a_lead_s_questions_come_in_order_before_theory_and_are_answered_in_words_first(past):
    with closing(Browser(past, past.app.state.service.sessions.login(past.tokens["viewer"]))) as viewer:
        text = viewer.get(f"/streams/{past.stream}").text
    asked = re.findall(r"<h2[^>]*>([^<]*)</h2>", text)
    wanted = ["Are we fair?", "Do reports help?", "What does it cost?", "Who looked?", "Where do reports gather?"]
    assert asked[:5] == wanted
    assert asked[5:7] == ["The newest rounds, and theory", "What is proved"]
    for question in re.split(r"<h2", text)[1:4]:
        assert question.index('class="answer"') < question.index("<figure")
    assert re.search(r"Reviewers reported a pair in \d+ of \d+ reviewed rounds: [\d.]+ per 100 \(95 %:", text)
    assert re.search(r"\d+ of \d+ reported pairs? (is|are) within α = 0.1 today\.", text)
    assert re.search(r"The policies cost less|one answer for everybody would have cost less", text)


def test_what_is_said_of_reported_pairs_is_how_they_stand_under_the_current_policy(engine):
    play = Play(engine).rounds(40)
    follower = Follower(engine)
    follower.follow("loans")
    standing, policy = follower.standing("loans"), play.state.policy
    gaps = []
    for t in range(1, 41):
        record = engine.round("loans", t)
        if record["audit"]["pair"]:
            features = {person["id"]: person["features"] for person in record["people"]}
            rows = play.state.stream.encode([features[id] for id in record["audit"]["pair"]])
            ahead, behind = play.state.stream.probabilities(policy, rows)
            gaps.append((ahead - behind, record["audit"]["gap"]))
    assert standing.pairs == len(gaps) > 5
    assert standing.within == sum(abs(now) <= 0.1 for now, _ in gaps)
    assert standing.closer == sum(0.1 < now < then for now, then in gaps)
    assert standing.flipped == sum(now < -0.1 for now, _ in gaps)
    assert sum(standing[1:]) == standing.pairs


def test_no_figure_about_a_slope_has_a_logarithmic_axis(past):
    engine = past.engine
    state = engine.streams.get(past.stream).current()
    bins = summaries.bins(engine.store, past.stream)
    for figure in figures.figures(engine.store, past.stream, state, bins):
        if "slope" in figure.caption or "more and more slowly" in figure.caption:
            marks = re.findall(r'<text x="60.0" y="([\d.]+)" text-anchor="end">([\d.,k-]+)', figure.svg)
            places = [(float(y), float(value.replace("k", "e3"))) for y, value in marks]
            slopes = [(a[0] - b[0]) / (a[1] - b[1]) for a, b in itertools.pairwise(places)]
            assert slopes == pytest.approx([slopes[0]] * len(slopes), rel=0.01), figure.name


def many(store, rounds, people=8):
    """A summary of very many rounds, as the log of a large stream would leave it."""
    probabilities = json.dumps([round(i / people, 6) for i in range(people)])
    plain = {
        "stream": "big", "opened_at": 0.0, "people": people,
        "probabilities": probabilities, "labels": json.dumps([1] * people),
        "status": "learned", "labelled": people, "by_lot": 2.0, "error": 2.0, "delay": 3, "waited": 60.0,
        "favoured": people - 1, "disfavoured": 0,
    }  # fmt: skip
    rows = [
        plain
        | {
            "round": t,
            "learned": t,
            "verdict": "reported" if t % 5 == 0 else "cleared",
            "gap": 0.8 if t % 5 == 0 else None,
        }
        for t in range(1, rounds + 1)
    ]
    samples = [
        {
            "stream": "big",
            "learned": t,
            "regret": t**0.5,
            "proved": 2 * t**0.5,
            "promised": None,
            "violations": 3e4,
            "pairs": t // 5,
            "closer": t // 5,
            "within": t // 6,
        }
        for t in range(1, rounds, rounds // 900)
    ]
    helped = [
        {"stream": "big", "age": age, "bin": bin, "pairs": 200}
        for age in pairs.AGES[: np.searchsorted(pairs.AGES, rounds)].tolist()
        for bin in range(60, 160)
    ]

    for row in rows:
        row |= {"events": 4, "seq": 4 * row["round"]}
    blank = {(level, number): BLANK for level in range(LEVELS) for number in range(rounds // WIDTH ** (level + 1) + 1)}
    sheets, root = changed(blank, {row["round"]: hash_of(tables.summaries, [row]) for row in rows})
    width, sums = binned.added(1, (), (), rows, 0.1)
    hashes = {"samples": hash_of_rows(tables.samples, samples), "helped": hash_of_rows(tables.helped, helped)}
    kept = Kept(seq=4 * rounds, root=root, width=width, bins=sums, reported=list(range(5, rounds + 1, 5))[-200:])

    def fill(connection):
        for table, values in ((tables.summaries, rows), (tables.samples, samples), (tables.helped, helped)):
            connection.execute(insert(table), values)
        write(connection, "big", sheets)
        replace(connection, store, "big", Kept(), kept._replace(**hashes))

    store.write(fill)


def test_a_hundred_thousand_rounds_need_few_queries_and_light_pictures(past):
    store = past.service.store
    many(store, 100_000)
    state = past.engine.streams.get(past.stream).current()
    queries = []
    here = threading.get_ident()

    def asked(connection, cursor, statement, *rest):
        if threading.get_ident() == here and statement != "BEGIN":  # the service's clock asks for things, too
            queries.append(statement)

    event.listen(store._readers, "before_cursor_execute", asked)
    bins = summaries.bins(store, "big")
    drawn = figures.figures(store, "big", state, bins)
    assert sum(one.violations for one in bins) == 20_000
    assert binned.BINS / 2 <= len(bins) <= binned.BINS
    assert len(queries) <= 8
    for figure in drawn:
        assert 500 < len(figure.svg.encode()) <= 200_000, figure.name


def test_the_demo_command_fills_once_and_hands_out_links_that_work_once(tmp_path):
    configuration = Configuration(database=str(tmp_path / "demo.db"))
    told = []
    small = {"rounds": 4, "waiting": 2, "data": datasets.synthetic(500), "before": lambda: told.append("filling")}
    first, again = demo.prepare(configuration, **small), demo.prepare(configuration, **small)
    assert told == ["filling"]
    with running(database=configuration.database) as service:
        assert service.engine.streams.names() == ["synthetic"]
        for links in (first, again):
            assert [service.app.state.service.sessions.known(code) for code in links] == ["reviewer", "administrator"]
        names = [one["name"] for one in service.service.tokens.list()]
        assert [names.count(part) for part in demo.NEWCOMERS] == [1, 1]
        with closing(Browser(service)) as browser:
            browser.post("/login", code=first.reviewer)
            assert browser.get("/").headers["location"] == "/streams/synthetic/review"


def test_what_was_followed_before_the_service_was_started_again_is_left_alone(engine, monkeypatch):
    """A thousand streams about which nothing is new must not be read through once more."""
    for name in ("loans", "jobs"):
        engine.create(loans(name=name), "root")
    Follower(engine)()
    engine.decide("jobs", drawn(np.random.default_rng(0)), "decider")
    follower, followed = Follower(engine), []
    follow = follower.follow
    monkeypatch.setattr(follower, "follow", lambda stream, *rest: followed.append(stream) or follow(stream, *rest))
    follower()
    follower()
    assert followed == ["jobs"]
    assert summaries.behind(engine.store, "jobs") == 0


def test_the_books_of_a_stream_are_kept_by_whoever_writes_to_it_and_by_others_once_nobody_does(
    database, start, clock, monkeypatch
):
    """If all processes kept them, each would do the work of all."""
    writes, reads = start(database), start(database)
    followers, kept = {engine: Follower(engine) for engine in (writes, reads)}, []
    monkeypatch.setattr(Follower, "follow", lambda self, stream, seconds: kept.append(stream) or 1)

    def keeps(engine, seconds=1.0):
        clock.forward(seconds)
        engine.tick()
        kept.clear()
        followers[engine]()
        return kept == ["loans"]

    def decide(engine):
        engine.decide("loans", drawn(np.random.default_rng(0), 1), "d")

    writes.create(loans(), "root")
    assert keeps(reads), "it has just read it"
    decide(writes)
    assert keeps(reads), "it has never seen anybody write"
    for t in range(2, 5):
        decide(writes)
        assert keeps(writes)
        assert not keeps(reads), "the other one writes"
        assert reads.streams.get("loans").durable.state.opened == t, "and this one reads along"
    assert keeps(reads), "nobody writes"
    decide(writes)
    assert keeps(reads, 31.0), "in case the other one doesn't"
    decide(writes)
    decide(reads)
    assert keeps(writes), "both write"
    assert keeps(reads), "both write"
