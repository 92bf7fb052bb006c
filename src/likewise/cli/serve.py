"""``likewise serve``: the service, until it is told to stop."""

from __future__ import annotations

import errno
import ipaddress
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SO_REUSEADDR, SOL_SOCKET, TCP_NODELAY, socket
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.output import console
from likewise.cli.service import Config, Database, open_tokens, service_part
from likewise.errors import InvalidParameter

if TYPE_CHECKING:
    from likewise.service.configuration import Configuration
    from likewise.service.log.checkpoints import CheckpointFile
    from likewise.service.run.demo import Links

EXAMPLES = """
Examples:

    likewise serve --demo

    likewise serve --database loans.db

    likewise serve --database postgresql://localhost/loans --workers 4

    likewise serve --config likewise.toml --host 0.0.0.0 --behind-proxy
"""
PATIENCE = 30
"""Seconds that requests have to finish when the service is told to stop."""
BACKLOG = 2048
"""Connections that may wait to be taken up."""


def serve(
    database: Database = None,
    host: Annotated[str | None, typer.Option(help="The address to listen at; 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8321. 0 takes a free one.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; more than one needs PostgreSQL.")] = None,
    behind_proxy: Annotated[
        bool | None, typer.Option("--behind-proxy", help="Something in front does TLS: allow any address without it.")
    ] = None,
    tls_certificate: Annotated[Path | None, typer.Option(help="A certificate, to serve TLS directly.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="With a stream that has a past and rounds to review; prints login links.")
    ] = False,
    config: Config = None,
) -> None:
    """Serve decisions, labels and audits over HTTP. The first start prints an administrator's token, once."""
    with service_part():
        import_module("uvicorn")  # if it isn't installed, say so before anything starts
        from likewise.service.configuration import configured
    with _folder(demo and database is None) as folder:
        configuration = configured(
            config,
            database=database if folder is None else str(folder / "demo.db"),
            host=host,
            port=port,
            workers=workers,
            behind_proxy=behind_proxy,
            tls_certificate=tls_certificate,
            tls_key=tls_key,
        )
        check(configuration)
        _check_files(configuration.tls_certificate, configuration.tls_key)
        _serve(configuration, demo, kept=folder is None)


@contextmanager
def _folder(temporary: bool) -> Iterator[Path | None]:
    """A folder for a demo without a database of its own; it is removed when the service ends."""
    if not temporary:
        yield None
        return
    # The server hands the signal that ended it on; unhandled, it would end us before the folder is gone.
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
            yield Path(folder)
    finally:
        signal.signal(signal.SIGTERM, before)


def _serve(configuration: Configuration, demo: bool, kept: bool) -> None:
    from likewise.service.redaction import begin_log

    begin_log()
    # Before anything is started or shown: a token that is shown once must not be lost to a port that is taken.
    with _listening(configuration) as bound:
        if configuration.workers == 1:
            _serve_alone(configuration, bound, _demo(configuration, kept) if demo else None)
            return
    _serve_together(configuration, demo)


def _serve_alone(configuration: Configuration, bound: socket, links: Links | None) -> None:
    import uvicorn

    address = _address(configuration, *bound.getsockname()[:2])
    _introduce(configuration, address)
    settings = uvicorn.Config(**_uvicorn(configuration))
    if links is not None:
        _say(f"To review a round, open this link, which works once:\n{address}/login/{links.reviewer}")
        _say(f"To look at everything, this one:\n{address}/login/{links.administrator}")
    _say(f"Serving at {address}")
    uvicorn.Server(settings).run([bound])


def _serve_together(configuration: Configuration, demo: bool) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from likewise.service.run.shared_port import SPREADS, SharedPort

    if demo:
        raise InvalidParameter(f"`workers` must be 1 for the demo, got {configuration.workers}.")
    address = _address(configuration, configuration.host, configuration.port)
    _introduce(configuration, address)
    _say(f"Serving at {address}")
    with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", folder)  # where the workers share their counts
        settings = uvicorn.Config(**_uvicorn(configuration))
        with SharedPort.at(configuration.host, configuration.port) if SPREADS else settings.bind_socket() as shared:
            Multiprocess(settings, sockets=[shared]).run()


def _introduce(configuration: Configuration, address: str) -> None:
    """Say what only the first start says, and by which key the service is known."""
    from likewise.service.log.checkpoints import CheckpointFile
    from likewise.service.log.keys import signer_at

    checkpoints = CheckpointFile(configuration.checkpoint_file)
    with open_tokens(configuration.database, None, new=True) as tokens:
        # Before a token, which would be shown in vain.
        begun = _begun(configuration)
        key = signer_at(configuration.key_file, checkpoints, **configuration.key_source, begun=begun).public_key
        _require_logs(configuration, checkpoints, key)
        token = tokens.first()
    if token is not None:
        _say(f"This is the first start. The administrator's token, shown only now:\n{token}")
        if not configuration.behind_proxy:  # only the operator knows the proxy's address
            _say(f"Log in with it at {address}")
    _say(f"Checkpoints are signed; the public key that checks them: {key}")


def _begun(configuration: Configuration) -> bool:
    """Whether the database has a log, which was signed with some key."""
    from likewise.service.log import Store

    with Store(configuration.database) as store:
        return bool(store.streams())


def _require_logs(configuration: Configuration, checkpoints: CheckpointFile, key: str) -> None:
    """Refuse to greet as new beside checkpoints of logs that are gone."""
    from likewise.service.live.heads import require_all_there
    from likewise.service.log import Store

    with Store(configuration.database) as store:
        signed = checkpoints.newest(key)  # first: another process may begin a stream, and sign it, at any time
        require_all_there(store.streams(), signed, checkpoints)


def _listening(configuration: Configuration) -> socket:
    """A socket at the address of the service; whoever connects before it serves waits, and isn't refused."""
    host, port = configuration.host, configuration.port
    bound = socket(AF_INET6 if ":" in host else AF_INET)
    bound.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    # Headers and body are two packets: without this the second waits for the client's delayed ACK, 40 ms.
    bound.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    try:
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            suggested = port + 1 if port < 65535 else port - 1
            raise InvalidParameter(
                f"Port {port} is in use; stop what uses it, or give another: --port {suggested}."
            ) from None
        raise InvalidParameter(f"The service can't listen at {host}, port {port}: {error.strerror}.") from None
    return bound


def _address(configuration: Configuration, host: str, port: int) -> str:
    scheme = "http" if configuration.tls_certificate is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _demo(configuration: Configuration, kept: bool) -> Links:
    from likewise.service.run.demo import prepare

    with open_tokens(configuration.database, None, new=True):
        pass  # say that a database can't be used before anything else
    message = f"Filling {configuration.database} with a few hundred rounds, which takes about 15 seconds …"
    links = prepare(configuration, before=lambda: _say(message))
    if not kept:
        _say("It is removed when the service ends; give a --database to keep it.")
    return links


def check(configuration: Configuration) -> None:
    """Refuse what would lose or leak: several processes on SQLite, and tokens over an open network without TLS."""
    if configuration.workers > 1 and not configuration.database.startswith("postgres"):
        raise InvalidParameter(f"`workers` must be 1 on SQLite, got {configuration.workers}; PostgreSQL allows more.")
    if configuration.workers > 1 and configuration.port == 0:
        raise InvalidParameter("`port` must be fixed for several workers, which share it, got 0.")
    if (configuration.tls_certificate is None) != (configuration.tls_key is None):
        raise InvalidParameter("`tls_certificate` and `tls_key` must be given together.")
    safe = configuration.behind_proxy or configuration.tls_certificate is not None or _loopback(configuration.host)
    if not safe:
        raise InvalidParameter(
            f"`host` must be a loopback address, as tokens would travel in the clear, got {configuration.host!r}; give "
            "tls_certificate and tls_key, or set behind_proxy if something in front does TLS."
        )


def _check_files(certificate: Path | None, key: Path | None) -> None:
    """Refuse a bad certificate before the server would: by then it has shown its token."""
    if certificate is not None:
        try:
            SSLContext(PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
        except OSError:  # also what isn't a certificate, or one of another key
            raise InvalidParameter(
                "`tls_certificate` and `tls_key` must be PEM files of a certificate and its key without password, got "
                f"{str(certificate)!r} and {str(key)!r}."
            ) from None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _uvicorn(configuration: Configuration) -> dict[str, Any]:
    """How the server is run. Requests aren't logged one by one: their addresses name people."""
    several = configuration.workers > 1
    if several:  # other processes find the configuration in their environment
        os.environ.update(configuration.environment())
        app: Any = "likewise.service.run:server_app"
    else:
        from likewise.service.run import server_app

        app = server_app(configuration)
    return {
        "app": app,
        "http": "likewise.service.run.impatience:Impatient",
        "factory": several,
        "workers": configuration.workers,
        "host": configuration.host,
        "port": configuration.port,
        "ssl_certfile": configuration.tls_certificate,
        "ssl_keyfile": configuration.tls_key,
        "proxy_headers": configuration.behind_proxy,
        "forwarded_allow_ips": configuration.proxies,
        "access_log": False,
        "server_header": False,
        "log_config": None,
        "log_level": "warning",
        "timeout_graceful_shutdown": PATIENCE,
    }


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
