"""Names of staff: the log commits to them, pages show them, and once erased nobody can tell whose they were."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from forging import write
from serving import STREAM, people, running
from typer.testing import CliRunner
from visitors import Browser

from likewise.cli import app
from likewise.client import Client
from likewise.errors import InvalidParameter
from likewise.service.accounts.staff import ALIAS, ERASED, Staff, alias_of
from likewise.service.accounts.tokens import Tokens
from likewise.service.log.tables import staff
from likewise.service.log.tables import tokens as tokens_table
from likewise.service.proof.replay import verify
from likewise.service.refusals import Conflict

ZEBULON = 'Zebulon "the" <b>'


def test_a_name_has_one_alias_that_commits_to_it(store):
    one, two = Staff(store), Staff(store)
    alias = one.alias("ann")
    assert ALIAS.fullmatch(alias)
    assert two.alias("ann") == one.find("ann") == alias != one.alias("ben")
    assert one.names()[alias] == "ann"
    with store.read() as connection:
        row = connection.execute(staff.select().where(staff.c.name == "ann")).one()
    assert alias_of("ann", row.salt) == alias != alias_of("eve", row.salt)
    store.write(lambda connection: connection.execute(staff.update().values(name=staff.c.name + "!")) and None)
    assert one.names() == {}, "a name that its alias does not commit to is nobody's"


def test_tokens_act_under_the_alias_and_are_listed_and_revoked_by_the_name(store):
    tokens = Tokens(store)
    tokens.add("root", "admin")
    token, _ = tokens.add("ann", "auditor", erasable=True)
    again, _ = tokens.add("ann", "auditor")
    alias = tokens.staff.find("ann")
    assert {tokens.find(each, 0.0).name for each in (token, again)} == {alias}
    assert [row["name"] for row in tokens.list()] == ["root", "ann", "ann"]
    with pytest.raises(Conflict, match="Revoke it first"):
        tokens.erase_name("ann")
    assert tokens.revoke("ann") == 2
    tokens.erase_name("ann")
    assert [row["name"] for row in tokens.list()] == ["root", ERASED, ERASED]
    for nobody in ("ann", "root"):
        with pytest.raises(InvalidParameter, match="can be erased"):
            tokens.erase_name(nobody)
    with pytest.raises(InvalidParameter, match="not what stands for one"):
        tokens.add(alias, "viewer")
    assert tokens.staff.alias("ann") != alias, "somebody of that name is somebody else from now on"


def test_the_log_holds_no_name_pages_show_it_and_it_can_be_erased(tmp_path):
    files = {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "points"}
    with running(**files) as service:
        engine, sessions, tokens = service.engine, service.service.sessions, service.service.tokens
        key = service.admin.post("/v1/streams", json=STREAM).json()["receipt"]["key"]
        service.admin.post("/v1/streams/loans/rounds", json={"people": people(1)})
        token, _ = tokens.add(ZEBULON, "auditor", erasable=True)
        with Client(service.url, token) as client:
            t = client.claim("loans")["t"]
            client.audit("loans", t, "skip")
            assert client.claim("loans") is None, "they are known again: nobody is asked twice"
        (verdict,) = service.viewer.get(f"/v1/streams/loans/rounds/{t}").json()["verdicts"]
        assert verdict["by"] == ZEBULON, "answers about a round tell the name"
        exported = write(tmp_path / "export.jsonl", engine.export("loans"))
        assert "Zebulon" not in exported.read_text()
        assert ALIAS.search(exported.read_text())
        assert verify(exported, key=key).first is None
        with closing(Browser(service, sessions.login(service.tokens["admin"]))) as admin:
            assert "by Zebulon &quot;the&quot; &lt;b&gt;" in admin.get(f"/streams/loans/rounds/{t}").text
            tokens.revoke(ZEBULON)
            done = CliRunner().invoke(app, ["user", "erase", ZEBULON, "--database", files["database"]])
            assert done.exit_code == 0, done.output
            (verdict,) = service.viewer.get(f"/v1/streams/loans/rounds/{t}").json()["verdicts"]
            assert verdict["by"] == ERASED
            page = admin.get(f"/streams/loans/rounds/{t}").text
            assert "Zebulon" not in page
            assert f"by {ERASED}" in page
        assert verify(write(tmp_path / "after.jsonl", engine.export("loans")), key=key).first is None
    assert b"Zebulon" not in (tmp_path / "log.db").read_bytes()


def likewise(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


def test_whoever_is_added_can_be_erased_unless_their_name_is_in_the_log_already(tmp_path):
    database = ("--database", tmp_path / "log.db")
    with running(database=str(tmp_path / "log.db")) as service, closing(Browser(service)) as browser:
        add = ("user", "add")
        for name, more in {"ann": (), "ben": ("--in-log",)}.items():
            likewise(*add, name, "--role", "auditor", *more, *database)
            likewise(*add, name, "--role", "auditor", *database)
        browser.client.cookies.set("likewise", service.service.sessions.login(service.tokens["admin"]))
        browser.csrf = re.search('name="csrf" value="([^"]+)"', browser.get("/users").text)[1]
        assert "The token of cyd" in browser.post("/users", name="cyd", role="viewer", streams="").text
        with service.engine.store.read() as connection:
            names = [row.name for row in connection.execute(tokens_table.select())]
        staff = service.service.tokens.staff
        assert [names.count(staff.find("ann")), names.count("ben"), names.count(staff.find("cyd"))] == [2, 2, 1]
        assert {"ann", "cyd"}.isdisjoint(names)
        assert staff.find("ben") is None


def test_an_old_backup_does_not_bring_back_a_name(tmp_path):
    here, there = (("--database", tmp_path / name) for name in ("here.db", "there.db"))
    with running(database=str(tmp_path / "here.db")) as service:
        service.admin.post("/v1/streams", json=STREAM)
    likewise("user", "add", "Zebulon", "--role", "auditor", *here)
    likewise("user", "add", "Ann", "--role", "auditor", *here)
    likewise("backup", tmp_path / "backup", *here)
    likewise("user", "revoke", "Zebulon", *here)
    likewise("user", "erase", "Zebulon", *here)
    likewise("restore", tmp_path / "backup", *there, "--erasures", tmp_path / "here.erasures")
    listed = likewise("user", "list", "--json", *there)
    assert [word in listed for word in (ERASED, "Ann", "Zebulon")] == [True, True, False]
    assert b"Zebulon" not in (tmp_path / "there.db").read_bytes()
