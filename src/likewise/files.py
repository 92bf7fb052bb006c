"""Files that appear whole or not at all, and files of JSON lines that are only ever added to."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

DRAFT = "unfinished-"
"""How the name of a file begins that is not there yet; a crash may leave such a one behind."""


@contextmanager
def whole_file(path: Path, *, new: bool = False, private: bool = False) -> Iterator[Path]:
    """A draft beside ``path``: what was written to it becomes the file when the block is left without an error.

    The draft is flushed to the disk and then renamed, so that nobody, and no crash, ever meets half a file.

    Parameters
    ----------
    new
        Refuse to take the place of a file, also of one that appeared meanwhile: FileExistsError.
    private
        For its owner's eyes only.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "letter.txt") as draft:
    ...         _ = draft.write_text("Dear reviewer")
    ...     sorted(os.listdir(folder))
    ['letter.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The ending stays, as writers of figures and tables go by it.
    draft = path.with_name(f"{DRAFT}{secrets.token_hex(4)}-{path.name}")
    try:
        if private:
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield draft
        _flush(draft)
        if new:
            os.link(draft, path)  # refuses, unlike a rename, if somebody else was faster
        else:
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    if os.name == "posix":  # a rename is on the disk when its folder is
        _flush(path.parent)


def write_whole(path: Path, content: str | bytes, *, new: bool = False, private: bool = False) -> Path:
    """Write a file whole or not at all, as ``whole_file`` does."""
    with whole_file(path, new=new, private=private) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Add lines to a file, in one write; they are on the disk when this returns. No lines, no file.

    A line that a crash has cut short is ended first, so that it spoils no other.
    """
    text = "".join(f"{line}\n" for line in lines)
    if not text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.write((b"\n" if _cut_short(file) else b"") + text.encode())
        file.flush()
        os.fsync(file.fileno())


def _cut_short(file: IO[bytes]) -> bool:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    return end > 0 and file.read(1) != b"\n"


def json_lines(path: Path, *, last: int | None = None) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The numbered JSON objects of a file, one a line; None for a line that is none, as one that a crash cut short.

    A file that isn't there has no lines. With ``last``, only those in so many bytes at its end.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "facts.jsonl"
    ...     append_lines(path, ['{"a": 1}', '{"a": '])
    ...     list(json_lines(path))
    [(1, {'a': 1}), (2, None)]
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(0 if last is None else max(0, file.seek(0, os.SEEK_END) - last))
        for number, line in enumerate(file, start=1):
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            yield number, value if isinstance(value, dict) else None
