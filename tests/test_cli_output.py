"""The scoreboard in a terminal: numbers are whole, or not there."""

import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from likewise.cli.output import scoreboard_table
from likewise.experiments.runs.deployed import plain
from likewise.scoreboard import Entry, scoreboard


@pytest.fixture(scope="module")
def board():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X[:, 0] > rng.random(200)).astype(float)
    steep = (X[:, 0] > 0.5).astype(float)
    entries = {"what was learned (not deployed)": Entry(steep, "pairs"), "labels alone": Entry(steep, "labels")}
    this = "what was learned (not deployed)"
    return plain(scoreboard(entries, X, y, distance="cityblock", alpha=0.1, this=this))


def printed(board, width):
    page = StringIO()
    Console(file=page, width=width).print(scoreboard_table(board, width))
    return page.getvalue()


@pytest.mark.parametrize("width", [120, 80, 72, 64, 50, 36])
def test_no_number_is_cut_off_in_any_window(board, width):
    text = printed(board, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert all(
        re.fullmatch(r"\([\d.<%]+–[\d.%]+\)", cell) for cell in re.findall(r"\(\S*\d\S*", text.split("Share")[0])
    )
    for row in board["table"]:
        assert row["cells"][1].split()[0] in text


def test_every_column_fits_into_eighty_and_a_narrow_window_keeps_errors_and_unfair_pairs(board):
    numbers = [part for row in board["table"] for cell in row["cells"][1:] for part in cell.split(" ")]
    assert all(number in printed(board, 80) for number in numbers)
    narrow = printed(board, 50)
    assert "unfair" in narrow
    assert "told" not in narrow
