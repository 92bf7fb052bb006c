"""A generator of tamperings: kinds × random places, by forgers with different means.

``Miss`` names a tampering that altered something and was not found by somebody who kept a checkpoint. Three forgers
bend an export, or the archives of a log: one who just edits it, one who computes the chain again, and one who has the
service's key and signs their own past. A fourth has the database: what they change for a moment must not be shown or
certified, and what they leave must be found in an export.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pytest
from forging import FORGER, SIGNER, checkpoint, events, renumbered
from sqlalchemy.exc import DBAPIError

from likewise.errors import LikewiseError
from likewise.service.accounts.staff import ERASED, Staff
from likewise.service.log.tree import leaves as leaf_hashes
from likewise.service.pages.questions import looked
from likewise.service.projections import pairs, summaries
from likewise.service.projections.follower import Follower
from likewise.service.projections.gathering import gathering
from likewise.service.proof import standalone
from likewise.service.proof.spelling import canonical, commitment, event_hash, parsed
from likewise.service.proof.standalone import Checker, check
from likewise.service.refusals import AlteredRows, BrokenLog
from likewise.transparency.merkle import Frontier


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


def whose_alias_stands_there(lines, rng):
    aliases = [i for i in events(lines) if str(lines[i]["data"].get("by", "")).startswith("~")]
    lines[int(rng.choice(aliases))]["data"]["by"] = "~" + rng.bytes(32).hex()


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


def _reasons(lines):
    return [i for i in asides(lines) if lines[i]["t"] == 0]


def the_reason_of_a_stop(lines, rng):
    lines[int(rng.choice(_reasons(lines)))]["content"]["reason"] += "!"


def the_reason_of_a_stop_left_out(lines, rng):
    del lines[int(rng.choice(_reasons(lines)))]


def a_reason_as_earlier_releases_wrote_it(lines, rng):
    lines[any_of(lines, rng, "stopped")]["data"] = {"reason": "another one", "by": "root"}
    del lines[int(rng.choice(_reasons(lines)))]


def whom_an_erasure_erased(lines, rng):
    data = lines[any_of(lines, rng, "person_erased")]["data"]
    data["erased"] = data["erased"][1:]


def when_people_were_erased(lines, rng):
    data = lines[any_of(lines, rng, "person_erased")]["data"]
    data["by"] = "clock" if data["by"] != "clock" else "root"


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
    whose_alias_stands_there, what_was_shown, a_label, a_time, a_kind, an_event_left_out, an_event_twice,
    two_events_swapped, an_event_of_their_own, the_end_cut_off, a_person, a_person_and_the_commitment_to_them, a_salt,
    the_round_of_a_person, a_person_left_out, a_person_twice, a_setting, the_name_of_the_log, another_secret,
    a_header_that_hides_people, another_public_key, a_change_of_the_key, a_signature, a_checkpoint_by_somebody_else,
    a_root, the_reason_of_a_stop, the_reason_of_a_stop_left_out, a_reason_as_earlier_releases_wrote_it,
    whom_an_erasure_erased, when_people_were_erased,
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


# What a forger does to archives --------------------------------------------------------------------------------------


def where_it_begins(parts, rng):
    parts[-1][0]["continues"]["after"] += int(rng.choice([-2, -1, 1, 2]))


def the_tree_before_it(parts, rng):
    edge = parts[-1][0]["continues"]["edge"]
    edge[rng.integers(len(edge))] = base64.b64encode(rng.bytes(32)).decode()


def a_tree_before_it_that_is_too_small(parts, rng):
    parts[-1][0]["continues"]["edge"].pop()


def the_hash_before_it(parts, rng):
    parts[-1][0]["continues"]["prev"] = rng.bytes(32).hex()


def a_change_of_the_key_before_it(parts, rng):
    note = FORGER.sign(f"likewise key 1\n{parts[-1][0]['origin']}\n{FORGER.public_key}\n", "loans")
    rotation = {"old": SIGNER.public_key, "new": FORGER.public_key, "note": str(note)}
    parts[-1][0]["continues"]["rotations"].append(rotation)


def no_part_before_it(parts, rng):
    del parts[-1][0]["continues"]


def a_part_that_ends_early(parts, rng):
    lines = parts[0]
    last = events(lines)[-1]
    refs = set(_refs(lines[last]))
    parts[0] = [line for i, line in enumerate(lines) if i != last and line.get("ref") not in refs]


def another_change_of_a_part(parts, rng):
    which = parts[int(rng.integers(len(parts)))]
    fits = [a_value_of_an_event, a_time, a_person, a_salt, a_person_left_out, an_event_left_out, an_event_twice]
    fits[rng.integers(len(fits))](which, rng)


PART_CHANGES = [
    where_it_begins, the_tree_before_it, a_tree_before_it_that_is_too_small, the_hash_before_it,
    a_change_of_the_key_before_it, no_part_before_it, a_part_that_ends_early, another_change_of_a_part,
]  # fmt: skip
OF_TWO = {a_part_that_ends_early}
"""These say nothing of a part that stands alone."""


def found_in_parts(parts, kept):
    """Whether somebody who kept a checkpoint finds something wrong with archives in a row."""
    checker = Checker(SIGNER.public_key)
    for part in parts:
        checker.next_part()
        for line in part:
            checker.take(parsed(canonical(line)))
    return checker.finish(kept).problems != []


def chained_part(lines):
    """The events of a part numbered and chained again, from where its header says that it begins."""
    start = lines[0].get("continues") or {"after": 0, "prev": standalone.GENESIS}
    seq, prev, done = start["after"], start["prev"], []
    for line in lines:
        if line["line"] == "event":
            seq += 1
            event = {name: value for name, value in line.items() if name != "line"} | {"seq": seq, "prev": prev}
            prev = event["hash"] = event_hash(event)
            line = {"line": "event"} | event
        done.append(line)
    return [done[0] | {"events": seq}, *done[1:]]


def signed_part(lines):
    """The same, with a checkpoint by whoever has the key in place of those that were there."""
    whole = [line for line in chained_part(lines) if line["line"] != "checkpoint"]
    start = whole[0].get("continues") or {"after": 0, "edge": []}
    tree = Frontier(start["after"], tuple(base64.b64decode(node) for node in start["edge"]))
    tree = tree.add_all(leaf_hashes(whole[i]["hash"] for i in events(whole)))
    return [*whole, {"line": "checkpoint", "note": str(SIGNER.checkpoint("loans", tree))}]


PART_FORGERS = [edited, chained_part, signed_part]


def bend_parts(parts, kept, seed):
    """One random tampering of archives, of the last one alone or of all in a row; the miss, if it was not found."""
    rng = np.random.default_rng(seed)
    change, forger = PART_CHANGES[seed % len(PART_CHANGES)], PART_FORGERS[int(rng.integers(len(PART_FORGERS)))]
    forged = deepcopy(parts if change in OF_TWO or rng.integers(2) else parts[-1:])
    honest = deepcopy(forged)
    change(forged, rng)
    if forged == honest:
        return None
    with suppress(IndexError, ValueError):  # a tree that is none can't be signed
        forged = [forger(part) for part in forged]
    return None if found_in_parts(forged, kept) else Miss(f"{forger.__name__} (archives)", change.__name__, seed)


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
    "what was said of a round in another": "UPDATE asides SET round = {t} WHERE kind = 'remark' AND round > 0",
    "the reason of a stop in a round": "UPDATE asides SET round = {t} WHERE round = 0",
    "a person as a remark": "UPDATE asides SET kind = 'remark', person = NULL WHERE rowid = {row} AND kind = 'person'",
    "a remark as a note": "UPDATE asides SET kind = 'note' WHERE kind = 'remark'",
    "a person gone": "DELETE FROM asides WHERE rowid = {row}",
    "a name of staff": "UPDATE staff SET name = 'mallory' WHERE name = 'ann'",
    "the salt of a name": "UPDATE staff SET salt = {digits} WHERE name = 'ann'",
    "another alias of a name": "UPDATE staff SET alias = '~' || {digits} WHERE name = 'ann'",
    "somebody's alias with another's name": "UPDATE staff SET name = 'ann', salt = {digits} WHERE name = 'ann'",
}
EDITS |= {
    "a person under another id": "UPDATE asides SET person = 'nobody', content = replace(content, "
    '\'"id":"\' || person || \'"\', \'"id":"nobody"\') WHERE rowid = {row} AND person IS NOT NULL',
    "a person under somebody's id": "UPDATE asides SET person = '5.1', content = replace(content, "
    '\'"id":"\' || person || \'"\', \'"id":"5.1"\') WHERE rowid = {row} AND person IS NOT NULL',
    "who was asked about again": "UPDATE asides SET person = 'nobody' WHERE person = '5.1'",
    "a stored answer": 'UPDATE responses SET response = replace(response, \'"decision":\', \'"decision":1,"was":\')',
    "the request of a stored answer": "UPDATE responses SET request = {digits}",
    "the seal of a stored answer": "UPDATE responses SET seal = {digits}",
    "a stored answer without a seal": "UPDATE responses SET seal = NULL, response = replace(response, 'false', 'true')",
    "a stored answer gone": "DELETE FROM responses",
}
OF_ANSWERS = {kind for kind, edit in EDITS.items() if " responses" in edit}
"""Nor are stored answers a part of the log."""
OF_STAFF = {kind for kind, edit in EDITS.items() if "UPDATE staff" in edit}
"""Names are no part of the log: an export is the same, and only what is shown could be another."""

ROWS = ("summaries", "sheets", "followed", "samples", "gaps", "helped")
"""What pictures are drawn from."""
EDITS |= {
    "a verdict in the pictures": "UPDATE summaries SET verdict = 'reported', gap = 0.5 WHERE round = {t}",
    "labels in the pictures": "UPDATE summaries SET labels = '[1]' WHERE round = {t}",
    "a round gone from the pictures": "DELETE FROM summaries WHERE round = {t}",
    "a hash of the pictures": "UPDATE sheets SET content = replace(content, 'a', 'b')",
    "a bin of the pictures": "UPDATE followed SET content = replace(content, '[{t}, 1, ', '[{t}, 9, ')",
    "the place of the pictures in the log": "UPDATE followed SET seq = {seq}",
    "a sample of the pictures": "UPDATE samples SET proved = {t} WHERE rowid = 1",
    "counts of pairs in the pictures": "INSERT INTO helped VALUES ('loans', 0, {t}, 7)",
    "a gap in the pictures": "INSERT INTO gaps VALUES ('loans', 999, {t}, 0.25)",
}
OF_PICTURES = {kind for kind, edit in EDITS.items() if any(f" {table} " in edit for table in ROWS)}
"""Nor are pictures a part of the log."""

HIDDEN = {
    "a kind": ("who looked",),
    "a stored answer gone": ("stored answer",),
}
"""What docs/service.md says can be hidden for a moment: events are found by their kind, answers by their key. It is
counted and printed like every miss, but no test fails because of it."""
TELLING = (BrokenLog, AlteredRows)
"""Refusals that tell of tampering; anything else that is said is taken for an answer."""


class Reached(Exception):
    """A command went so far that its events would have been written."""


class Insider:
    """Changes rows of a database behind a running engine, looks, and puts them back."""

    def __init__(self, engine, path, kept, again):
        self.engine, self.path, self.kept, self.again = engine, path, kept, again
        self.hidden = []
        self.staff = Staff(engine.store)
        self.alias = self.staff.find("ann")
        with closing(sqlite3.connect(path)) as database, database:
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                database.execute(f"DROP TRIGGER {name}")
            self.events = database.execute("SELECT max(seq) FROM events").fetchone()[0]
            self.rows = [row for (row,) in database.execute("SELECT rowid FROM asides")]
        self.rounds = engine.streams.get("loans").latest.state.opened
        Follower(engine).follow("loans")
        self.honest = [self.answer(look) for _, look in self.looks()]

    def looks(self):
        """Whatever leads to a claim or a screen: what it is, and how to look at it."""
        engine, rounds = self.engine, range(1, self.rounds + 1)
        yield "certificate", lambda: engine.certificate("loans")["letter"]
        yield "log", lambda: engine.events("loans", 0, 10_000)
        yield "rounds", lambda: engine.rounds("loans", rounds)
        yield "who looked", lambda: looked(engine.reads, "loans")
        yield "name", lambda: self.staff.told(self.alias)
        yield "pictures", lambda: pictures(engine)
        yield "claim", lambda: engine.claim("loans", "ann")["people"]
        for t in rounds:
            yield "round", lambda t=t: engine.round("loans", t)
        for person in ("0.0", "5.1", "last.2"):
            yield "person", lambda person=person: engine.person("loans", person)
            yield "receipt", lambda person=person: claims(engine.proofs.person("loans", person))
            yield "decision", lambda person=person: self.written(lambda: self.decide(person)).response["decisions"]
            yield "erasure", lambda person=person: self.written(lambda: engine.erase("loans", person, "root")).erase
        yield "stored answer", lambda: self.unwritten(lambda: engine.decide("loans", *self.again))

    def decide(self, person):
        features = {"score": 0.5, "age": 0.5, "sex": 0.0}
        return self.engine.decide("loans", [{"id": person, "features": features}], "decider")

    def unwritten(self, ask):
        """What is answered if nothing has to be written for it."""

        def submit(append, **_):
            raise Reached(append)

        self.engine.store.submit = submit
        try:
            return ask()
        finally:
            del self.engine.store.submit

    def written(self, ask):
        """What a command would write, which it doesn't."""
        with pytest.raises(Reached) as reached:
            self.unwritten(ask)
        return reached.value.args[0]

    def answer(self, look):
        try:
            return json.dumps(look(), sort_keys=True).replace(json.dumps(ERASED), "refused")
        except TELLING:
            return "refused"
        except (LikewiseError, Reached) as error:
            return type(error).__name__

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
                    marks = ", ".join("?" * len(rows[0][1:])) if rows else ""
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
        for (what, look), honest in zip(self.looks(), self.honest, strict=True):
            if self.answer(look) not in (honest, "refused"):
                misses = self.hidden if what in HIDDEN.get(kind, ()) else missed
                misses.append(Miss(f"insider, for a moment, on {what}", kind, seed))
        if kind in OF_STAFF | OF_PICTURES | OF_ANSWERS:
            return missed
        try:
            lines = list(self.engine.export("loans"))
        except (LikewiseError, DBAPIError, KeyError, TypeError, ValueError):
            return missed
        return missed if found(lines, self.kept) else [*missed, Miss("insider, for good", kind, seed)]


def pictures(engine):
    """Everything that the overview is drawn from."""
    store, reads, settings = engine.store, engine.reads, engine.streams.get("loans").current().stream.settings
    rows = [row._asdict() for row in summaries.newest(store, "loans")]
    counts = summaries.bins(store, "loans"), summaries.sampled(store, "loans"), pairs.spreads(store, "loans")
    return rows, counts, list(pairs.paths(store, "loans").items()), gathering(reads, store, "loans", settings)


def claims(receipt):
    """What a receipt says of its person, without signatures of where the log stood."""
    return {name: value for name, value in receipt.items() if "proof" not in name}


def _rows(database):
    return {
        table: database.execute(f"SELECT rowid, * FROM {table}").fetchall()
        for table in ("events", "asides", "staff", "responses", *ROWS)
    }


def tally(misses):
    """Misses by forger and kind, as text."""
    return "\n".join(f"{count:5} {forger}: {kind}" for (forger, kind), count in Counter(m[:2] for m in misses).items())


def tried(exports, archives, databases, misses):
    """What was tried, by means and kind, each with its misses, as text; each argument the seeds of one of the means."""
    of = {"an export": exports, "archives": archives, "a database": databases}
    kinds = ([change.__name__ for change in CHANGES], [change.__name__ for change in PART_CHANGES], list(EDITS))
    missed, lines = Counter(miss.kind for miss in misses), []
    for (what, seeds), names in zip(of.items(), kinds, strict=True):
        counts = Counter(names[seed % len(names)] for seed in seeds)
        lines += [
            f"{count:5} of {what}: {kind.replace('_', ' ')}; missed {missed[kind]}" for kind, count in counts.items()
        ]
    return "\n".join(lines)
