"""An authority for timestamps (RFC 3161), as far as tests need one: its answers are made byte by byte.

TimeStampResp = status, SignedData(TSTInfo), signed by a certificate for timestamps that a root has issued
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from rfc3161_client import _rust

SHA256, ECDSA = "2.16.840.1.101.3.4.2.1", "1.2.840.10045.4.3.2"
SIGNED_DATA, TST_INFO = "1.2.840.113549.1.7.2", "1.2.840.113549.1.9.16.1.4"
CONTENT_TYPE, DIGEST, SIGNING_CERTIFICATE = (
    "1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4", "1.2.840.113549.1.9.16.2.47",
)  # fmt: skip


def der(tag, *parts):
    content = b"".join(parts)
    size = len(content)
    width = (size.bit_length() + 7) // 8
    length = bytes([size]) if size < 128 else bytes([128 + width]) + size.to_bytes(width, "big")
    return bytes([tag]) + length + content


def sequence(*parts):
    return der(0x30, *parts)


def set_of(*parts):
    return der(0x31, *sorted(parts))


def integer(value):
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def oid(dotted):
    first, second, *rest = map(int, dotted.split("."))
    content = b""
    for number in [40 * first + second, *rest]:
        digits = [number & 127]
        while number := number >> 7:
            digits.append(128 | number & 127)
        content += bytes(reversed(digits))
    return der(0x06, content)


def octets(content):
    return der(0x04, content)


def attribute(kind, value):
    return sequence(oid(kind), set_of(value))


class Authority:
    """Stamps what it is asked to, at the time that its clock tells."""

    def __init__(self, clock=lambda: datetime.now(UTC)):
        self.clock, self.asked = clock, 0
        self._key = ec.generate_private_key(ec.SECP256R1())
        root_key = ec.generate_private_key(ec.SECP256R1())
        self.root = _certificate("A root", root_key, "A root", root_key, authority=True)
        self._certificate = _certificate("Stamps", self._key, "A root", root_key)

    def pem(self, path):
        path.write_bytes(self.root.public_bytes(Encoding.PEM))
        return path

    def answer(self, url, question):
        """What it answers to a question, as bytes."""
        self.asked += 1
        request = _rust.parse_timestamp_request(question)
        at = der(0x18, self.clock().strftime("%Y%m%d%H%M%SZ").encode())
        imprint = sequence(sequence(oid(SHA256)), octets(request.message_imprint.message))
        info = sequence(integer(1), oid("1.2.3.4"), imprint, integer(self.asked), at, integer(request.nonce))
        return sequence(sequence(integer(0)), sequence(oid(SIGNED_DATA), der(0xA0, self._signed(info))))

    def _signed(self, info):
        whole = self._certificate.public_bytes(Encoding.DER)
        attributes = [
            attribute(CONTENT_TYPE, oid(TST_INFO)),
            attribute(DIGEST, octets(hashlib.sha256(info).digest())),
            attribute(SIGNING_CERTIFICATE, sequence(sequence(sequence(octets(hashlib.sha256(whole).digest()))))),
        ]
        signature = self._key.sign(set_of(*attributes), ec.ECDSA(hashes.SHA256()))
        issuer = sequence(self._certificate.issuer.public_bytes(), integer(self._certificate.serial_number))
        signer = sequence(
            integer(1), issuer, sequence(oid(SHA256)), b"\xa0" + set_of(*attributes)[1:],
            sequence(oid(ECDSA)), octets(signature),
        )  # fmt: skip
        content = sequence(oid(TST_INFO), der(0xA0, octets(info)))
        return sequence(integer(3), set_of(sequence(oid(SHA256))), content, der(0xA0, whole), set_of(signer))


def _certificate(name, key, issuer, issuer_key, *, authority=False):
    now = datetime.now(UTC)
    named, by = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (name, issuer))
    builder = x509.CertificateBuilder().subject_name(named).issuer_name(by).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=3650))
    builder = builder.not_valid_after(now + timedelta(days=3650))
    builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    if not authority:
        use = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
        builder = builder.add_extension(use, critical=True)
    return builder.sign(issuer_key, hashes.SHA256())
