"""A connection to PostgreSQL on which an event loop sends statements: it goes on while the server works.

A thread that sends a statement and waits for it takes the lock of Python four times, each time from whoever decides. An
event loop sends it between two of its turns, and hears of the end as it hears of a request.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

End = Literal["durable", "refused", "unknown"]
"""What became of a statement, which is a transaction by itself: refused if nothing of it was written."""


class Wire:
    """Sends one statement at a time; whoever has one under way must not use the connection otherwise.

    Parameters
    ----------
    connection
        On which each statement is a transaction by itself.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self._server: PGconn = connection.pgconn
        # A second descriptor, as the driver closes its own once the connection breaks, while a loop still watches it.
        self._socket = os.dup(self._server.socket)
        self._names: dict[str, bytes] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: Callable[[End], None] | None = None
        self._results: list[PGresult] = []
        self._sending = False
        """Whether a part of the statement is still to be sent, as the server was slow to read."""

    @property
    def quiet(self) -> bool:
        """Whether the server has nothing to say while nothing is asked; otherwise it is going away, as a rule."""
        waiting = select.poll()  # unlike `select.select`, for any number of open files
        waiting.register(self._socket, select.POLLIN)
        return not waiting.poll(0)

    @property
    def abandoned(self) -> bool:
        """Whether a statement is under way that no event loop will look after any more."""
        loop = self._loop
        return loop is not None and loop.is_closed()

    def looked_after(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether this event loop has a statement under way."""
        return self._loop is loop

    def knows(self, statement: str) -> bool:
        """Whether a statement can be sent."""
        return statement in self._names

    def learn(self, statement: str) -> None:
        """Have the server read a statement, once; waits for it. If it can't, the statement stays unknown."""
        name = f"likewise_{len(self._names)}".encode()
        with suppress(psycopg.OperationalError):
            if self._server.prepare(name, statement.encode()).status == ExecStatus.COMMAND_OK:
                self._names[statement] = name

    def send(
        self,
        loop: asyncio.AbstractEventLoop,
        statement: str,
        values: Sequence[bytes],
        ended: Callable[[End], None],
    ) -> None:
        """Send a statement that is known, from an event loop; ``ended`` hears there what became of it."""
        self._loop, self._ended, self._results = loop, ended, []
        try:
            self._server.send_query_prepared(self._names[statement], values)
            loop.add_reader(self._socket, self._read)
            self._sending = self._unsent()
            if self._sending:
                loop.add_writer(self._socket, self._write)
        except (psycopg.Error, OSError, RuntimeError):
            self._end("unknown")

    def close(self) -> None:
        """Let go of the connection; nothing must be under way."""
        os.close(self._socket)

    def wait(self) -> None:
        """Wait for the statement that is under way, in place of an event loop that doesn't look after it any more."""
        waiting = select.poll()
        while self._ended is not None:
            waiting.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent() else 0))
            waiting.poll()
            self._read()

    def _unsent(self) -> bool:
        try:
            return bool(self._server.flush())
        except psycopg.OperationalError:
            return False  # reading tells

    def _write(self) -> None:
        self._sending = self._unsent()
        if not self._sending and self._loop is not None:
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            self._server.consume_input()
            while not self._server.is_busy():
                result = self._server.get_result()
                if result is None:
                    self._end(self._what_became())
                    return
                self._results.append(result)
        except psycopg.OperationalError:
            self._end("unknown")

    def _what_became(self) -> End:
        """From all that the server said, up to its being ready for the next statement.

        It says that a statement is done before it commits; what goes wrong after that may come after the commit. If the
        connection broke, only our side knows of a failure; what the server refuses is an error with a code.
        """
        if {result.status for result in self._results} == {ExecStatus.COMMAND_OK}:
            return "durable"
        return "refused" if self._results and all(map(_refused, self._results)) else "unknown"

    def _end(self, end: End) -> None:
        ended, loop = self._ended, self._loop
        self._ended = self._loop = None
        try:
            if loop is not None and not loop.is_closed():
                loop.remove_reader(self._socket)
                if self._sending:
                    loop.remove_writer(self._socket)
        finally:
            if ended is not None:
                ended(end)


def _refused(result: PGresult) -> bool:
    """Whether it is an error of the statement alone, of which nothing was written."""
    code = result.error_field(DiagnosticField.SQLSTATE) or b"08"  # of a connection that broke
    return result.error_field(DiagnosticField.SEVERITY_NONLOCALIZED) == b"ERROR" and not code.startswith(b"08")
