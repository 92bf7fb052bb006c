"""Lots, the record, and the rounds they make: exact probabilities, nobody else's draws, and who is left out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kstest

import likewise as lw
from games import EveryPair, Town
from likewise.errors import InvalidParameter, ReportRefused
from likewise.game.lots import BLOCK, Lots, Record
from likewise.game.rounds import World, world_of
from likewise.protocol import SKIPPED, Estimate
from lottery import fixed_lots

TOWN = Town(k=4)
F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
AUDITORS = {
    "probabilities": lw.MetricAuditor(TOWN.near, 0.12),
    "relation": lw.DecisionAuditor(TOWN.near, 0.08, theta=0.04),
    "graded": lw.DecisionAuditor(TOWN.near, 0.12, choose="random"),
}
ARRAYS = ("rows", "y", "shown", "starts", "report_rounds", "pairs", "violates", "reviewed", "penalties")
DRAWN = ("decisions", "unseen", "estimates", "turned_down", "violating", "stated", "compared", "weight", "person")


def same(first, second, names=(*ARRAYS, *DRAWN)):
    for name in names:
        a, b = getattr(first, name), getattr(second, name)
        assert (a is None) == (b is None), name
        if a is not None:
            np.testing.assert_array_equal(a, b, err_msg=name)
    for name, part in first.state._asdict().items():
        np.testing.assert_array_equal(part, getattr(second.state, name), err_msg=name)


def one_sided(T=60, **more):
    return lw.OneSided(lw.AdaHedge(F, T=T, k=4, alpha=0.12), **more)


# Lots --------------------------------------------------------------------------------------------------------


def test_one_lot_decides_two_people_differently_as_often_as_their_gap_and_equal_people_never():
    p, rounds = np.array([0.9, 0.65, 0.65, 0.2, 0.0, 1.0]), 40_000
    yes = Lots(5, "round").many(1, rounds, len(p)) < p
    assert (yes[:, 1] == yes[:, 2]).all()
    assert not yes[:, 4].any()
    assert yes[:, 5].all()
    for i, j in itertools.permutations(range(len(p)), 2):
        gap = max(0.0, p[i] - p[j])
        assert abs((yes[:, i] & ~yes[:, j]).mean() - gap) <= 5 * np.sqrt(gap * (1 - gap) / rounds)


def test_own_lots_decide_two_people_differently_more_often_by_the_product():
    p, rounds = np.array([0.9, 0.65, 0.65, 0.2]), 20_000
    yes = Lots(5, "person").many(1, rounds, len(p)) < p
    for i, j in itertools.permutations(range(len(p)), 2):
        expected = p[i] - p[j] + p[j] * (1 - p[i])
        assert abs((yes[:, i] & ~yes[:, j]).mean() - expected) <= 5 * np.sqrt(expected * (1 - expected) / rounds)


@pytest.mark.parametrize("kind", ["round", "person"])
def test_lots_are_uniform_and_any_round_can_be_drawn_alone_and_in_any_order(kind):
    lots = Lots(8, kind).many(1, 3 * BLOCK, 2)
    assert kstest(lots[:, 0], "uniform").pvalue > 1e-3
    assert ((lots >= 0) & (lots < 1)).all()
    assert abs(np.corrcoef(lots[1:, 0], lots[:-1, 0])[0, 1]) < 5 / np.sqrt(len(lots))
    backwards = Lots(8, kind)
    for t in (3 * BLOCK, BLOCK + 1, BLOCK, 1, 2 * BLOCK + 1):
        np.testing.assert_array_equal(backwards.of(t, 2), lots[t - 1])
        np.testing.assert_array_equal(Lots(8, kind).of(t, 5)[:2], lots[t - 1])
    assert not np.array_equal(Lots(9, kind).many(1, 5, 2), lots[:5])


def test_a_lot_is_one_of_two():
    with pytest.raises(InvalidParameter, match=r"`lot` must be one of \('round', 'person'\), got 'day'"):
        Lots(0, "day")


LEARNERS = {
    "default": lambda: lw.AdaHedge(F, T=60, k=4, alpha=0.12),
    "growing": lambda: lw.AdaHedge(F, T=60, k=4, alpha=0.12, penalty="growing"),
    "FTPL": lambda: lw.ContextFTPL(F, T=60, k=4, alpha=0.12, draws=10),
}


@pytest.mark.parametrize("lot", ["round", "person"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_lots_change_no_draw_of_anybody_else(learner, lot):
    for auditor in (
        AUDITORS["probabilities"],
        lw.NoisyAuditor(AUDITORS["probabilities"], misses=0.3, false_reports=0.2),
        EveryPair(TOWN.near, 0.12, lies=0.2),
    ):
        without = lw.play(LEARNERS[learner](), TOWN.iid(), auditor, seed=4)
        drawn = lw.play(LEARNERS[learner](), TOWN.iid(), auditor, seed=4, lot=lot)
        same(without, drawn, ARRAYS)
        assert without.decisions is None
        lots = Lots(4, lot).many(1, 60, 4).ravel()
        np.testing.assert_array_equal(drawn.decisions, lots < drawn.shown)
        assert drawn.unseen is None
        assert drawn.compared is None


# Labels of accepted people -----------------------------------------------------------------------------------


def test_the_labels_of_refused_people_stay_hidden_from_the_learner_and_in_the_transcript_for_judging():
    seen = []

    class Curious(lw.AdaHedge):
        def update(self, state, round):
            seen.append(round)
            return super().update(state, round)

    t = lw.play(Curious(F, T=60, k=4, alpha=0.12), TOWN.iid(), AUDITORS["probabilities"], labels="accepted", seed=2)
    assert not np.isnan(t.y).any()
    np.testing.assert_array_equal(t.unseen, ~t.decisions)
    assert 0 < t.unseen.sum() < len(t.y)
    for i, round_ in enumerate(seen):
        hidden = t.unseen[t.starts[i] : t.starts[i + 1]]
        for learned in (round_, t.round(i)):
            np.testing.assert_array_equal(np.isnan(learned.batch.y), hidden)
            np.testing.assert_array_equal(learned.unseen, hidden)
    full = lw.play(lw.AdaHedge(F, T=60, k=4, alpha=0.12), TOWN.iid(), AUDITORS["probabilities"], seed=2)
    assert not np.array_equal(full.shown, t.shown)


def test_a_label_that_is_missing_is_not_one_that_is_unseen():
    y = np.array([1.0, np.nan, 0.0, np.nan])
    batch = lw.Batch(F.encode(TOWN.X[:4]), y, TOWN.X[:4])
    world = World(AUDITORS["probabilities"], 0, fixed_lots(0.5), "accepted")
    played = world.played(1, batch, np.array([0.9, 0.8, 0.1, 0.2]))
    np.testing.assert_array_equal(played.seen.batch.y, [1.0, np.nan, np.nan, np.nan])
    assert played.seen.unseen.tolist() == [False, False, True, True]
    np.testing.assert_array_equal(played.y, y)


def test_an_adversary_that_sees_the_policy_is_shown_the_floor_too():
    lowest = []

    def choose(moment):
        lowest.append(moment.policy.probability(TOWN.X).min())
        return TOWN.X[:4], TOWN.y[:4]

    learner = one_sided(T=20)
    t = lw.play(learner, lw.Adversary(choose, k=4, sees_policy=True), AUDITORS["probabilities"])
    floor = learner.estimate(learner.init()).floor
    assert floor > 0.05
    assert min(lowest) >= floor
    assert min(lowest) < 2 * floor  # it does bind
    assert (t.estimates[:, 0] == floor).all()


REFUSED = {
    r"`lot` must be one of": {"lot": "day"},
    r"`labels` must be one of \('all', 'accepted'\), got 'some'": {"labels": "some"},
    r"`labels` must be “accepted” for a learner of one-sided labels, got 'all'": {"labels": "all"},
    r"`returning` must be one of \('new', 'record'\), got 'twice'": {"returning": "twice"},
    r"`returning` must be “new” where nothing is drawn": {"learner": LEARNERS["default"](), "returning": "record"},
    r"`auditor` must see “probabilities” or “decisions”, got 'nothing'": {
        "auditor": type("Blind", (lw.MetricAuditor,), {"sees": "nothing"})(TOWN.near, 0.12)
    },
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_parts_that_do_not_fit_are_refused_in_one_sentence(sentence):
    given = {"learner": one_sided(), "auditor": AUDITORS["probabilities"], **REFUSED[sentence]}
    with pytest.raises(InvalidParameter, match=sentence):
        lw.play(given.pop("learner"), TOWN.iid(), given.pop("auditor"), **given)


def test_what_the_parts_need_is_the_default():
    needs = {
        ("probabilities", "plain"): (None, "all"),
        ("probabilities", "one-sided"): ("round", "accepted"),
        ("relation", "plain"): ("round", "all"),
        ("relation", "one-sided"): ("round", "accepted"),
    }
    for (auditor, learner), (lot, labels) in needs.items():
        made = one_sided() if learner == "one-sided" else LEARNERS["default"]()
        world = world_of(AUDITORS[auditor], 0, None, None, "new", made)
        assert (world.lots and world.lots.kind, world.labels) == (lot, labels)
        t = lw.play(made, TOWN.iid(), AUDITORS[auditor], 3)
        assert (t.facts.lot, t.facts.labels, t.facts.returning) == (lot, labels, "new")


# Continuing --------------------------------------------------------------------------------------------------


def visitors(T=60, again=0.5, k=4, seed=0):
    """Batches with numbered people: everybody new at least once, and often people who were here before."""
    rng, batches, known = np.random.default_rng(seed), [], 0
    for _ in range(T):
        back = rng.random(k) < (again if known else 0.0)
        back[0] = False
        person = np.where(back, rng.integers(max(1, known), size=k), known + np.cumsum(~back) - 1)
        known += int((~back).sum())
        who = person % 40
        batches.append(lw.Batch(F.encode(TOWN.X[who]), TOWN.y[who], TOWN.X[who], person))
    return batches


@pytest.mark.parametrize("returning", ["new", "record"])
@pytest.mark.parametrize("lot", ["round", "person"])
@pytest.mark.parametrize("auditor", AUDITORS)
def test_a_play_that_stopped_goes_on_as_if_it_had_not(auditor, lot, returning):
    batches, made = visitors(), one_sided()
    given = {"seed": 3, "lot": lot, "returning": returning}
    whole = lw.play(made, lw.Stream(batches, k=4), AUDITORS[auditor], **given)
    first = lw.play(made, lw.Stream(batches[:25], k=4), AUDITORS[auditor], 25, **given)
    second = lw.play(made, lw.Stream(batches[25:], k=4), AUDITORS[auditor], state=first, **given)
    same(first + second, whole)
    assert whole.reported[25:].any()
    np.testing.assert_allclose((first + second).average_policy.at(F.encode(TOWN.X)),
                               whole.average_policy.at(F.encode(TOWN.X)), atol=1e-12)  # fmt: skip


def test_what_was_stated_survives_a_quiet_first_half():
    graded = AUDITORS["graded"]
    t = lw.play(lw.AdaHedge(F, T=80, k=4, alpha=0.12), TOWN.iid(), graded, seed=3)
    first = int(t.report_rounds[0])
    assert first > 1
    learner = lw.AdaHedge(F, T=80, k=4, alpha=0.12)
    quiet = lw.play(learner, TOWN.iid(), graded, first - 1, seed=3)
    assert quiet.stated is None
    both = quiet + lw.play(learner, TOWN.iid(), graded, seed=3, state=quiet)
    np.testing.assert_array_equal(both.stated, t.stated)
    assert [r.stated for reports in both.reports for r in reports] == t.stated.tolist()


# The record --------------------------------------------------------------------------------------------------


def without(batches):
    """The same batches with those left out who were here before."""
    known, shorter = set(), []
    for batch in batches:
        new = np.array([number not in known and not known.add(number) for number in batch.person.tolist()])
        shorter.append(lw.Batch(*(part[new] for part in batch[:4])))
    return shorter


@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize("kind", ["one-sided", "safe", "full labels", "Tilted"])
def test_returning_people_change_nothing_for_the_learner(auditor, kind):
    learner = {
        "one-sided": one_sided(),
        "safe": one_sided(safe=True),
        "full labels": lw.AdaHedge(F, T=60, k=4, alpha=0.12),
        "Tilted": lw.OneSided(lw.AdaHedge(F, k=4, alpha=0.12, penalty=lw.Tilted(0.06))),
    }[kind]
    batches, given = visitors(), {"seed": 5, "lot": "round"}
    served = lw.play(learner, lw.Stream(batches, k=4), AUDITORS[auditor], 60, returning="record", **given)
    absent = lw.play(learner, lw.Stream(without(batches), k=4), AUDITORS[auditor], 60, **given)
    assert served.reported.sum() >= 3
    np.testing.assert_array_equal(served.reported, absent.reported)
    np.testing.assert_allclose(served.errors, absent.errors, atol=1e-12)
    for name, part in served.state._asdict().items():
        np.testing.assert_allclose(part, getattr(absent.state, name), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("auditor", AUDITORS)
def test_a_returning_person_has_the_first_answer_weighs_nothing_and_is_in_no_report(auditor):
    t = lw.play(one_sided(), lw.Stream(visitors(), k=4), AUDITORS[auditor], returning="record", seed=3)
    first, again = {}, np.zeros(len(t.person), dtype=bool)
    for i, number in enumerate(t.person.tolist()):
        if number in first:
            again[i] = True
            assert (t.shown[i], t.decisions[i]) == first[number]
        first.setdefault(number, (t.shown[i], t.decisions[i]))
    assert 0.2 < again.mean() < 0.6
    np.testing.assert_array_equal(t.weight, np.where(again, 0.0, 1.0))
    assert not again[t.pair_people].any()
    if auditor == "probabilities":
        np.testing.assert_array_equal(t.compared, ~again)
    else:
        assert not t.compared.any()


def test_a_pair_that_was_reported_and_returns_does_not_contradict_its_report():
    """Both are served the very gap that was reported; nobody looked, so nobody found it fine."""
    near = np.array([[1.0, 0.5], [0.0, 0.5]])
    batch = lw.Batch(F.encode(near), np.array([1.0, 0.0]), near, np.array([7, 8]))
    fresh = [batch._replace(person=np.array([10 + 2 * t, 11 + 2 * t])) for t in range(60)]
    learner = lw.AdaHedge(F, T=200, k=4, alpha=0.12)
    t = lw.play(learner, lw.Stream([*fresh, batch] * 2, k=2), AUDITORS["probabilities"], 62, seed=0, lot="round",
                returning="record")  # fmt: skip
    assert t.reported.any()
    assert (t.state.passed == -np.inf).all()


def test_silence_about_decisions_contradicts_no_report():
    t = lw.play(lw.AdaHedge(F, T=400, k=4, alpha=0.12), TOWN.iid(), AUDITORS["relation"], seed=3)
    assert t.reported.sum() > 5
    assert (t.state.passed == -np.inf).all()
    seen = lw.play(lw.AdaHedge(F, T=400, k=4, alpha=0.12), TOWN.iid(), AUDITORS["probabilities"], seed=3)
    assert (seen.state.passed > -np.inf).any()  # silence about probabilities says something


def test_a_batch_of_returning_people_alone_teaches_nothing():
    batch = lw.Batch(F.encode(TOWN.X[:3]), TOWN.y[:3], TOWN.X[:3], np.arange(3))
    for auditor in AUDITORS.values():
        learner = lw.OneSided(lw.AdaHedge(F, T=2, k=3, alpha=0.12, forget=0.0))
        t = lw.play(learner, lw.Stream([batch, batch], k=3), auditor, returning="record")
        np.testing.assert_array_equal(t.decisions[:3], t.decisions[3:])
        after = learner.update(learner.init(), t.round(0))
        for name in ("losses", "delta", "seen", "worth"):
            np.testing.assert_array_equal(getattr(t.state, name), getattr(after, name))
        assert t.reviewed.tolist() == [True, False]  # there was nobody to compare
        if t.violating is not None:
            assert t.violating[1] == 0


def test_who_comes_twice_in_one_batch_is_new_once():
    record = Record()
    assert record.returning(np.array([3, 3, 4, 3])).tolist() == [False, True, False, True]
    batch = lw.Batch(F.encode(TOWN.X[[0, 0, 1]]), TOWN.y[[0, 0, 1]], TOWN.X[[0, 0, 1]], np.array([0, 0, 1]))
    t = lw.play(one_sided(T=1), lw.Stream([batch], k=3), AUDITORS["relation"], lot="person", returning="record", seed=1)
    assert t.weight.tolist() == [1.0, 0.0, 1.0]
    assert t.decisions[0] == t.decisions[1]


def test_people_without_numbers_and_states_without_people_are_refused():
    with pytest.raises(InvalidParameter, match='`returning` must be "new" where nobody keeps count of people'):
        lw.play(one_sided(), lw.Stream([(TOWN.X[:3], TOWN.y[:3])]), AUDITORS["relation"], returning="record")
    half = lw.play(one_sided(), lw.Stream(visitors(), k=4), AUDITORS["relation"], 10, returning="record")
    for state in (half.state, lw.play(one_sided(), TOWN.iid(), AUDITORS["relation"], 5, state=half.state)):
        with pytest.raises(InvalidParameter, match="`state` must be the whole transcript of a play with lots"):
            lw.play(one_sided(), TOWN.iid(), AUDITORS["relation"], 5, state=state, returning="record")


# Rounds ------------------------------------------------------------------------------------------------------


class Says:
    """Answers what it is told to."""

    alpha, margin = 0.1, 0.0

    def __init__(self, answer, sees="decisions", **more):
        self.answer, self.sees = answer, sees
        for name, value in more.items():
            setattr(self, name, value)

    def audit(self, batch, shown, key, pairs=None):
        self.pairs, self.shown = pairs, shown
        return self.answer

    def facts(self):
        return lw.AuditorFacts("Says")


def round_by(answer, p=(0.9, 0.6, 0.55, 0.1), lot=0.58, **more):
    """A round of four people with these probabilities and this lot."""
    batch = lw.Batch(F.encode(TOWN.X[:4]), TOWN.y[:4], TOWN.X[:4], np.arange(4))
    auditor = Says(answer, **more)
    return auditor, World(auditor, 0, fixed_lots(lot)).played(1, batch, np.array(p), Estimate(0.1))


def test_an_auditor_of_decisions_is_shown_decisions_and_only_pairs_that_could_be_accepted():
    auditor, _ = round_by(None)
    assert auditor.shown.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert auditor.pairs.tolist() == [[0, 2], [0, 3], [1, 3]]
    auditor, _ = round_by(None, screened=False)
    assert auditor.pairs.tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]


def test_the_first_acceptable_report_is_accepted_and_those_before_it_are_counted():
    _, played = round_by((lw.Report(1, 2), lw.Report(0, 3), lw.Report(1, 3)))
    assert (played.seen.reports, played.turned_down) == ((lw.Report(0, 3),), 1)
    assert played.seen.reviewed
    _, played = round_by(lw.Report(1, 2))
    assert (played.seen.reports, played.turned_down) == ((), 1)
    _, played = round_by(None)
    assert (played.seen.reports, played.turned_down, played.seen.reviewed) == ((), 0, True)
    _, played = round_by(SKIPPED)
    assert (played.seen.reports, played.turned_down, played.seen.reviewed) == ((), 0, False)
    assert played.violating is None


def test_a_stated_distance_must_be_exceeded_by_more_than_the_level():
    for stated, accepted in ((0.69, True), (0.71, False), (0.0, True)):
        _, played = round_by(lw.Report(0, 3, stated=stated))
        assert bool(played.seen.reports) == accepted


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lw.Report(0, 1), "must name two new people, one who got a yes and one who got a no, got 0 and 1"),
        (lw.Report(3, 0), "must name two new people, one who got a yes and one who got a no, got 3 and 0"),
        (lw.Report(0, 4), "must name two of 4 people, got 0 and 4"),
        ((lw.Report(0, 3), lw.Report(2, 1)), "one who got a yes and one who got a no, got 2 and 1"),
        ([lw.Report(0, 3)], "must be a report, a tuple of reports, None or SKIPPED"),
        ((), "must be a report, a tuple of reports, None or SKIPPED"),
        ("nobody", "must be a report, a tuple of reports, None or SKIPPED"),
    ],
)
def test_a_report_by_decisions_that_cannot_be_is_refused(answer, sentence):
    with pytest.raises(ReportRefused, match=sentence):
        round_by(answer)


def test_a_report_by_decisions_must_not_name_people_who_return():
    record = Record()
    record.keep(np.array([0]), np.array([0.9]), np.array([True]))
    batch = lw.Batch(F.encode(TOWN.X[:4]), TOWN.y[:4], TOWN.X[:4], np.arange(4))
    auditor = Says(lw.Report(0, 3))
    world = World(auditor, 0, fixed_lots(0.58), record=record)
    with pytest.raises(ReportRefused, match="must name two new people"):
        world.played(1, batch, np.array([0.9, 0.6, 0.5, 0.1]))
    assert 0 not in auditor.pairs


def test_frames_are_fine_as_views():
    import pandas as pd

    views = [batch._replace(view=pd.DataFrame(batch.view, columns=["a", "b"])) for batch in visitors(30)]

    def near(view):
        return np.abs(view[["b"]].to_numpy() - view["b"].to_numpy()) / 2

    for auditor in (lw.MetricAuditor(near, 0.12), lw.DecisionAuditor(near, 0.08, theta=0.04)):
        t = lw.play(one_sided(T=30), lw.Stream(views, k=4), auditor, returning="record", seed=3)
        twin = AUDITORS["probabilities" if isinstance(auditor, lw.MetricAuditor) else "relation"]
        same(t, lw.play(one_sided(T=30), lw.Stream(visitors(30), k=4), twin, returning="record", seed=3))
