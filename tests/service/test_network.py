"""The service as the network sees it: TLS of its own, a proxy in front, and headers that anybody can write."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import time

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from serving import STREAM, Process, people, until

from likewise.client import Client, ServiceUnreachable
from likewise.service.engine import Engine
from likewise.service.stream.settings import Settings


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Files of a certificate for this machine, signed by itself, and of its key."""
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return folder / "certificate.pem", folder / "key.pem"


def test_over_tls_whoever_knows_the_certificate_is_served_and_nobody_in_the_clear(certificate, tmp_path):
    server = Process(tmp_path / "log.db", tls_certificate=certificate[0], tls_key=certificate[1])
    try:
        assert server.url.startswith("https://127.0.0.1:")
        trusting = httpx.HTTPTransport(verify=ssl.create_default_context(cafile=certificate[0]))
        with Client(server.url, server.token, transport=trusting) as client:
            until(client.ready)
            client.create_stream(**STREAM)
            assert client.decide("loans", people(1))["t"] == 1
        with Client(server.url, server.token, retries=0) as stranger, pytest.raises(ServiceUnreachable):
            stranger.stream("loans")
        clear = server.url.replace("https", "http")
        with Client(clear, server.token, retries=0) as careless, pytest.raises(ServiceUnreachable):
            careless.stream("loans")
        known = ssl.create_default_context(cafile=certificate[0])
        with httpx.Client(base_url=server.url, verify=known, timeout=300) as browser:
            assert "Secure" in browser.post("/login", data={"token": server.token}).headers["set-cookie"]
    finally:
        server.end()


def forwarded(server, address, scheme="https"):
    """A request without a token, as a proxy passes it on for somebody."""
    headers = {"X-Forwarded-For": address, "X-Forwarded-Proto": scheme}
    return httpx.get(f"{server.url}/v1/streams", headers=headers, timeout=300).status_code


def cookie(server, scheme="https"):
    """What a browser gets at the login page when a header says how it came."""
    headers = {"X-Forwarded-Proto": scheme} if scheme else {}
    asked = {"data": {"token": server.token}, "headers": headers, "timeout": 300}
    return httpx.post(f"{server.url}/login", **asked).headers["set-cookie"]


@pytest.fixture
def behind(tmp_path):
    """A function that starts a service, behind a proxy or not, where strangers may ask once in a while."""
    started = []

    def start(**settings):
        server = Process(tmp_path / "log.db", max_anonymous_rate=1, **settings)
        started.append(server)
        server.wait()
        return server

    yield start
    for server in started:
        server.end()


def test_behind_a_proxy_strangers_are_told_apart_by_their_own_addresses(behind):
    server = behind(behind_proxy="true")
    assert [forwarded(server, "10.0.0.1") for _ in range(2)] == [401, 429]
    assert forwarded(server, "6.6.6.6, 10.0.0.1") == 429, "only the proxy's own word counts, which is the last one"
    assert forwarded(server, "10.0.0.2") == 401
    assert "Secure" in cookie(server)
    assert "Secure" in cookie(server, scheme=""), "something in front does TLS, as the flag says"


def test_behind_a_proxy_nobody_else_is_believed(behind):
    """The proxy is somewhere else, and this comes from here."""
    server = behind(behind_proxy="true", proxies="192.0.2.1")
    assert [forwarded(server, f"10.0.0.{i}") for i in range(2)] == [401, 429]


def test_without_the_flag_nobody_is_believed_who_says_where_they_come_from(behind):
    server = behind()
    assert [forwarded(server, f"10.0.0.{i}") for i in range(2)] == [401, 429]
    assert "Secure" not in cookie(server), "a browser would never send it back over plain HTTP"


def test_a_body_that_trickles_in_is_refused_and_one_that_is_worked_on_for_long_is_not(serve, tmp_path, monkeypatch):
    service = serve(tmp_path / "log.db", max_seconds=0.5)
    service.engine.create(Settings.from_dict(STREAM), "root")  # not by a body that may be slow, too
    before = service.engine.store.head("loans")
    lines = [
        "POST /v1/streams/loans/rounds HTTP/1.1",
        "Host: here",
        f"Authorization: Bearer {service.tokens['decider']}",
        "Content-Type: application/json",
        "Content-Length: 1000",
    ]
    address = httpx.URL(service.url)
    with socket.create_connection((address.host, address.port), timeout=0.1) as slow:
        slow.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        for _ in range(300):  # for as long as the server listens
            try:
                answer += slow.recv(4096)
            except TimeoutError:
                slow.sendall(b" ")
            if b"within 0.5 seconds" in answer:
                break
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"application/problem+json" in answer
    assert service.engine.store.head("loans") == before
    stream = Engine.stream
    monkeypatch.setattr(Engine, "stream", lambda *given: time.sleep(1) or stream(*given))
    assert service.viewer.get("/v1/streams/loans").status_code == 200
