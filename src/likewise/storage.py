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
"""How the name of a draft begins; a crash may leave a draft behind."""


@contextmanager
def whole_file(path: Path, *, new: bool = False, private: bool = False) -> Iterator[Path]:
    """A draft beside ``path``, which becomes the file when the block ends without an error.

    The draft is flushed to disk and then renamed, so that nobody ever sees half a file, not even after a crash.

    Parameters
    ----------
    new
        Refuse to replace a file, even one that appeared in the meantime: FileExistsError.
    private
        Only its owner may read it.

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
    # The ending stays: writers of figures and tables go by it.
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

    A line that a crash cut short is ended first, so that it does not spoil the next one.
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
    """The JSON objects of a file, one per line, numbered; None for any other line, such as one that a crash cut short.

    A file that doesn't exist has no lines. ``last`` reads only that many bytes at the end of the file.

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
            yield number, json_line(line)


def json_line(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None if it is anything else."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
