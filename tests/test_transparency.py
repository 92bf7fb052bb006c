"""Merkle trees against the vectors of Certificate Transparency and a second, naive way; notes against C2SP's own."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import InvalidParameter
from likewise.service.proof import signed_log
from likewise.transparency import merkle, notes

ENTRIES = [bytes.fromhex(entry) for entry in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
"""The entries in the tests of google/certificate-transparency, which RFC 6962 came with."""
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
CONSISTENCY = [
    (1, 1, []),
    (1, 8, ["96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"]),
    (6, 8, ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"]),
    (2, 5, ["5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"]),
]  # fmt: skip
AUDIT_PATH = [
    "1a208aeebcd1b39fe2de247ee8db9454e1e93a312d206b87f6ca9cc6ec6f1ddd",
    "0a1b78b383f580856f433c01a5741e160d451c185910027f6cc9f828687a40c4",
    "3d1745789bc63f2da15850de1c12a5bf46ed81e1cc90f086148b1662e79aab3d",
    "9095b61e14d8990acf390905621e62b1714fb8e399fbb71de5510e0aef45affe",
    "0a332b91b8fab564e6afd1dd452449e04619b18accc0ff9aa8393cd4928451f2",
    "2336f0181d264aed6d8f3a6507ca14a8d3b3c3a23791ac263e845d208c1ee330",
    "b4ce56e300590500360c146c6452edbede25d4ed83919278749ee5dbe178e048",
    "933f6ddc848ea562e4f9c5cfb5f176941301dad0c6fdb9d1fbbe34fac1be6966",
    "b95a6222958a86f74c030be27c44f57dbe313e5e7c7f4ffb98bcbd3a03bb52f2",
    "daeeb3ce5923defd0faeb8e0c210b753b85b809445d7d3d3cd537a9aabaa9c45",
    "7fadd0a13e9138a2aa6c3fdec4e2275af233b94812784f66bcca9aa8e989f2bc",
    "1864e6ba3e32878610546539734fb5eeae2529991f130c575c73a7e25a2a7c56",
    "12842d1202b1dc6828a17ab253c02e7ce9409b5192430feba44189f39cc02d66",
    "29af64b16fa3053c13d02ac63aa75b23aa468506e44c3a2315edc85d2dc22b11",
    "b527b99934a0bd9edd154e449b0502e2c499bba783f3bc3dfe23364b6b532009",
    "4584db8ae8e351ace08e01f306378a92bfd43611714814f3d834a2842d69faa8",
    "86a9a41573b0d6e4292f01e93243d6cc65b30f06606fc6fa57390e7e90ed580f",
    "a88b98fbe84d4c6aae8db9d1605dfac059d9f03fe0fcb0d5dff1295dacba09e6",
    "06326dc617a6d1f7021dc536026dbfd5fffc6f7c5531d48ef6ccd1ed1569f2a1",
    "f41fe8fdc3a2e4e8345e30216e7ebecffee26ff266eeced208a6c2a3cf08f960",
    "40cf5bde8abb76983f3e98ba97aa36240402975674e120f234b3448911090f8d",
    "b3222dc8658538079883d980d7fdc2bef9285344ea34338968f736b04aeb387a",
]
"""Of a certificate in a log of 3,630,887 (google/certificate-transparency)."""


def naive(entries):
    """MTH as RFC 6962 writes it down."""
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\0" + entries[0]).digest()
    k = 1
    while 2 * k < len(entries):
        k *= 2
    return hashlib.sha256(b"\1" + naive(entries[:k]) + naive(entries[k:])).digest()


def naive_path(m, entries):
    """PATH as RFC 6962 writes it down."""
    if len(entries) == 1:
        return []
    k = 1
    while 2 * k < len(entries):
        k *= 2
    if m < k:
        return [*naive_path(m, entries[:k]), naive(entries[k:])]
    return [*naive_path(m - k, entries[k:]), naive(entries[:k])]


def naive_proof(m, entries, whole=True):
    """SUBPROOF as RFC 6962 writes it down."""
    if m == len(entries):
        return [] if whole else [naive(entries)]
    k = 1
    while 2 * k < len(entries):
        k *= 2
    if m <= k:
        return [*naive_proof(m, entries[:k], whole), naive(entries[k:])]
    return [*naive_proof(m - k, entries[k:], False), naive(entries[:k])]


def nodes_of(entries):
    return lambda level, number: naive(entries[number << level : (number + 1) << level])


BOTH = pytest.mark.parametrize("ways", [merkle, signed_log], ids=["library", "standalone"])


class TestTree:
    def test_the_roots_of_the_vectors(self):
        tree = merkle.Frontier()
        assert tree.root == merkle.EMPTY_ROOT == hashlib.sha256(b"").digest()
        for entry, root in zip(ENTRIES, ROOTS, strict=True):
            tree = tree.add(merkle.leaf_hash(entry))
            assert tree.root.hex() == root
        assert signed_log.Tree(map(signed_log.leaf_hash, ENTRIES)).root(8).hex() == ROOTS[-1]

    @BOTH
    @pytest.mark.parametrize(("old", "new", "proof"), CONSISTENCY)
    def test_the_consistency_proofs_of_the_vectors(self, ways, old, new, proof):
        given = [bytes.fromhex(part) for part in proof]
        roots = bytes.fromhex(ROOTS[old - 1]), bytes.fromhex(ROOTS[new - 1])
        assert merkle.consistency_proof(nodes_of(ENTRIES), old, new) == given
        assert ways.consistent(old, new, *roots, given)
        assert not ways.consistent(old, new, *roots, [*given, given[-1] if given else bytes(32)])
        if given:
            assert not ways.consistent(old, new, *roots, given[:-1])
            assert not ways.consistent(old, new, *roots, [bytes(32), *given[1:]])
            assert not ways.consistent(new, old, *roots, given)

    @BOTH
    def test_the_inclusion_proof_of_a_real_certificate(self, ways):
        leaf = bytes.fromhex("7a395c866d5ecdb0cccb623e011dbc392cd348d1d1d72776174e127a24b09c78")
        root = bytes.fromhex("78316a05c9bcf14a3a4548f5b854a9adfcd46a4c034401b3ce7eb7ac2f1d0ecb")
        path = [bytes.fromhex(part) for part in AUDIT_PATH]
        assert ways.included(leaf, 848_049, 3_630_887, root, path)
        assert not ways.included(leaf, 848_050, 3_630_887, root, path)
        assert not ways.included(leaf, 848_049, 3_630_887, root, path[:-1])
        assert not ways.included(leaf, 848_049, 3_630_887, root, [*path, path[-1]])
        assert not ways.included(root, 848_049, 3_630_887, root, path)

    @given(st.integers(1, 70), st.data())
    def test_every_proof_is_the_naive_one_and_holds(self, size, data):
        entries = [bytes([i]) for i in range(size)]
        nodes, root = nodes_of(entries), naive(entries)
        index = data.draw(st.integers(0, size - 1))
        path = merkle.inclusion_proof(nodes, index, size)
        assert path == naive_path(index, entries)
        old = data.draw(st.integers(1, size))
        proof = merkle.consistency_proof(nodes, old, size)
        assert proof == naive_proof(old, entries)
        for ways in (merkle, signed_log):
            assert ways.included(ways.leaf_hash(entries[index]), index, size, root, path)
            assert ways.consistent(old, size, naive(entries[:old]), root, proof)
        other = signed_log.Tree(map(signed_log.leaf_hash, entries))
        assert (other.root(size), other.root(old)) == (root, naive(entries[:old]))
        assert other.consistency(old, size) == proof
        edge = merkle.frontier_of(nodes, old)
        assert edge == merkle.Frontier().add_all(map(merkle.leaf_hash, entries[:old]))
        assert edge.add_all(map(merkle.leaf_hash, entries[old:])).root == root

    @given(st.integers(2, 40), st.data())
    def test_no_proof_holds_of_what_is_not_so(self, size, data):
        entries = [bytes([i]) for i in range(size)]
        nodes, root = nodes_of(entries), naive(entries)
        index = data.draw(st.integers(0, size - 1))
        path = merkle.inclusion_proof(nodes, index, size)
        old = data.draw(st.integers(1, size - 1))
        proof = merkle.consistency_proof(nodes, old, size)
        wrong = data.draw(st.integers(0, size - 1).filter(lambda i: i != index))
        bent = data.draw(st.integers(0, len(proof) - 1))
        for ways in (merkle, signed_log):
            leaf = ways.leaf_hash(entries[index])
            assert not ways.included(leaf, wrong, size, root, path)
            assert not ways.included(ways.leaf_hash(b"other"), index, size, root, path)
            assert not ways.consistent(old, size, naive([b"x", *entries[1:old]]), root, proof)
            changed = [hashlib.sha256(part).digest() if i == bent else part for i, part in enumerate(proof)]
            assert not ways.consistent(old, size, naive(entries[:old]), root, changed)

    @pytest.mark.parametrize("more", [0, 1, 2, 3, 5, 8, 13])
    def test_the_next_entries_know_their_proofs(self, more):
        leaves = [merkle.leaf_hash(bytes([index])) for index in range(70 + more)]
        for size in range(70):
            tree, new = merkle.Frontier().add_all(leaves[:size]), leaves[size : size + more]
            nodes = merkle.nodes_of(leaves[: size + more])
            proofs = [merkle.inclusion_proof(nodes, index, size + more) for index in range(size, size + more)]
            assert tree.paths_of_next(new) == proofs
            root = tree.add_all(new).root
            assert all(
                merkle.included(leaf, size + i, size + more, root, path)
                for i, (leaf, path) in enumerate(zip(new, proofs, strict=True))
            )

    @BOTH
    def test_the_empty_tree_is_the_beginning_of_every_other(self, ways):
        root = bytes.fromhex(ROOTS[2])
        assert ways.consistent(0, 3, hashlib.sha256(b"").digest(), root, [])
        assert not ways.consistent(0, 3, root, root, [])
        assert not ways.consistent(0, 3, hashlib.sha256(b"").digest(), root, [root])


VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
NOTE = (
    "This is an example message.\n\n— example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
"""The example of C2SP's signed-note."""
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
POINT = notes.Checkpoint("likewise/loans", 3, bytes.fromhex(ROOTS[2]))


class TestNotes:
    def test_the_note_of_the_specification_is_signed_by_its_key(self):
        name, kind, key = notes.read_verifier_key(VKEY)
        assert (name, kind) == ("example.com/foo", notes.ED25519)
        assert notes.verifier_key(name, kind, key) == VKEY
        note = notes.read_note(NOTE)
        assert str(note) == NOTE
        assert note.signed_by(name, key)
        assert signed_log.signed_by(signed_log.read_note(NOTE), name, key)
        assert not note.signed_by("example.com/bar", key)
        assert not notes.read_note(NOTE.replace("example m", "example n")).signed_by(name, key)

    def test_a_witness_signs_the_time_too(self):
        note = notes.Note(POINT.text).signed(POINT.origin, PUBLIC, KEY.sign).cosigned("w.example", PUBLIC, KEY.sign, 7)
        again = notes.read_note(str(note))
        assert again == note
        assert (again.witnessed_by("w.example", PUBLIC), again.witnessed_by("other", PUBLIC)) == (7, None)
        other = signed_log.read_note(str(note))
        assert signed_log.witnessed_by(other, "w.example", PUBLIC) == 7
        assert signed_log.signed_by(other, POINT.origin, PUBLIC)
        name, data = note.signatures[1]
        later = notes.Note(note.text, ((name, data[:4] + (8).to_bytes(8, "big") + data[12:]),))
        assert later.witnessed_by("w.example", PUBLIC) is None
        assert signed_log.witnessed_by(signed_log.read_note(str(later)), "w.example", PUBLIC) is None
        assert not later.signed_by("w.example", PUBLIC), "a cosignature is no signature of a log"

    def test_a_line_of_a_known_key_that_is_not_genuine_spoils_the_note(self):
        note = notes.Note(POINT.text).signed(POINT.origin, PUBLIC, KEY.sign)
        name, data = note.signatures[0]
        bad = notes.Note(note.text, (*note.signatures, (name, data[:-1] + bytes([data[-1] ^ 1]))))
        assert not bad.signed_by(POINT.origin, PUBLIC)
        assert not signed_log.signed_by(signed_log.read_note(str(bad)), POINT.origin, PUBLIC)
        other = notes.Note(note.text, (*note.signatures, ("stranger", data)))
        assert other.signed_by(POINT.origin, PUBLIC)

    def test_a_checkpoint_is_read_again(self):
        note = notes.Note(POINT.text).signed(POINT.origin, PUBLIC, KEY.sign)
        assert notes.checkpoint_of(notes.read_note(str(note))) == POINT
        assert signed_log.checkpoint_of(signed_log.read_note(str(note))) == tuple(POINT)

    @pytest.mark.parametrize(
        "text",
        ["", "x\n3\n", "x\n03\n{root}\n", "x\n-1\n{root}\n", "x\n3\n{root}=\n", "x\n3\nAAAA\n", "x\n3\n{root}\nmore\n"],
    )
    def test_what_is_no_checkpoint_is_refused_in_a_sentence(self, text):
        root = notes.hashes([POINT.root])[0]
        with pytest.raises(InvalidParameter, match="`note` must hold a checkpoint"):
            notes.checkpoint_of(notes.Note(text.format(root=root)))
        with pytest.raises(ValueError, match="checkpoint"):
            signed_log.checkpoint_of((text.format(root=root), []))

    @pytest.mark.parametrize(
        "text",
        ["", "text\n", "text\n\n", NOTE[:-1], NOTE.replace("— ", "- "), NOTE.replace("M=", "N="), NOTE + "\x07\n"],
    )
    def test_what_is_no_note_is_refused_in_a_sentence(self, text):
        with pytest.raises(InvalidParameter, match="`note` must"):
            notes.read_note(text)
        with pytest.raises(ValueError, match="note"):
            signed_log.read_note(text)

    def test_a_proof_is_read_again_and_holds_of_its_entry_alone(self):
        note = notes.Note(POINT.text).signed(POINT.origin, PUBLIC, KEY.sign)
        proof = notes.Proof(1, tuple(merkle.inclusion_proof(nodes_of(ENTRIES), 1, 3)), note)
        again = notes.read_proof(str(proof))
        assert again == proof
        assert again.holds(ENTRIES[1])
        assert not again.holds(ENTRIES[2])
        assert not replace(again, index=2).holds(ENTRIES[1])
        index, path, other = signed_log.read_proof(str(proof))
        assert (index, path, other[0]) == (1, list(proof.path), note.text)

    @pytest.mark.parametrize("change", [("index 1", "index 01"), ("@v1", "@v2"), ("index 1", "index"), ("=\n", "\n")])
    def test_what_is_no_proof_is_refused_in_a_sentence(self, change):
        note = notes.Note(POINT.text).signed(POINT.origin, PUBLIC, KEY.sign)
        text = str(notes.Proof(1, tuple(merkle.inclusion_proof(nodes_of(ENTRIES), 1, 3)), note)).replace(*change, 1)
        with pytest.raises(InvalidParameter, match="must"):
            notes.read_proof(text)
        with pytest.raises(ValueError, match=r"proof|note"):
            signed_log.read_proof(text)

    @pytest.mark.parametrize("text", ["", "a+b+c", VKEY.replace("530d903a", "530d903b"), VKEY + "A", "x y" + VKEY])
    def test_what_is_no_verifier_key_is_refused_in_a_sentence(self, text):
        with pytest.raises(InvalidParameter, match="`key` must be a verifier key"):
            notes.read_verifier_key(text)

    def test_what_is_no_hash_is_refused(self):
        assert notes.read_hashes(notes.hashes([POINT.root])) == [POINT.root]
        with pytest.raises(InvalidParameter, match="list of hashes"):
            notes.read_hashes(["AAAA"])
