"""The tables: made once, by several processes if need be; those of another release are refused and left alone."""

from __future__ import annotations

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from likewise.errors import InvalidParameter
from likewise.service.configuration import Configuration
from likewise.service.log import Store, tables
from likewise.service.log.connections import address
from likewise.service.log.migrations import OtherVersion
from likewise.service.run.backup import backup, restore


def written_by(version, database):
    """A database as another release left it, as far as one can tell it by: its version, and a table that is in use."""
    engine = create_engine(address(database))
    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
            "CREATE TABLE events (stream TEXT, seq BIGINT)",
            "INSERT INTO events VALUES ('loans', 1)",
        ):
            connection.execute(text(statement))
        connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": version})
    engine.dispose()


def contents(database):
    """What is in it: the tables, the version and the events."""
    engine = create_engine(address(database))
    with engine.connect() as connection:
        version = connection.scalars(text("SELECT version_num FROM alembic_version")).all()
        events = [tuple(row) for row in connection.execute(text("SELECT * FROM events"))]
        found = sorted(inspect(connection).get_table_names()), version, events
    engine.dispose()
    return found


def test_migrations_make_the_tables_that_queries_know(store):
    store.migrate()
    with store.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, tables.metadata) == []
        assert context.get_current_revision() == "r2_0006"


def test_several_processes_may_migrate_at_once(database):
    stores = [Store(database) for _ in range(4)]
    failures = []

    def migrate(store):
        try:
            store.migrate()
        except Exception as error:
            failures.append(error)

    together(migrate, stores)
    assert failures == []


def test_databases_that_are_migrated_at_once_in_one_process_each_get_their_tables(tmp_path):
    stores = [Store(tmp_path / f"{number}.db") for number in range(6)]
    together(Store.migrate, stores)
    for number in range(6):
        assert "events" in contents(tmp_path / f"{number}.db")[0]


def together(work, stores):
    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()


@pytest.mark.parametrize("version", ["0001", "0005"])
def test_a_database_of_release_1_is_refused_in_one_sentence_and_stays_as_it_is(database, version):
    written_by(version, database)
    before = contents(database)
    with Store(database) as store, pytest.raises(OtherVersion) as refused:
        store.migrate()
    assert str(refused.value).startswith(f"The database has tables of version {version}, from release 1, which this")
    assert str(refused.value).endswith("keep it with the release that wrote it, and give a new database here.")
    assert contents(database) == before


def test_a_database_of_a_later_release_is_refused_too(tmp_path):
    written_by("r3_0001", tmp_path / "log.db")
    with Store(tmp_path / "log.db") as store, pytest.raises(OtherVersion, match="r3_0001, from a later release"):
        store.migrate()


def test_a_backup_of_release_1_is_neither_made_nor_restored(tmp_path):
    written_by("0003", tmp_path / "old.db")
    old, new = (Configuration(database=str(tmp_path / name)) for name in ("old.db", "new.db"))
    for refused in (lambda: backup(old, tmp_path / "file"), lambda: restore(new, tmp_path / "old.db")):
        with pytest.raises(InvalidParameter, match="tables of version 0003, from release 1"):
            refused()
    assert not (tmp_path / "file").exists()
