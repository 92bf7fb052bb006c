"""One style for every picture, which leaves everybody else's alone, and a caption that goes into the file."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from likewise.drawing import STYLE, canvas, caption, captioned, legend_columns, save, svg


@pytest.fixture
def picture():
    with canvas(4, 3) as figure:
        figure.subplots().plot([0, 1], [1, 0], label="falls")
    return captioned(figure, "One line that falls.")


def test_the_style_is_ours_within_and_nobodys_after():
    before = mpl.rcParams["axes.spines.top"], mpl.rcParams["font.size"]
    with canvas(4, 3):
        assert (mpl.rcParams["axes.spines.top"], mpl.rcParams["font.size"]) == (False, STYLE["font.size"])
    assert (mpl.rcParams["axes.spines.top"], mpl.rcParams["font.size"]) == before


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_saved_as_its_name_says_into_a_new_folder(picture, tmp_path, ending, start):
    path = save(picture, tmp_path / "new" / f"line.{ending}")
    assert path.read_bytes().startswith(start)
    if ending != "pdf":
        assert caption(picture).encode() in path.read_bytes()


def test_the_same_picture_is_the_same_file(picture):
    assert svg(picture) == svg(picture)


def test_a_legend_is_as_wide_as_its_names_allow_and_never_empty():
    assert legend_columns(["a"] * 3, width=8) == 3
    assert legend_columns(["a very long name of a learner that fills the line"], width=2) == 1
    assert legend_columns(["a name"] * 12, width=4) < 12
