"""A generator of tamperings: kinds × random places, by forgers with different means.

``Miss`` names a tampering that altered something and was not found by somebody who kept a checkpoint. Three forgers
bend an export: one who just edits it, one who computes the chain again, and one who has the service's key and signs
their own past. A fourth has the database: what they change for a moment must not be shown or certified, and what they
leave must be found in an export.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from copy import deepcopy
from typing import NamedTuple

import numpy as np
from forging import FORGER, SIGNER, checkpoint, events, renumbered
from sqlalchemy.exc import DBAPIError

from likewise.errors import LikewiseError
from likewise.service.proof.spelling import canonical, commitment, event_hash, parsed
from likewise.service.proof.standalone import check


class Miss(NamedTuple):
    """A tampering that was not found: by whom, of which kind, and with which seed."""

    forger: str
    kind: str
    seed: int


# What a forger does to the lines of an export -----------------------------------------------------------------------


def leaves(value, path=()):
    """The paths to every plain value."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [found for name, part in items for found in leaves(part, (*path, name))]
    return [path]


def bent(value, rng):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return [value + 1, value - 1, -value - 0.5, value * 1.0001 + 1e-9][rng.integers(4)]
    if isinstance(value, str) and value:
        at = int(rng.integers(len(value)))
        return value[:at] + ("a" if value[at] != "a" else "b") + value[at + 1 :]
    return "x" if value is None else None


def put(value, path, new):
    for name in path[:-1]:
        value = value[name]
    value[path[-1]] = new


def got(value, path):
    for name in path:
        value = value[name]
    return value


def any_of(lines, rng, kind=None):
    places = [i for i in events(lines) if kind in (None, lines[i]["kind"])]
    return int(rng.choice(places))


def a_value_of_an_event(lines, rng):
    data = lines[any_of(lines, rng)]["data"]
    path = leaves(data)[rng.integers(len(leaves(data)))]
    put(data, path, bent(got(data, path), rng))


def a_probability(lines, rng):
    people = lines[any_of(lines, rng, "round_opened")]["data"]["people"]
    person = people[rng.integers(len(people))]
    person["probability"] = float(rng.random())


def a_decision(lines, rng):
    people = lines[any_of(lines, rng, "round_opened")]["data"]["people"]
    person = people[rng.integers(len(people))]
    person["decision"] = 1 - person["decision"]


def two_people_of_a_round(lines, rng):
    people = lines[any_of(lines, rng, "round_opened")]["data"]["people"]
    people[0], people[-1] = people[-1], people[0]


def a_verdict(lines, rng):
    data = lines[any_of(lines, rng, "audited")]["data"]
    data["verdict"] = {"cleared": "skipped"}.get(data["verdict"], "cleared")


def who_gave_a_verdict(lines, rng):
    lines[any_of(lines, rng, "audited")]["data"]["by"] = "mallory"


def what_was_shown(lines, rng):
    shown = [i for i in events(lines) if "shown" in lines[i]["data"]]
    lines[int(rng.choice(shown))]["data"]["shown"] = "ab" * 32


def a_label(lines, rng):
    labels = lines[any_of(lines, rng, "labels_received")]["data"]["labels"]
    label = labels[rng.integers(len(labels))]
    label[1] = 1 - label[1]


def a_time(lines, rng):
    line = lines[any_of(lines, rng)]
    line["at"] = line["at"].replace("20", "21", 1) if "20" in line["at"] else "1" + line["at"]


def a_kind(lines, rng):
    line = lines[any_of(lines, rng)]
    line["kind"] = "resumed" if line["kind"] != "resumed" else "stopped"


def an_event_left_out(lines, rng):
    del lines[any_of(lines, rng)]


def an_event_twice(lines, rng):
    i = any_of(lines, rng)
    lines.insert(i, deepcopy(lines[i]))


def two_events_swapped(lines, rng):
    i = int(rng.choice(events(lines)[:-1]))
    lines[i], lines[i + 1] = lines[i + 1], lines[i]


def an_event_of_their_own(lines, rng):
    i = int(rng.choice(events(lines)[:-1]))  # after the last one it would be no other past
    lines.insert(i + 1, deepcopy(lines[i]) | {"kind": "stopped", "data": {"reason": "x", "by": "mallory"}})


def the_end_cut_off(lines, rng):
    places = events(lines)
    keep = int(rng.integers(1, len(places)))
    refs = {ref for i in places[keep:] for ref in _refs(lines[i])}
    gone = set(places[keep:])
    lines[:] = [line for i, line in enumerate(lines) if i not in gone and line.get("ref") not in refs]


def _refs(line):
    return [person["ref"] for person in line["data"].get("people", ()) if isinstance(person, dict)]


def asides(lines):
    return [i for i, line in enumerate(lines) if line["line"] == "aside"]


def a_person(lines, rng):
    content = lines[int(rng.choice(asides(lines)))]["content"]
    path = leaves(content)[rng.integers(len(leaves(content)))]
    put(content, path, bent(got(content, path), rng))


def a_person_and_the_commitment_to_them(lines, rng):
    aside = lines[int(rng.choice(asides(lines)))]
    aside["content"]["more"] = int(rng.integers(9))
    for i in events(lines):
        data = lines[i]["data"]
        for promise in [*data.get("people", ()), *filter(None, [data.get("remark")])]:
            if promise["ref"] == aside["ref"]:
                promise["commitment"] = commitment(aside["salt"], aside["content"])


def a_salt(lines, rng):
    lines[int(rng.choice(asides(lines)))]["salt"] = rng.bytes(32).hex()


def the_round_of_a_person(lines, rng):
    lines[int(rng.choice(asides(lines)))]["t"] += 1


def a_person_left_out(lines, rng):
    del lines[int(rng.choice(asides(lines)))]


def a_person_twice(lines, rng):
    i = int(rng.choice(asides(lines)))
    lines.insert(i, deepcopy(lines[i]))


def a_setting(lines, rng):
    settings = lines[events(lines)[0]]["data"]["settings"]
    path = leaves(settings)[rng.integers(len(leaves(settings)))]
    put(settings, path, bent(got(settings, path), rng))


def the_name_of_the_log(lines, rng):
    lines[0]["origin"] = "elsewhere/" + lines[0]["stream"]


def a_header_that_hides_people(lines, rng):
    lines[0]["people"] = False


def another_public_key(lines, rng):
    lines[0]["public_key"] = FORGER.public_key


def another_secret(lines, rng):
    lines[events(lines)[0]]["data"]["secret"] = rng.bytes(32).hex()


def a_change_of_the_key(lines, rng):
    note = FORGER.sign(f"likewise key 1\n{lines[0]['origin']}\n{FORGER.public_key}\n", "loans")
    data = {"old": SIGNER.public_key, "new": FORGER.public_key, "note": str(note), "by": "mallory"}
    i = any_of(lines, rng)
    lines.insert(i + 1, deepcopy(lines[i]) | {"kind": "key_rotated", "data": data})
    lines[0]["public_key"] = FORGER.public_key


def a_signature(lines, rng):
    i = int(rng.choice([i for i, line in enumerate(lines) if line["line"] == "checkpoint"]))
    note = lines[i]["note"]
    at = int(rng.integers(note.rindex(" ") + 8, len(note) - 6))
    lines[i]["note"] = note[:at] + ("A" if note[at] != "A" else "B") + note[at + 1 :]


def a_checkpoint_by_somebody_else(lines, rng):
    lines[-1] = checkpoint(lines, signer=FORGER)


def a_root(lines, rng):
    text, _, signatures = lines[-1]["note"].partition("\n\n")
    origin, size, root = text.split("\n")
    lines[-1]["note"] = "\n".join([origin, str(int(size) - 1), root]) + "\n\n" + signatures


CHANGES = [
    a_value_of_an_event, a_probability, a_decision, two_people_of_a_round, a_verdict, who_gave_a_verdict,
    what_was_shown, a_label, a_time, a_kind, an_event_left_out, an_event_twice, two_events_swapped,
    an_event_of_their_own, the_end_cut_off, a_person, a_person_and_the_commitment_to_them, a_salt,
    the_round_of_a_person, a_person_left_out, a_person_twice, a_setting, the_name_of_the_log, another_secret,
    a_header_that_hides_people, another_public_key, a_change_of_the_key, a_signature, a_checkpoint_by_somebody_else,
    a_root,
]  # fmt: skip
OF_CHECKPOINTS = {a_signature, a_checkpoint_by_somebody_else, a_root}
"""These say nothing of a forger who makes all checkpoints again."""


def edited(lines):
    return lines


def chained_again(lines):
    return renumbered(lines)


def signed_again(lines):
    whole = [line for line in renumbered(lines) if line["line"] != "checkpoint"]
    return [*whole, checkpoint(whole)]


FORGERS = [edited, chained_again, signed_again]


def found(lines, kept):
    """Whether somebody who kept a checkpoint finds something wrong with an export, as it is spelt."""
    spelt = [parsed(canonical(line)) for line in lines]
    return check(spelt, kept, SIGNER.public_key).problems != []


def bend(lines, kept, seed):
    """One random tampering of an export; the miss, if it was not found."""
    rng = np.random.default_rng(seed)
    change, forger = CHANGES[seed % len(CHANGES)], FORGERS[int(rng.integers(len(FORGERS)))]
    forger = edited if change in OF_CHECKPOINTS else forger
    forged = deepcopy(lines)
    change(forged, rng)
    if forged == lines:
        return None
    return None if found(forger(forged), kept) else Miss(forger.__name__, change.__name__, seed)


# What somebody with the database does -------------------------------------------------------------------------------

EDITS = {
    "data under its hash": "UPDATE events SET data = replace(data, {old}, {new}) WHERE seq = {seq}",
    "data and hash": "UPDATE events SET data = {data}, hash = {hash} WHERE seq = {seq}",
    "a hash": "UPDATE events SET hash = {digits} WHERE seq = {seq}",
    "a time": "UPDATE events SET at = '2020-01-01T00:00:00.000000+00:00' WHERE seq = {seq}",
    "a kind": "UPDATE events SET kind = 'resumed' WHERE seq = {seq}",
    "the round of an event": "UPDATE events SET round = {t} WHERE seq = {seq}",
    "no round for an event": "UPDATE events SET round = NULL WHERE seq = {seq} AND round IS NOT NULL",
    "an event gone": "DELETE FROM events WHERE seq = {seq}",
    "the end gone": "DELETE FROM events WHERE seq >= {seq}",
    "a person": "UPDATE asides SET content = replace(content, '\"score\":0', '\"score\":1') WHERE rowid = {row}",
    "a salt": "UPDATE asides SET salt = {digits} WHERE rowid = {row}",
    "a person filed elsewhere": "UPDATE asides SET person = 'nobody' WHERE rowid = {row} AND person IS NOT NULL",
    "a person in another round": "UPDATE asides SET round = round + 1 WHERE rowid = {row}",
    "a person gone": "DELETE FROM asides WHERE rowid = {row}",
}


class Insider:
    """Changes rows of a database behind a running engine, looks, and puts them back."""

    def __init__(self, engine, path, kept):
        self.engine, self.path, self.kept = engine, path, kept
        with closing(sqlite3.connect(path)) as database, database:
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                database.execute(f"DROP TRIGGER {name}")
            self.events = database.execute("SELECT max(seq) FROM events").fetchone()[0]
            self.rows = [row for (row,) in database.execute("SELECT rowid FROM asides")]
        self.rounds = engine.streams.get("loans").latest.state.opened
        self.honest = [self.answer(look) for look in self.looks()]

    def looks(self):
        """Whatever leads to a claim or a screen."""
        engine = self.engine
        yield lambda: engine.certificate("loans")["letter"]
        yield lambda: engine.claim("loans", "ann")["people"]
        for t in range(1, self.rounds + 1):
            yield lambda t=t: engine.round("loans", t)

    def answer(self, look):
        try:
            return json.dumps(look(), sort_keys=True)
        except (LikewiseError, DBAPIError):
            return "refused"

    def bend(self, seed):
        """One random change, looked at and put back; the misses."""
        rng = np.random.default_rng(seed)
        kind = list(EDITS)[seed % len(EDITS)]
        with closing(sqlite3.connect(self.path)) as database:
            before = _rows(database)
            with database:
                changed = database.execute(EDITS[kind].format(**self.values(database, rng))).rowcount
            same = before == _rows(database)
            missed = [] if same or not changed else self.look(kind, seed)
            with database:
                for table, rows in before.items():
                    database.execute(f"DELETE FROM {table}")
                    marks = ", ".join("?" * len(rows[0][1:]))
                    database.executemany(f"INSERT INTO {table} VALUES ({marks})", [row[1:] for row in rows])
        return missed

    def values(self, database, rng):
        seq, t = int(rng.integers(1, self.events + 1)), int(rng.integers(1, self.rounds + 1))
        stream, prev, kind, version, at, data = database.execute(
            "SELECT stream, prev, kind, version, at, data FROM events WHERE seq = ?", (seq,)
        ).fetchone()
        plain = parsed(data.encode())
        paths = leaves(plain)
        path = paths[rng.integers(len(paths))]
        old = got(plain, path)
        put(plain, path, bent(old, rng))
        line = {"stream": stream, "seq": seq, "prev": prev, "kind": kind, "version": version, "at": at, "data": plain}
        quoted = {
            "old": canonical(old).decode(),
            "new": canonical(got(plain, path)).decode(),
            "data": canonical(plain).decode(),
            "hash": event_hash(line),
            "digits": rng.bytes(32).hex(),
        }
        text = {name: "'" + value.replace("'", "''") + "'" for name, value in quoted.items()}
        return text | {"seq": seq, "t": t, "row": int(rng.choice(self.rows))}

    def look(self, kind, seed):
        """Nothing that is shown or certified may differ; and whoever exports the log finds the change."""
        missed = []
        looks = list(zip(self.looks(), self.honest, strict=True))
        # Filed under another round for a moment, an event is missing on the page of its own: docs/service.md says so.
        for look, honest in looks[:1] if kind == "the round of an event" else looks:
            if self.answer(look) not in (honest, "refused"):
                missed.append(Miss("insider, for a moment", kind, seed))
        try:
            lines = list(self.engine.export("loans"))
        except (LikewiseError, DBAPIError, KeyError, TypeError, ValueError):
            return missed
        return missed if found(lines, self.kept) else [*missed, Miss("insider, for good", kind, seed)]


def _rows(database):
    return {table: database.execute(f"SELECT rowid, * FROM {table}").fetchall() for table in ("events", "asides")}


def tally(misses):
    """Misses by forger and kind, as text."""
    return "\n".join(f"{count:5} {forger}: {kind}" for (forger, kind), count in Counter(m[:2] for m in misses).items())
