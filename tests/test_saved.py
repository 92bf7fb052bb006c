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
