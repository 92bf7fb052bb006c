"""A port that several workers share: each listens with a socket of its own, and the system spreads connections.

With one socket for all, whichever worker wakes first takes every connection that waits: clients that connect together
and stay would all be with one worker, and the others would only read along.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

SPREADS = sys.platform.startswith("linux")
"""Whether the system spreads connections over the sockets of a port; others give them all to one of the sockets."""


class SharedPort(socket.socket):
    """A socket at an address, for workers that are processes of their own.

    It is bound and doesn't listen: it only keeps the port. A worker that is handed it gets another one at the same
    address, which it listens with.

    Examples
    --------
    >>> import pickle
    >>> with SharedPort.at("127.0.0.1", 0) as ours, pickle.loads(pickle.dumps(ours)) as theirs:
    ...     ours.getsockname() == theirs.getsockname(), ours.fileno() == theirs.fileno()
    (True, False)
    """

    @classmethod
    def at(cls, host: str, port: int) -> SharedPort:
        """A socket at this address."""
        shared = cls(socket.AF_INET6 if ":" in host else socket.AF_INET)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        # Headers and body are two packets: without this the second waits for the client's delayed ACK, 40 ms.
        shared.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            shared.bind((host, port))
        except OSError:
            shared.close()
            raise
        return shared

    def __reduce__(self) -> tuple[Any, ...]:
        """What a worker gets."""
        return SharedPort.at, self.getsockname()[:2]
