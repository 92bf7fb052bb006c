"""Tells the manager of services that this one is ready, and that it is still alive: systemd's ``sd_notify``.

systemd names a socket in ``NOTIFY_SOCKET`` and, if it watches, the microseconds between two signs of life in
``WATCHDOG_USEC``. Where nobody set them, nothing is sent.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping

import anyio

log = logging.getLogger(__name__)
LOOK_EVERY = 0.1
"""Seconds between two looks whether the service has become ready."""


def notify(address: str, message: str) -> None:
    """Send a message, such as ``READY=1``, to the socket at this address; ``@`` begins one without a file.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    ...     manager.bind(address := f"{mkdtemp()}/notify")
    ...     notify(address, "READY=1")
    ...     manager.recv(100)
    b'READY=1'
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending:
        sending.settimeout(1)
        sending.sendto(message.encode(), "\0" + address[1:] if address.startswith("@") else address)


async def keep_notified(
    ready: Callable[[], bool], clock_age: Callable[[], float], environment: Mapping[str, str] = os.environ
) -> None:
    """Say once that the service is ready; then say that it lives, as long as the event loop and the clock both move.

    It runs on the event loop, so a loop that hangs is silent by itself. A database that is away doesn't silence it:
    starting the service again would not bring that back.

    Parameters
    ----------
    ready
        Whether every log was read.
    clock_age
        Seconds since the clock's thread last turned round, whatever came of it.
    environment
        Where systemd says what it wants.
    """
    address = environment.get("NOTIFY_SOCKET", "")
    if not address:
        return
    while not ready():
        await anyio.sleep(LOOK_EVERY)
    _try(address, "READY=1")
    watch = int(environment.get("WATCHDOG_USEC", "0")) / 1e6
    while watch > 0:
        if clock_age() < watch:
            _try(address, "WATCHDOG=1")
        await anyio.sleep(watch / 3)


def _try(address: str, message: str) -> None:
    try:
        notify(address, message)
    except OSError as error:  # decisions go on; whoever waits for the sign will notice
        log.warning("The service manager could not be told %s: %s.", message, error.strerror or type(error).__name__)
