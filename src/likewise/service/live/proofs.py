"""Proofs from the logs of live streams, for whoever kept something: that an event is there, and that nothing changed.

Every proof starts from the Merkle tree in memory. What the database says is used only as far as it agrees with it, so
nothing is signed here that only the database says.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.errors import require
from likewise.service.canonical import digest, dumps, loads
from likewise.service.live.heads import Heads
from likewise.service.live.stream import LiveStream
from likewise.service.live.streams import Streams
from likewise.service.live.verified import VerifiedReads
from likewise.service.log import Store
from likewise.service.log.chain import Sealed
from likewise.service.log.export import Start
from likewise.service.log.signing import Signer
from likewise.service.refusals import BrokenLog, Unknown
from likewise.service.stream import answers
from likewise.service.stream.events import Decided, KeyRotated, RoundOpened
from likewise.transparency.merkle import Frontier, inclusion_proof, leaf_hash, nodes_of
from likewise.transparency.notes import Proof, hashes


class Proofs:
    """Answers of the engine about its logs.

    Parameters
    ----------
    store, streams
        Where the logs are.
    signer
        Signs checkpoints.
    heads
        Knows whether a log is still signed with that key: after a change another one signs.
    reads
        Looks people up.
    """

    def __init__(self, store: Store, streams: Streams, signer: Signer, heads: Heads, reads: VerifiedReads) -> None:
        self._store = store
        self._streams = streams
        self._signer = signer
        self._heads = heads
        self._reads = reads
        self.cosigned: dict[str, str] = {}
        """The newest checkpoint of each stream that witnesses have signed, too."""

    def checkpoint(self, stream: str) -> answers.LogCheckpoint:
        """Where a log stands now, signed; and every change of the key that signs."""
        tree = self._tree(self._streams.get(stream))
        rotated = (sealed for sealed in self._store.events(stream, kind=KeyRotated.kind))
        return {
            "stream": stream,
            "key": self._signer.public_key,
            "note": str(self._signer.checkpoint(stream, tree)),
            "cosigned": self.cosigned.get(stream),
            "rotations": [each.event.note for each in rotated if isinstance(each.event, KeyRotated)],
        }

    def inclusion(self, stream: str, seq: int) -> answers.Receipt:
        """The proof that an event is in the log as it stands now."""
        live = self._streams.get(stream)
        tree = self._tree(live)
        if not 1 <= seq <= tree.size:
            raise Unknown(f"There is no event {seq} in the stream {stream!r}.")
        proof = Proof(seq - 1, tuple(live.tree.inclusion(seq, tree)), self._signer.checkpoint(stream, tree))
        (hash,) = self._store.hashes(stream, seq - 1, seq)
        require(proof.holds(bytes.fromhex(hash)), "proof", "hold", "one that does not")
        return {"stream": stream, "seq": seq, "hash": hash, "key": self._signer.public_key, "proof": str(proof)}

    def consistency(self, stream: str, old: int, new: int | None = None) -> answers.Consistency:
        """The proof that the log only grew since it had ``old`` events, until it had ``new``, or until now."""
        live = self._streams.get(stream)
        tree = self._tree(live)
        until = tree.size if new is None else new
        require(until <= tree.size, "new", f"be at most {tree.size}, the number of events", until)
        require(old <= until, "old", f"be at most {until}", old)
        older, newer, proof = live.tree.consistency(old, until, tree)
        return {
            "stream": stream,
            "key": self._signer.public_key,
            "root": hashes([older.root])[0],
            "note": str(self._signer.checkpoint(stream, newer)),
            "proof": hashes(proof),
        }

    def start(self, stream: str, after: int) -> Start:
        """Where the part of a log begins that goes on after an event."""
        live = self._streams.get(stream)
        tree = self._tree(live)
        require(after <= tree.size, "after", f"be at most {tree.size}, the number of events", after)
        older = live.tree.consistency(after, tree.size, tree)[0]
        (prev,) = self._store.hashes(stream, after - 1, after)
        sealed = [each for each in self._store.events(stream, kind=KeyRotated.kind) if each.seq <= after]
        live.require(sealed)
        events = [each.event for each in sealed if isinstance(each.event, KeyRotated)]
        return Start(older, prev, [{"old": event.old, "new": event.new, "note": event.note} for event in events])

    def person(self, stream: str, person: str, t: int | None = None) -> answers.PersonReceipt:
        """The proof of one person's decision in a round, the first by default, which shows nobody else."""
        asides = self._reads.asides_of(self._streams.get(stream), [person])
        asides = [aside for aside in asides if t in (None, aside.t)]
        if not asides:
            raise Unknown(f"There is no such person in the stream {stream!r}.")
        aside = asides[0]
        opened = self._opened(stream, aside.t)
        event = opened.event
        assert isinstance(event, RoundOpened)
        promised = (aside.ref, aside.commitment)
        places = [i for i, each in enumerate(event.people) if (each.ref, each.commitment) == promised]
        if not places:
            raise BrokenLog(f"What is kept under {aside.ref} in {stream!r} is not what its round committed to.")
        leaves = [leaf_hash(dumps(_plain(each)).encode()) for each in event.people]
        (place,) = places
        before = self._opened(stream, aside.t - 1) if aside.t > 1 else self._store.events(stream, 0, 1)[0]
        return {
            "key": self._signer.public_key,
            "opened": _hashed(opened),
            "proof": self.inclusion(stream, opened.seq)["proof"],
            "before": _hashed(before),
            "before_proof": self.inclusion(stream, before.seq)["proof"],
            "position": place,
            "person": _plain(event.people[place]),
            "people_proof": hashes(inclusion_proof(nodes_of(leaves), place, len(leaves))),
            "salt": aside.salt,
            "content": aside.content,
        }

    def _opened(self, stream: str, t: int) -> Sealed:
        opened = self._store.events(stream, round=t, kind=RoundOpened.kind)
        if not opened:
            raise BrokenLog(f"The event that opened round {t} of {stream!r} is not where it was filed.")
        self._streams.get(stream).require(opened)
        return opened[0]

    def signed_certificate(
        self, stream: str, hash: str, tree: Frontier, claims: answers.StreamCertificate
    ) -> answers.StreamCertificate:
        """A certificate that names the head of the log that it rests on, signed."""
        head: answers.Head = {"seq": tree.size, "hash": hash, "root": hashes([tree.root])[0]}
        named: answers.StreamCertificate = {**claims, "origin": self._signer.origin(stream), "head": head}
        text = f"likewise certificate 1\n{named['origin']}\n{digest(named)}\n"
        return {**named, "key": self._signer.public_key, "note": str(self._signer.sign(text, stream))}

    def _tree(self, live: LiveStream) -> Frontier:
        self._heads.require_own_key(live.current().key)
        return live.durable.tree


def _plain(person: Decided) -> dict[str, Any]:
    return asdict(person)


def _hashed(sealed: Sealed) -> dict[str, Any]:
    """An event as it is hashed: with the root of a tree in place of people."""
    return sealed.line() | {"data": loads(sealed.event.hashed_text)}
