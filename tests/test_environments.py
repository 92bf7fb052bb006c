"""Environments: where people come from, and what each of them may know."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.protocol import Key, Role, Round

X = np.arange(10.0)[:, None]
Y = np.array([0.0, 1.0] * 5)


def key(t=1, seed=0):
    return Key(seed, Role.ENVIRONMENT, t)


def drawn(environment, t=1, seed=0):
    return environment.batch(key(t, seed), None, None)


def everything(stream):
    return list(iter(lambda: drawn(stream), None))


# IID -------------------------------------------------------------------------------------------------------------


def test_a_draw_depends_only_on_seed_and_round():
    forwards, backwards = lw.IID(X, Y, k=4), lw.IID(X, Y, k=4)
    one = [drawn(forwards, t).view for t in range(1, 30)]
    other = [drawn(backwards, t).view for t in reversed(range(1, 30))]
    np.testing.assert_array_equal(one, other[::-1])


def test_rounds_seeds_and_roles_have_draws_of_their_own():
    environment = lw.IID(np.arange(1000.0)[:, None], np.zeros(1000), k=8)
    keys = [key(1), key(2), key(1, seed=1), Key(0, Role.AUDITOR, 1)]
    draws = {tuple(environment.batch(k, None, None).view.ravel()) for k in keys}
    assert len(draws) == len(keys)


def test_seeds_up_to_two_to_the_64_have_draws_of_their_own():
    seeds = [0, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
    assert len({key(1, seed).generator().random() for seed in seeds}) == len(seeds)


def test_a_batch_is_k_people_of_the_population_with_their_labels_and_views():
    environment = lw.IID(X, Y, k=5, view=pd.DataFrame({"double": 2 * X[:, 0]}))
    encoded = environment.encoded(lambda people: people + 0.5)
    for t in range(1, 20):
        batch = drawn(encoded, t)
        people = (batch.rows - 0.5).ravel().astype(int)
        assert len(people) == 5
        np.testing.assert_array_equal(batch.y, Y[people])
        np.testing.assert_array_equal(batch.view["double"], 2.0 * people)


def test_everybody_is_drawn_equally_often():
    environment = lw.IID(X, Y, k=10)
    people = np.concatenate([drawn(environment, t).view.ravel() for t in range(1, 1001)]).astype(int)
    assert chisquare(np.bincount(people, minlength=10)).pvalue > 0.01


def test_a_population_is_encoded_once_and_the_original_is_left_alone():
    calls = []
    environment = lw.IID(X, Y, k=2)
    encoded = environment.encoded(lambda people: calls.append(len(people)) or -people)
    for t in range(1, 5):
        drawn(encoded, t)
    assert calls == [10]
    assert (drawn(environment).rows >= 0).all()


def test_a_population_that_is_encoded_for_a_class_is_not_encoded_for_it_again():
    F = lw.Thresholds([[4.5]])
    encoded = lw.IID(X, Y, k=2).encoded(F.encode)
    assert encoded.encoded(F.encode) is encoded
    other = encoded.encoded(lw.Thresholds([[-1.0]]).encode)
    assert (drawn(other).rows == 1).all()


def test_a_population_may_be_a_dataframe():
    people = pd.DataFrame({"age": X[:, 0], "town": ["a", "b"] * 5})
    batch = drawn(lw.IID(people, Y, k=3).encoded(lambda frame: frame[["age"]].to_numpy()))
    np.testing.assert_array_equal(batch.rows.ravel(), batch.view["age"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"k": 0}, "`k` must be a whole number, at least 1, got 0"),
        ({"y": Y[:3]}, "`y` must have one label for each of 10 people"),
        ({"y": Y + 1}, r"`y` must be 0, 1 or missing \(NaN\), got \[2.0"),
        ({"y": np.full(10, 0.5)}, "`y` must be 0, 1 or missing"),
        ({"y": ["no", "yes"] * 5}, "`y` must be 0, 1 or missing"),
        ({"view": X[:3]}, "`view` must have a row for each of 10 people, got 3"),
        ({"X": np.empty((0, 1)), "y": []}, "`view` must have a row"),
    ],
)
def test_a_bad_population_gets_one_sentence(arguments, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        lw.IID(**({"X": X, "y": Y, "k": 2} | arguments))


# Streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_gives_what_comes_in_order_and_then_nothing():
    stream = lw.Stream(((X[i : i + 4], Y[i : i + 4]) for i in range(0, 10, 4)), k=4)
    batches = everything(stream)
    assert [len(batch.y) for batch in batches] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([batch.rows for batch in batches]), X)
    assert drawn(stream) is None


def test_a_stream_takes_views_missing_labels_and_ready_batches():
    ready = lw.Batch(X[:1], Y[:1], X[:1])
    with_view, as_it_is = everything(lw.Stream([(X[:2], [np.nan, 1], ["Ada", "Ben"]), ready], k=2))
    assert list(with_view.view) == ["Ada", "Ben"]
    np.testing.assert_array_equal(with_view.y, [np.nan, 1])
    assert all(np.array_equal(a, b) for a, b in zip(as_it_is, ready, strict=True))


def test_an_encoded_stream_goes_on_reading_the_same_source():
    stream = lw.Stream([(X[:1], [0]), (X[1:2], [1])], k=1)
    drawn(stream)
    assert drawn(stream.encoded(lambda people: 10 * people)).rows.tolist() == [[10.0]]


def table():
    return pd.DataFrame({"age": X[:, 0], "town": list("abcdefghij"), "paid": Y})


def write_csv(path):
    table().to_csv(path, index=False)
    return lw.Stream.csv


def write_parquet(path):
    table().to_parquet(path, row_group_size=3)
    return lw.Stream.parquet


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_file_is_read_k_rows_a_round_with_a_smaller_last_batch(write, tmp_path):
    read = write(tmp_path / "people")
    stream = read(tmp_path / "people", label="paid", k=4, view=["town"]).encoded(lambda people: people[["age"]])
    batches = everything(stream)
    assert [len(batch.y) for batch in batches] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([batch.rows for batch in batches]), X)
    np.testing.assert_array_equal(np.concatenate([batch.y for batch in batches]), Y)
    assert [town for batch in batches for town in batch.view["town"]] == list("abcdefghij")


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_file_is_viewed_whole_but_without_its_label_by_default(write, tmp_path):
    read = write(tmp_path / "people")
    batch = drawn(read(tmp_path / "people", label="paid", k=4))
    assert list(batch.view.columns) == ["age", "town"]


def test_a_file_without_the_label_is_refused(tmp_path):
    write_csv(tmp_path / "people")
    with pytest.raises(InvalidParameter, match=r"`label and view` must be among the columns .* got \['default'\]"):
        drawn(lw.Stream.csv(tmp_path / "people", label="default", k=2))


def test_a_stream_that_ends_early_makes_a_shorter_transcript_and_says_so(caplog):
    learner = lw.FollowTheLeader(lw.Thresholds([[0.5]]))
    stream = lw.Stream([(X[:2], Y[:2])] * 3, k=2)
    transcript = lw.play(learner, stream, lw.MetricAuditor("cityblock", alpha=0.1), T=5)
    assert transcript.rounds == 3
    assert "ran out of people after 3 of 5 rounds" in caplog.text
    assert caplog.records[0].levelname == "WARNING"


BAD_ITEMS = {
    "too many people": ((X[:3], Y[:3]), "`batch` must hold 1 to 2 people, got 3"),
    "nobody": ((X[:0], []), "`batch` must hold 1 to 2 people, got 0"),
    "a label of two": ((X[:2], [0, 2]), "`y` must be 0, 1 or missing"),
    "a label too few": ((X[:2], [0]), "`y` must have one label for each of 2 people"),
    "a label of two in a ready batch": (lw.Batch(X[:2], np.array([0.0, 2.0]), X[:2]), "`y` must be 0, 1 or missing"),
    "a view too short": ((X[:2], [0, 1], X[:1]), "`view` must have a row for each of 2 people"),
}


@pytest.mark.parametrize("what", BAD_ITEMS)
def test_a_bad_item_gets_one_sentence_from_streams_and_adversaries(what):
    item, sentence = BAD_ITEMS[what]
    for environment in (lw.Stream([item], k=2), lw.Adversary(lambda moment: item, k=2, sees_policy=False)):
        with pytest.raises(InvalidParameter, match=sentence):
            drawn(environment)


# Adversaries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sees_policy", [False, True])
def test_an_adversary_sees_the_policy_only_if_it_said_so(sees_policy):
    moments = []
    adversary = lw.Adversary(lambda moment: moments.append(moment) or (X[:2], Y[:2]), k=2, sees_policy=sees_policy)
    adversary.batch(key(7), None, "the policy")
    assert [moment.policy for moment in moments] == ["the policy" if sees_policy else None]
    assert moments[0].t == 7
    assert moments[0].key == key(7)


def test_an_adversary_gets_the_round_before_with_its_probabilities_and_report():
    moments = []

    def two_people(moment):
        moments.append(moment)
        return [[0.0], [1.0]], [0, 1]

    learner = lw.FollowTheLeader(lw.Thresholds([[0.5]]))
    auditor = lw.MetricAuditor(lambda view: np.zeros((2, 2)), alpha=0.1)
    transcript = lw.play(learner, lw.Adversary(two_people, k=2, sees_policy=False), auditor, T=4)
    assert moments[0].previous is None
    assert [moment.t for moment in moments] == [1, 2, 3, 4]
    for moment, before in zip(moments[1:], transcript, strict=False):
        assert isinstance(moment.previous, Round)
        assert moment.previous.reports == before.reports
        np.testing.assert_array_equal(moment.previous.probabilities, before.probabilities)
    assert transcript.reported.any()


def test_an_adversary_that_returns_none_ends_the_play():
    adversary = lw.Adversary(lambda moment: None if moment.t > 2 else (X[:1], Y[:1]), k=1, sees_policy=True)
    auditor = lw.MetricAuditor("cityblock", alpha=0.1)
    assert lw.play(lw.FollowTheLeader(lw.Thresholds([[0.5]])), adversary, auditor, T=9).rounds == 2


def test_only_draws_from_one_population_are_known_to_be_iid():
    assert lw.IID(X, Y, k=1).facts().iid is True
    assert lw.Stream([], k=1).facts().iid is None
    assert lw.Stream([], k=1, iid=True).facts().iid is True
    assert lw.Adversary(print, k=1, sees_policy=True).facts().iid is False


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: lw.Stream([], k=0), "`k` must be a whole number, at least 1"),
        (lambda: lw.Adversary(print, k=0, sees_policy=False), "`k` must be a whole number, at least 1"),
        (lambda: lw.Adversary("people", k=1, sees_policy=False), "`function` must be a callable"),
    ],
)
def test_bad_parameters_get_one_sentence(build, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        build()


# Passes over distinct people ---------------------------------------------------------------------------------------

TWENTY = np.arange(20.0)[:, None]


def passes(k=3, people=20, **options):
    return lw.IID(TWENTY[:people], np.arange(people) % 2, k=k, order="passes", **options)


@pytest.mark.parametrize(("people", "k"), [(20, 3), (20, 4), (6, 6), (7, 6), (5, 1)])
def test_nobody_comes_twice_in_a_pass_and_each_pass_has_an_order_of_its_own(people, k):
    environment, rounds = passes(k, people), people // k
    draws = environment.draws(seed=1, first=1, rounds=5 * rounds).reshape(5, rounds * k)
    assert all(len(set(a_pass)) == rounds * k for a_pass in draws.tolist())
    assert len({tuple(a_pass) for a_pass in draws.tolist()}) == 5
    assert environment.first_pass == rounds
    assert not np.array_equal(draws, passes(k, people).draws(2, 1, 5 * rounds).reshape(5, -1))


def test_every_order_of_a_pass_is_as_likely_as_any_other():
    orders = passes(1, 4).draws(seed=0, first=1, rounds=4 * 2400).reshape(2400, 4)
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("start", [1, 5, 255, 256, 257, 700])
def test_any_round_of_a_pass_can_be_drawn_again_without_the_ones_before(start):
    environment = passes()
    whole = passes().draws(seed=3, first=1, rounds=800)
    assert np.array_equal(environment.draws(3, start, 40), whole[start - 1 : start + 39])
    batch = passes().encoded(np.asarray).batch(lw.Key(3, lw.Role.ENVIRONMENT, start), None, None)
    assert batch.person.tolist() == whole[start - 1].tolist()
    assert batch.view[:, 0].tolist() == whole[start - 1].tolist()


def test_of_a_person_with_several_rows_each_pass_shows_one():
    ids = ["ann", "bob", "ann", "cy", "ann", "bob"]
    environment = lw.IID(np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1], k=1, ids=ids, order="passes")
    draws = environment.draws(seed=0, first=1, rounds=300).reshape(100, 3)
    assert all({ids[row] for row in a_pass} == {"ann", "bob", "cy"} for a_pass in draws.tolist())
    assert set(draws.ravel().tolist()) == set(range(6))
    facts = environment.facts()
    assert (facts.population, facts.people, facts.drawn, facts.iid) == (6, 3, "passes", None)


def test_rows_that_are_the_same_are_people_only_if_ids_say_so():
    X, y = np.array([[1.0], [1.0], [2.0]]), [0, 0, 1]
    assert lw.IID(X, y, k=1, order="passes").facts().people is None
    assert lw.IID(X, y, k=1, order="passes", ids=[1, 2, 3]).facts().people == 3
    assert lw.IID(X, [0, 1, 1], k=1, order="passes").facts().people == 3
    assert lw.IID(X, y, k=1, order="passes", view=[["a"], ["b"], ["c"]]).facts().people == 3
    frame = pd.DataFrame({"a": ["x", "x", "y"]})
    assert lw.IID(frame, y, k=1, order="passes").facts().people is None


@pytest.mark.parametrize("order", ["draws", "passes"])
@pytest.mark.parametrize("framed", [False, True])
def test_a_transcript_knows_who_came(order, framed):
    view = pd.DataFrame({"a": TWENTY[:, 0]}) if framed else TWENTY
    people = lw.IID(TWENTY, np.arange(20) % 2, k=3, view=view, order=order)
    learner = lw.AdaHedge(lw.Thresholds([[7.5]]), k=3, alpha=0.1, T=30)
    t = lw.play(learner, people, lw.MetricAuditor("cityblock", 0.1))
    assert np.asarray(t.view)[:, 0].tolist() == t.person.tolist()
    assert t.round(4).batch.person.tolist() == t.person[12:15].tolist()
    assert t.rounds_once == (6 if order == "passes" else None)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("parts", [(30,), (4, 26), (6, 24), (7, 23), (2, 2, 26), (10, 10, 10)])
def test_the_policy_of_the_first_pass_is_that_of_a_play_of_one_pass(compiled, parts, tmp_path):
    learner = lw.AdaHedge(lw.Thresholds([[7.5]]), k=3, alpha=0.1, T=30)
    auditor = lw.MetricAuditor("cityblock", 0.1)
    t = None
    for rounds in parts:
        part = lw.play(learner, passes(), auditor, rounds, seed=2, state=t, compiled=compiled)
        t = part if t is None else t + part
    t.save(tmp_path / "t.npz")
    once = lw.play(learner, passes(), auditor, 6, seed=2)
    for found in (t, lw.Transcript.load(tmp_path / "t.npz")):
        assert found.rounds_once == 6
        assert found.first_pass_policy.rounds == 6
        expected = once.average_policy.probability(TWENTY)
        assert found.first_pass_policy.probability(TWENTY) == pytest.approx(expected, abs=1e-12)
        assert found.person.tolist() == t.person.tolist()
    assert once.first_pass_policy is once.average_policy
    assert t.average_policy.probability(TWENTY) != pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [("order", {"order": "odd"}), ("ids", {"ids": [1, 2]}), ("ids", {"ids": [1.0, np.nan, 2.0]}), ("k", {"k": 4})],
)
def test_what_a_pass_can_not_be_is_refused_by_name(name, options):
    with pytest.raises(InvalidParameter, match=f"`{name}` must"):
        lw.IID(**{"X": TWENTY[:3], "y": [0, 1, 0], "k": 2, "order": "passes"} | options)
