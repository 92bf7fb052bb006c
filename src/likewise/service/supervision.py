"""Word to whoever supervises the process (systemd's ``Type=notify``): that it is ready, alive, or stopping.

NOTIFY_SOCKET=/run/systemd/notify   a socket that systemd listens at, named in the environment; without it nothing
                                    is told
"""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger(__name__)


def tell(message: str) -> bool:
    """Send a message to the supervisor, if there is one; whether it was sent.

    Examples
    --------
    >>> tell("READY=1") if "NOTIFY_SOCKET" not in os.environ else False
    False
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.sendto(message.encode(), address)
    except OSError as error:
        log.warning("The supervisor could not be told %s: %s", message, type(error).__name__)
        return False
    return True


class Notifier:
    """Called after every look of the clock: tells the first time that the service is ready, then that it is alive."""

    def __init__(self) -> None:
        self._ready = False

    def __call__(self) -> None:
        """The clock has looked, so every log was read."""
        if not self._ready:
            self._ready = tell("READY=1") or "NOTIFY_SOCKET" not in os.environ
        tell("WATCHDOG=1")
