"""Hashes, signatures, and the file an outsider checks them with."""

from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from likewise.errors import InvalidParameter
from likewise.service.log.chain import seal, unsealed
from likewise.service.log.checkpoints import CheckpointFile, point
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify
from likewise.service.proof.script import script
from likewise.service.proof.signed_log import ORDER, genuine, verify_signature
from likewise.service.proof.spelling import event_hash
from likewise.service.proof.standalone import GENESIS, main
from likewise.service.stream.events import Aside, Resumed, Stopped, stamp
from likewise.transparency.notes import read_note

SCRIPT = script()
STOPPED = Stopped(at=stamp(0), reason="x", by="ann")
# RFC 8032, section 7.1, tests 1 to 3: public key, message, signature.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe2"
        "4655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302ae"
        "eb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28d"
        "c027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_signatures_of_the_standard_are_accepted(key, message, signature):
    assert verify_signature(bytes.fromhex(key), bytes.fromhex(signature), bytes.fromhex(message))


def test_plain_python_agrees_with_the_library_that_signs():
    rng = np.random.default_rng(0)
    for _ in range(10):
        key = Ed25519PrivateKey.from_private_bytes(rng.bytes(32))
        public, message = key.public_key().public_bytes_raw(), rng.bytes(int(rng.integers(100)))
        signature = bytearray(key.sign(message))
        assert verify_signature(public, bytes(signature), message)
        signature[rng.integers(64)] ^= 1 << int(rng.integers(8))
        assert not verify_signature(public, bytes(signature), message)
        assert not verify_signature(public, key.sign(message), message + b"x")
        assert genuine(public, key.sign(message), message)
        assert not genuine(public, key.sign(message), message + b"x")


@pytest.mark.parametrize(("key", "signature"), [(b"", b""), (b"\xff" * 32, b"\0" * 64), (b"\0" * 31, b"\0" * 64)])
def test_what_is_no_key_or_signature_is_refused_not_raised(key, signature):
    assert not verify_signature(key, signature, b"")


def test_a_signature_is_not_taken_twice_under_another_number():
    """s and s + the order of the group would both satisfy the equation."""
    key = Ed25519PrivateKey.generate()
    signature = key.sign(b"x")
    s = int.from_bytes(signature[32:], "little") + ORDER
    other = signature[:32] + s.to_bytes(32, "little")
    assert not verify_signature(key.public_key().public_bytes_raw(), other, b"x")


def test_the_stand_alone_file_needs_nothing_but_the_standard_library():
    tree = ast.parse(SCRIPT)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    needed = {name.split(".")[0] for name in names} - sys.stdlib_module_names
    assert needed == {"cryptography"}, "which is used where it is installed"


def test_the_stand_alone_file_runs_alone(tmp_path):
    copy = tmp_path / "check.py"
    copy.write_text(SCRIPT, encoding="utf-8")
    said = subprocess.run([sys.executable, "-I", str(copy), "--help"], capture_output=True, text=True, check=True)
    assert "Check the log" in said.stdout


def test_each_event_carries_the_hash_of_the_one_before():
    one, two = seal("loans", 0, GENESIS, [STOPPED, Resumed(at=stamp(1), by="ann")])
    assert one.prev == GENESIS
    assert two.prev == one.hash == event_hash(one.to_dict())
    assert unsealed(two.to_dict()) == two


@pytest.mark.parametrize("field", ["stream", "seq", "prev", "kind", "version", "at", "data"])
def test_a_hash_depends_on_everything_an_event_says(field):
    (one,) = seal("loans", 0, GENESIS, [STOPPED])
    changed = one.to_dict() | {field: "other"}
    assert event_hash(changed) != one.hash


def test_a_commitment_binds_to_the_content_and_hides_it_behind_its_salt():
    ada = Aside("r", "person", 1, "ab" * 32, {"id": "ada", "features": {"score": 1.0}})
    same = Aside("s", "person", 2, "ab" * 32, {"features": {"score": 1.0}, "id": "ada"})
    other = Aside("r", "person", 1, "ab" * 32, {"id": "ada", "features": {"score": 1.1}})
    salted = Aside("r", "person", 1, "cd" * 32, {"id": "ada", "features": {"score": 1.0}})
    assert ada.commitment == same.commitment
    assert len({ada.commitment, other.commitment, salted.commitment}) == 3


def test_a_key_is_made_once_for_its_owner_only(tmp_path):
    path = tmp_path / "deep" / "key.pem"
    first, second = Signer.at(path), Signer.at(path)
    assert first.public_key == second.public_key
    assert path.stat().st_mode & 0o077 == 0
    assert [file.name for file in path.parent.iterdir()] == ["key.pem"]


def test_what_is_no_key_is_named_and_left_as_it_is(tmp_path):
    path, format = tmp_path / "service.key", serialization.PrivateFormat.PKCS8
    hidden = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, format, serialization.BestAvailableEncryption(b"hush")
    )
    for content in (b"", b"garbage", hidden):
        path.write_bytes(content)
        with pytest.raises(InvalidParameter, match="`key` must be the file of an Ed25519 private key"):
            Signer.at(path)
        assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"age,income\n30,20000\n"])
def test_the_stand_alone_file_says_of_what_is_no_export_that_it_is_none(tmp_path, capsys, content):
    (tmp_path / "other").write_bytes(content)
    assert main([str(tmp_path / "other")]) == 1
    said = capsys.readouterr().out
    assert "There is no header: this is not an export" in said
    assert "announces" not in said
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "none")])
    assert f"There is no file {tmp_path / 'none'}." in capsys.readouterr().err


def test_checkpoints_are_added_to_their_file_and_read_again(tmp_path):
    signer, file = Signer.generate(), CheckpointFile(tmp_path / "checkpoints.jsonl")
    assert list(file.read()) == []
    for stream, seq in (("loans", 1), ("other", 2), ("loans", 3)):
        file.write([point(stream, stamp(seq), signer.public_key, signer.sign(f"{seq}\n", stream))])
    assert [read_note(fact["note"]).text for fact in file.read("loans")] == ["1\n", "3\n"]
    for fact in file.read():
        assert read_note(fact["note"]).signed_by(f"likewise/{fact['stream']}", bytes.fromhex(fact["key"]))


def test_an_export_of_another_format_is_refused_in_one_sentence_that_names_it(tmp_path, capsys):
    header = b'{"events":1,"format":1,"line":"header","people":true,"public_key":"ab","stream":"loans"}\n'
    event = b'{"at":"1970","data":{"gap":1.0},"hash":"x","kind":"audited","line":"event","prev":"0","seq":1}\n'
    (tmp_path / "old.jsonl").write_bytes(header + event)
    sentence = (
        "The export has format 1, but only format 3 can be read. Check it with the release of Likewise that wrote it."
    )
    assert main([str(tmp_path / "old.jsonl")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [sentence, "Something is wrong."]
    with pytest.raises(InvalidParameter) as refused:
        verify(tmp_path / "old.jsonl")
    assert str(refused.value) == sentence
