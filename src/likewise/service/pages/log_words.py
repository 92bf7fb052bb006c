"""Events of the log in people's words, one sentence each; the export has them whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from likewise.service.stream.verdict import CLOCK
from likewise.wording import number, plural

Data = Mapping[str, Any]
VERDICTS = {
    "reported": "reported a pair",
    "cleared": "found no violation",
    "skipped": "skipped the round",
    "expired": "nobody reviewed the round in time",
}


def sentence(kind: str, data: Data) -> str:
    """What happened, in a sentence.

    Examples
    --------
    >>> pair = {"favoured": 2, "disfavoured": 5, "gap": 0.31250001}
    >>> sentence("audited", {"by": "ann", "t": 3, "verdict": "reported", "reports": [pair], "remark": None})
    'ann reported a pair: the people at places 3 and 6, 0.31 apart.'
    >>> sentence("learned", {"version": 18, "delay": 0, "dropped": False})
    'The learner learned from the round, which gives policy 18.'
    """
    words = WORDS.get(kind)
    return words(data) if words is not None else kind.replace("_", " ")


def _opened(data: Data) -> str:
    yes = sum(person["decision"] for person in data["people"])
    again = f" {plural(len(data['returning']), 'person', 'people')} came before." if data.get("returning") else ""
    people = plural(len(data["people"]), "person", "people")
    return f"{data['by']} asked about {people}: {yes} got a yes, under policy {data['version']}.{again}"


def _audited(data: Data) -> str:
    if data["by"] == "clock":
        gone = data["verdict"] == "expired"
        return "Nobody reviewed the round in time." if gone else "Nobody had to look: no pair could be reported."
    why = " They had asked why." if data.get("hints") else ""
    remark = " There is a remark." if data.get("remark") else ""
    return f"{data['by']} {VERDICTS[data['verdict']]}{_pair(data)}.{why}{remark}"


def _judged(data: Data) -> str:
    first, second = (place + 1 for place in data["pair"])
    words = {True: "found them too different", False: "did not find them too different", None: "could not say"}
    asked = f"Asked about the people at places {first} and {second}, whom somebody else had named"
    return f"{asked}, {data['by']} {words[data['objects']]}."


def _corrected(data: Data) -> str:
    return f"{data['by']} corrected the verdict: {VERDICTS[data['verdict']]}{_pair(data)}. Nothing was unlearned."


def _pair(data: Data) -> str:
    pairs = [
        f"the people at places {pair['favoured'] + 1} and {pair['disfavoured'] + 1}, {pair['gap']:.2f} apart"
        for pair in data.get("reports", [])
    ]
    return f": {' and '.join(pairs)}" if pairs else ""


def _labels(data: Data, how: str) -> str:
    ones = sum(label for _, label in data["labels"])
    return (
        f"{data['by']} sent {plural(len(data['labels']), 'label')}{how}: {ones} yes, {len(data['labels']) - ones} no."
    )


def _closed(data: Data) -> str:
    audit, labels = data["audit"], data["labels"]
    end = "is learned" if data["learns"] else "is discarded: nothing is learned from it"
    return f"The round is closed (review {audit}, labels {labels}) and {end}."


def _learned(data: Data) -> str:
    late = f", {plural(data['delay'], 'round')} late" if data["delay"] else ""
    lost = " Its report was lost, because somebody was erased." if data["dropped"] else ""
    return f"The learner learned from the round{late}, which gives policy {data['version']}.{lost}"


def _changes(data: Data) -> str:
    return ", ".join(f"{name.replace('_', ' ')} is now {_value(value)}" for name, value in data["changes"].items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "empty" if value is None else number(value)


def _known(data: Data) -> str:
    if data.get("use") is None:
        return f"{data['by']} said that the round is not used as a known round any more."
    holds = plural(len(data["pairs"]), "upheld pair") if data.get("pairs") else "no violation"
    return f"{data['by']} marked the round as known, for {data['use']}: it holds {holds}."


def _drawn(data: Data) -> str:
    gold = " A reviewer is shown a known round beside it." if data.get("gold") else ""
    second = " A second reviewer gets it, too." if data.get("second") else ""
    drawn = "drew the round for review" if data["drawn"] else "did not draw the round for review"
    return f"The lot {drawn}, with probability {data['probability']:.2f}.{second}{gold}"


def _erased(data: Data) -> str:
    rounds = plural(len(data["rounds"]), "round")
    if data["rounds"] == [0]:
        return f"{data['by']} erased the reasons of stops."
    if data["by"] == CLOCK:
        return f"People were erased from {rounds}, as they had been kept for long enough."
    return f"{data['by']} erased somebody from {rounds}."


WORDS: dict[str, Callable[[Data], str]] = {
    "stream_created": lambda data: f"{data['by']} created the stream.",
    "round_opened": _opened,
    "audited": _audited,
    "verdict_late": lambda data: f"{_audited(data)} It came too late to be learned.",
    "pair_judged": _judged,
    "audit_retracted": lambda data: f"{data['by']} took the verdict back.",
    "audit_corrected": _corrected,
    "labels_received": lambda data: _labels(data, ""),
    "labels_late": lambda data: _labels(data, ", too late to be learned"),
    "labels_booked": lambda data: f"{data['by']} sent {plural(len(data['booked']), 'late label')}, which was learned.",
    "labels_expired": lambda data: f"The wait for labels has ended: {plural(data['missing'], 'label')} never came.",
    "round_closed": _closed,
    "learned": _learned,
    "settings_changed": lambda data: f"{data['by']} changed settings: {_changes(data)}.",
    "plan_changed": lambda data: f"{data['by']} changed the review plan: {_changes(data)}.",
    "brief_changed": lambda data: f"{data['by']} changed the brief of the reviewers: version {data['version']}.",
    "stopped": lambda data: f"{data['by']} stopped all decisions{': ' + data['reason'] if 'reason' in data else '.'}",
    "resumed": lambda data: f"{data['by']} resumed decisions.",
    "person_erased": _erased,
    "learner_checkpointed": lambda data: "The learner's state was written down, because somebody was to be erased.",
    "cleared_by_arithmetic": lambda data: "Nobody has to look: no two people were far enough apart.",
    "review_drawn": _drawn,
    "known_marked": _known,
    "known_shown": lambda data: f"{data['by']} was shown this known round, as round {data['number']}.",
    "known_answered": lambda data: f"Shown as a known round ({data['use']}): {_audited(data)} Nothing is learned.",
    "known_retracted": lambda data: f"{data['by']} took the answer to the known round back.",
    "key_rotated": lambda data: f"{data['by']} changed the key that signs the log.",
}
