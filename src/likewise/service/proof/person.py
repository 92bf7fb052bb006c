"""A person's receipt: their decision followed from their probability, and both are in the log. It shows nobody else.

The event that opened a round is hashed with the root of a tree in place of its people, so one of them can be shown with
a proof. Where a round has one lot, the nonce behind it was committed to one round before, and the decision follows from
the lot and the probability. For the standalone checker: the standard library is enough.
"""

from __future__ import annotations

import hashlib
from typing import Any

from likewise.service.proof.drawn import lot_of
from likewise.service.proof.signed_log import checkpoint_of, included, leaf_hash, read_proof, signed_by, unbase64
from likewise.service.proof.spelling import canonical, commitment, unhex

NO_LOT = (
    "This stream draws by a lasting secret number of each person. From outside nobody can check that number, so only "
    "the probability and the decision are proved."
)


def check_person(receipt: dict[str, Any], key: str | None = None) -> list[str]:
    """What a receipt proves, in sentences; ValueError if it proves nothing."""
    key = receipt["key"] if key is None else key
    opened, person, content = receipt["opened"], receipt["person"], receipt["content"]
    data = _logged(opened, receipt["proof"], key)
    if opened["kind"] != "round_opened":
        raise ValueError("The event is not one that opens a round.")
    place, size, root = receipt["position"], data["people"]["size"], unhex(data["people"]["root"])
    path = [unbase64(part) for part in receipt["people_proof"]]
    if not included(leaf_hash(canonical(person)), place, size, root, path):
        raise ValueError("The person is not one of the round.")
    if commitment(receipt["salt"], content) != person["commitment"]:
        raise ValueError("The person is not the one that the log committed to.")
    answer = "yes" if person["decision"] else "no"
    about = f"Round {data['t']} of {opened['stream']!r}: {content['id']!r} had the probability {person['probability']}"
    return [f"{about} and the answer {answer}. Both are in the log, signed with the key {key}.", _drawn(receipt, key)]


def _logged(event: dict[str, Any], proof: str, key: str) -> dict[str, Any]:
    """The data of an event that is in the log of its stream."""
    hash = hashlib.sha256(canonical({name: value for name, value in event.items() if name != "hash"})).hexdigest()
    index, path, note = read_proof(proof)
    origin, size, root = checkpoint_of(note)
    if hash != event["hash"] or index != event["seq"] - 1:
        raise ValueError("An event is not what its hash says.")
    if not included(leaf_hash(unhex(hash)), index, size, root, path):
        raise ValueError("An event is not in the log.")
    if not origin.endswith(f"/{event['stream']}") or not signed_by(note, origin, unhex(key)):
        raise ValueError(f"The log is not signed with the key {key}.")
    return dict(event["data"])


def _drawn(receipt: dict[str, Any], key: str) -> str:
    """Draw the decision again."""
    opened, person = receipt["opened"], receipt["person"]
    data, t = opened["data"], opened["data"]["t"]
    if "lot" not in data:
        return NO_LOT
    if receipt["position"] in data.get("returning", ()):
        raise ValueError("They came before: ask for the receipt of their first round.")
    before = _logged(receipt["before"], receipt["before_proof"], key)
    first = receipt["before"]["kind"] == "stream_created" and t == 1
    if not first and (receipt["before"]["kind"] != "round_opened" or before["t"] != t - 1):
        raise ValueError("The event that commits to the lot is not the one before.")
    nonce = unhex(data["lot"]["nonce"])
    if hashlib.sha256(nonce).hexdigest() != (before["lot"] if first else before["lot"]["next"]):
        raise ValueError("The lot is not the one that was committed to.")
    number = lot_of(nonce, opened["stream"], t, data["drawn_from"])
    if person["decision"] != int(number < person["probability"]):
        raise ValueError(f"The decision does not follow from the lot, {number}.")
    than = "smaller" if person["decision"] else "not smaller"
    return f"The lot of the round, committed to one round before, was {number}. It is {than} than the probability."
