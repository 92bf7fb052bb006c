"""Files that appear whole or not at all, and files of JSON lines."""

import os
import stat

import pytest

from likewise.storage import DRAFT, append_lines, json_lines, whole_file, write_whole


def test_a_file_is_there_when_its_block_is_left_and_not_before(tmp_path):
    path = tmp_path / "folder" / "table.csv"
    with whole_file(path) as draft:
        draft.write_text("a,b")
        assert not path.exists()
        assert draft.parent == path.parent
        assert draft.suffix == path.suffix
    assert path.read_text() == "a,b"
    assert os.listdir(path.parent) == ["table.csv"]


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path):
    path = write_whole(tmp_path / "letter.txt", "old")

    def fail():
        with whole_file(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["letter.txt"]


def test_two_drafts_of_one_file_do_not_meet(tmp_path):
    path = tmp_path / "letter.txt"
    with whole_file(path) as first:
        first.write_text("first")
        write_whole(path, "second")
        assert first.read_text() == "first"
        assert first.name.startswith(DRAFT)
    assert path.read_text() == "first"


def test_a_new_file_never_takes_the_place_of_another(tmp_path):
    path = tmp_path / "key"
    write_whole(path, b"mine", new=True)
    with pytest.raises(FileExistsError):
        write_whole(path, b"yours", new=True)
    assert path.read_bytes() == b"mine"
    assert os.listdir(tmp_path) == ["key"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("new", [True, False])
def test_a_private_file_is_for_its_owner_only(tmp_path, new):
    old = os.umask(0)
    try:
        with whole_file(tmp_path / "key", new=new, private=True) as draft:
            assert stat.S_IMODE(draft.stat().st_mode) == 0o600
            draft.write_bytes(b"secret")
        assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
        assert stat.S_IMODE(write_whole(tmp_path / "open", "").stat().st_mode) & 0o044
    finally:
        os.umask(old)


@pytest.mark.skipif(os.name != "posix", reason="a folder is synced on POSIX")
def test_the_draft_is_on_the_disk_before_it_gets_its_name_and_then_its_folder(tmp_path, monkeypatch):
    path, synced = tmp_path / "letter.txt", []

    def fsync(handle):
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(path, "text")
    assert synced == [(False, False), (True, True)]


def test_lines_are_added_at_the_end(tmp_path):
    path = tmp_path / "folder" / "facts.jsonl"
    append_lines(path, ['{"a": 1}'])
    append_lines(path, ['{"b": "ü"}', '{"c": null}'])
    assert path.read_bytes() == '{"a": 1}\n{"b": "ü"}\n{"c": null}\n'.encode()
    assert list(json_lines(path)) == [(1, {"a": 1}), (2, {"b": "ü"}), (3, {"c": None})]


def test_lines_are_on_the_disk_when_they_are_added(tmp_path, monkeypatch):
    path, sizes = tmp_path / "facts.jsonl", []
    monkeypatch.setattr(os, "fsync", lambda handle: sizes.append(os.fstat(handle).st_size))
    append_lines(path, ["{}"])
    assert sizes == [3]


def test_nothing_to_add_makes_no_file(tmp_path):
    append_lines(tmp_path / "facts.jsonl", [])
    assert not (tmp_path / "facts.jsonl").exists()
    assert list(json_lines(tmp_path / "facts.jsonl")) == []


def test_a_line_that_was_cut_short_spoils_no_other(tmp_path):
    path = tmp_path / "facts.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": \xc3')
    assert list(json_lines(path)) == [(1, {"a": 1}), (2, None)]
    append_lines(path, ['{"c": 3}'])
    assert list(json_lines(path)) == [(1, {"a": 1}), (2, None), (3, {"c": 3})]


@pytest.mark.parametrize("line", ["[1]", "7", "", "nonsense"])
def test_what_is_no_json_object_is_none(tmp_path, line):
    append_lines(tmp_path / "facts.jsonl", [line, "{}"])
    assert [value for _, value in json_lines(tmp_path / "facts.jsonl")] == [None, {}]


def test_the_end_of_a_long_file_can_be_read_alone(tmp_path):
    path = tmp_path / "facts.jsonl"
    append_lines(path, (f'{{"n": {n}}}' for n in range(1000)))
    found = [value for _, value in json_lines(path, last=30)]
    assert found[0] is None  # half of a line
    assert found[1:] == [{"n": 998}, {"n": 999}]
