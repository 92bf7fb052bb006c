"""A transcript on disk: what it holds, and what is not read."""

import json

import numpy as np
import pytest

import likewise as lw
from likewise.errors import InvalidParameter

X = np.array([[0.0], [1.0], [2.0]])


@pytest.fixture
def play():
    learner = lw.AdaHedge(lw.Thresholds([[0.5, 1.5]]), k=3, penalty=1.0)
    return lw.play(learner, lw.IID(X, [0, 1, np.nan], k=3), lw.MetricAuditor(lambda view: np.zeros((3, 3)), 0.1), 30)


def arrays_of(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def test_a_file_holds_no_pickle_and_names_its_format(play, tmp_path):
    play.save(tmp_path / "play.npz")
    arrays = arrays_of(tmp_path / "play.npz")
    assert not any(array.dtype.hasobject for array in arrays.values())
    meta = json.loads(str(arrays["meta"]))
    assert meta["format"] == 2
    assert meta["facts"]["auditor"]["exhaustive"] is True


def test_reports_stand_one_after_another(play, tmp_path):
    play.save(tmp_path / "play.npz")
    arrays = arrays_of(tmp_path / "play.npz")
    count = int(play.reported.sum())
    assert 0 < count < play.rounds
    assert [len(arrays[name]) for name in ("report_rounds", "pairs", "violates", "false")] == [count] * 4


@pytest.mark.parametrize("format", [1, 3])
def test_a_file_of_another_format_is_refused_and_its_format_named(play, tmp_path, format):
    path = tmp_path / "play.npz"
    play.save(path)
    arrays = arrays_of(path)
    arrays["meta"] = np.array(json.dumps(json.loads(str(arrays["meta"])) | {"format": format}))
    np.savez(path, **arrays)
    expected = f"`path` must hold a transcript of format 2, got one of format {format}"
    with pytest.raises(InvalidParameter, match=expected):
        lw.Transcript.load(path)


# Lots --------------------------------------------------------------------------------------------------------

AUDITORS = {
    "probabilities": lw.MetricAuditor("cityblock", 0.1, w=[0.2]),
    "relation": lw.DecisionAuditor("cityblock", 0.05, theta=0.05, w=[0.02]),
    "graded": lw.DecisionAuditor("cityblock", 0.1, w=[0.02]),
}
PEOPLE = np.linspace(0, 3, 30)[:, None]
LABELS = (PEOPLE[:, 0] > 1).astype(float)
KEPT = ("rows", "y", "shown", "starts", "pairs", "report_rounds", "reviewed", "penalties", "decisions", "unseen",
        "estimates", "turned_down", "violating", "stated", "compared", "person", "weight")  # fmt: skip


def one_sided(F, T=80):
    return lw.OneSided(lw.AdaHedge(F, k=3, alpha=0.1, T=T))


@pytest.mark.parametrize("returning", ["new", "record"])
@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize("F", [lw.Thresholds([[0.5, 1.5]]), lw.Cells.grid(PEOPLE, bins=4)], ids=["listed", "cells"])
def test_a_play_with_lots_comes_back_and_goes_on_from_its_file(F, auditor, returning, tmp_path):
    weight = None if returning == "record" else np.linspace(0.5, 1, 30)
    people, given = lw.IID(PEOPLE, LABELS, k=3, weight=weight), {"seed": 6, "returning": returning}
    half = lw.play(one_sided(F), people, AUDITORS[auditor], 40, **given)
    half.save(tmp_path / "half.npz")
    loaded = lw.Transcript.load(tmp_path / "half.npz")
    assert loaded.facts == half.facts
    whole = lw.play(one_sided(F), people, AUDITORS[auditor], **given)
    again = loaded + lw.play(one_sided(F), people, AUDITORS[auditor], state=loaded, **given)
    for first, second in ((half, loaded), (whole, again)):
        for name in KEPT:
            a, b = getattr(first, name), getattr(second, name)
            assert (a is None) == (b is None), name
            if a is not None:
                np.testing.assert_array_equal(a, b, err_msg=name)
        assert first.reports == second.reports
        expected = first.average_policy.at(F.encode(PEOPLE))
        assert second.average_policy.at(F.encode(PEOPLE)) == pytest.approx(expected, abs=1e-12)
        assert second.average_policy.floors == pytest.approx(first.average_policy.floors) != 0
    late, other = whole.last_half_policy, again.last_half_policy
    assert late.at(F.encode(PEOPLE)) == pytest.approx(other.at(F.encode(PEOPLE)), abs=1e-12)
    assert whole.reported.any()


def test_a_file_from_before_there_were_floors_is_read(tmp_path):
    """Averages over part of the rounds came without floors, and facts without lots."""
    learner = lw.AdaHedge(lw.Thresholds([[0.5, 1.5]]), k=3, alpha=0.1, T=40)
    t = lw.play(learner, lw.IID(PEOPLE, LABELS, k=3, order="passes"), AUDITORS["probabilities"])
    assert t.late is not None
    path = tmp_path / "play.npz"
    t.save(path)
    arrays = arrays_of(path)
    meta = {name: value for name, value in json.loads(str(arrays["meta"])).items() if "floors" not in name}
    for name in ("lot", "labels", "returning"):
        del meta["facts"][name]
    del meta["facts"]["auditor"]["sees"]
    arrays["meta"] = np.array(json.dumps(meta))
    np.savez(path, **arrays)
    old = lw.Transcript.load(path)
    assert (old.facts.lot, old.facts.labels) == (None, "all")
    for policy, twin in ((t.late, old.late), (t.average_policy, old.average_policy)):
        np.testing.assert_array_equal(policy.probability(PEOPLE), twin.probability(PEOPLE))


def test_a_play_without_lots_writes_nothing_about_them(play, tmp_path):
    play.save(tmp_path / "play.npz")
    assert not {"decisions", "unseen", "estimates", "turned_down", "violating", "stated", "compared", "weight"} & set(
        arrays_of(tmp_path / "play.npz")
    )


def test_frames_show_what_the_lots_brought_about():
    t = lw.play(one_sided(lw.Thresholds([[0.5, 1.5]])), lw.IID(PEOPLE, LABELS, k=3), AUDITORS["graded"])
    frame = t.to_frame()
    assert frame["accepted"].tolist() == [int(round_.decisions.sum()) for round_ in t]
    assert frame["turned_down"].tolist() == t.turned_down.tolist()
    assert frame["violating"].tolist() == t.violating.tolist()
    assert t.reports_frame()["stated"].tolist() == t.stated.tolist()


def test_frames_of_a_play_without_lots_say_nothing_of_them(play):
    assert not {"accepted", "turned_down", "violating"} & set(play.to_frame().columns)
    assert "stated" not in play.reports_frame().columns
