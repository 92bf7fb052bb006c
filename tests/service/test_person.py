"""A person's receipt: it proves their own decision, shows nobody else, and nothing in it can be bent."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy

import pytest
from forging import SIGNER, lived
from tampering import bent, got, leaves, put

from likewise.service.proof.person import check_person
from likewise.service.proof.script import script
from likewise.service.proof.standalone import main
from likewise.service.refusals import BrokenLog, Unknown

RNG_SEEDS = range(3)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """A stream in which some got a yes and some a no. Its lots are secret, so it is lived until both happened."""
    for _ in range(40):
        engine = lived(tmp_path_factory.mktemp("person"), lot="round")
        if len({person["decision"] for t in range(1, 13) for person in engine.round("loans", t)["people"]}) == 2:
            break
        engine.close()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def receipt(engine):
    return json.loads(json.dumps(engine.proofs.person("loans", "4.1")))


def test_everybodys_decision_is_proved_from_the_first_round_to_the_last(engine):
    yes = 0
    for t in range(13):
        for i in range(3):
            try:
                proof = engine.proofs.person("loans", f"{t}.{i}")
            except Unknown:
                assert t == 12
                continue
            about, drawn = check_person(json.loads(json.dumps(proof)), SIGNER.public_key)
            assert f"Round {t + 1} of 'loans': '{t}.{i}' had the probability" in about
            yes += "answer yes" in about
            assert ("It is smaller than" in drawn) == ("answer yes" in about)
    assert 0 < yes < 36


def test_it_shows_nobody_else(engine, receipt):
    text = json.dumps(receipt)
    events = engine.store.events("loans", round=5, asides=True)
    for person, aside in zip(events[0].event.people, events[0].event.asides, strict=True):
        if aside.person != "4.1":
            for told in (person.ref, person.commitment, aside.salt, aside.person, repr(person.probability)):
                assert f'"{told}"' not in text
                assert told not in (receipt["person"].values())
    assert receipt["opened"]["data"]["people"].keys() == {"root", "size"}


def test_nothing_in_it_can_be_bent(receipt):
    import numpy as np

    rng = np.random.default_rng(0)
    assert check_person(receipt, SIGNER.public_key)
    for path in leaves(receipt):
        if path == ("key",):
            continue  # the key that is known is given
        forged = deepcopy(receipt)
        put(forged, path, bent(got(forged, path), rng))
        with pytest.raises((ValueError, KeyError, TypeError, AttributeError, IndexError)):
            check_person(forged, SIGNER.public_key)


def test_a_decision_that_does_not_follow_is_said(receipt, engine):
    other = json.loads(json.dumps(engine.proofs.person("loans", "5.0")))
    for name in ("before", "before_proof"):
        forged = deepcopy(receipt) | {name: other[name]}
        with pytest.raises(ValueError, match=r"event|log"):
            check_person(forged, SIGNER.public_key)
    forged = deepcopy(receipt) | {name: other[name] for name in ("before", "before_proof")}
    with pytest.raises(ValueError, match="is not the one before"):
        check_person(forged, SIGNER.public_key)
    forged = deepcopy(receipt) | {name: other[name] for name in ("person", "people_proof", "position")}
    with pytest.raises(ValueError, match="not one of the round"):
        check_person(forged, SIGNER.public_key)


def test_the_checkers_say_it(receipt, tmp_path, capsys):
    path, alone = tmp_path / "receipt.json", tmp_path / "check.py"
    path.write_text(json.dumps(receipt, indent=2))
    assert main(["--person", str(path), "--key", SIGNER.public_key]) == 0
    assert "had the probability" in capsys.readouterr().out
    assert main(["--person", str(path), "--key", "ab" * 32]) == 1
    assert "This proves nothing" in capsys.readouterr().out
    alone.write_text(script(), encoding="utf-8")
    said = subprocess.run([sys.executable, "-I", alone, "--person", path], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert "To be sure, give the key that you know." in said.stdout


def test_where_everybody_has_a_number_of_their_own_it_says_what_is_not_proved(tmp_path):
    engine = lived(tmp_path)
    proof = json.loads(json.dumps(engine.proofs.person("loans", "4.1")))
    assert "nobody can check that number" in check_person(proof, SIGNER.public_key)[1]
    with pytest.raises(Unknown):
        engine.proofs.person("loans", "nobody")
    from sqlalchemy import text

    change = text("UPDATE asides SET salt = :salt WHERE person = '4.1'")
    engine.store.write(lambda connection: connection.execute(change, {"salt": "ab" * 32}) and None)
    with pytest.raises(BrokenLog, match="is not what its round committed to"):
        engine.proofs.person("loans", "4.1")
    engine.close()
