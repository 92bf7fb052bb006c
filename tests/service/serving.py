"""Running services for tests: in a thread of this process, or in a process that can be killed."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import httpx
import jsonschema_rs
import numpy as np
import pytest
import uvicorn

from likewise.auditors import MetricAuditor
from likewise.client import Client
from likewise.service.configuration import Configuration
from likewise.service.run import create_app

STREAM = {
    "name": "loans",
    "features": [{"name": "score"}, {"name": "age", "shown": False, "sensitive": True}],
    "cuts": {"score": [0.2, 0.4, 0.6, 0.8]},
    "alpha": 0.1,
    "review": {"ask_all": True},
    "k": 8,
    "waits": {"grace": 0},
}


@contextmanager
def same_lots():
    """Streams created meanwhile draw the same lots every time, as if they had drawn this secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likewise.service.engine.for_deciders.secrets", SimpleNamespace(token_bytes=b"\1".__mul__))
        yield


@contextmanager
def strict_demo():
    """The simulated auditor of a demo minds more than usual, so that even a short past has reports in it."""

    def near(view):
        return 0.15 * np.abs(view[:, :1] - view[:, 0])

    with same_lots(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("likewise.service.run.demo.MetricAuditor", lambda metric, alpha: MetricAuditor(near, alpha=alpha))
        yield


ROLES = ("admin", "decider", "auditor", "viewer")
IN_THE_CLEAR = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For connections without TLS: httpx would read every certificate of this machine for each of them."""
DOCUMENT: dict[str, Any] = {}
"""The OpenAPI document of the first service that was asked for it; all have the same, and it takes long to make."""
VALIDATORS: dict[tuple[int, str], Any] = {}
"""What checks values against a schema of a document, by both."""
PORTS = itertools.count(10_000 + 37 * os.getpid() % 20_000)
"""Of this process, and below those that the system hands out by itself."""


def people(t, k=3):
    """The people of a round."""
    return [{"id": f"{t}-{i}", "features": {"score": (0.1 + 0.37 * (t + i)) % 1, "age": 30 + i}} for i in range(k)]


def documented(answer, document):
    """Fail unless an answer is one that the OpenAPI document has, and every error is a problem of the one shape."""
    answer.read()
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if answer.is_error:
        assert kind == "application/problem+json", answer.text
        fits({"$ref": "#/components/schemas/Problem"}, answer.json(), document)
        assert answer.json()["status"] == answer.status_code
    operation = operation_of(answer.request, document)
    if operation is not None:
        content = operation["responses"][str(answer.status_code)].get("content", {})
        assert kind in content or not answer.content, (kind, answer.text)
        if kind.endswith("json") and (schema := content[kind].get("schema")):
            fits(schema, answer.json(), document)


def fits(schema, value, document):
    """Fail unless a JSON value fits a schema of the document."""
    key = (id(document), json.dumps(schema))
    if key not in VALIDATORS:
        VALIDATORS[key] = jsonschema_rs.validator_for({**schema, "components": document["components"]})
    VALIDATORS[key].validate(value)


def operation_of(request, document):
    """What the document says of a request; None if it has no such operation."""
    for path, operations in document["paths"].items():
        pattern = re.sub(r"\\{person\\}", ".+", re.escape(path))
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", pattern), request.url.path):
            return operations.get(request.method.lower())
    return None


class Running:
    """A service that answers: its application, its address, and a connection for each role."""

    def __init__(self, app, url):
        self.app, self.url = app, url
        self.service, self.engine = app.state.service, app.state.service.engine
        self.tokens = {role: self.service.tokens.add(f"the {role}", role)[0] for role in ROLES}
        self._opened = []

    def __getattr__(self, role):
        """A connection for a role, or for anybody."""
        if role not in (*ROLES, "anybody"):
            raise AttributeError(role)
        found = self.connect(self.tokens.get(role))
        setattr(self, role, found)
        return found

    def connect(self, token=None):
        """A connection whose every answer is held against the OpenAPI document."""
        if not DOCUMENT:
            DOCUMENT.update(self.app.openapi())
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        hooks = {"response": [lambda answer: documented(answer, DOCUMENT)]}
        found = httpx.Client(base_url=self.url, headers=headers, timeout=300, event_hooks=hooks, verify=IN_THE_CLEAR)
        self._opened.append(found)
        return found

    def close(self):
        for one in self._opened:
            one.close()


class Server(uvicorn.Server):
    """Uvicorn, which looks a hundred times a second whether it should end, not ten times."""

    async def main_loop(self):
        while not await self.on_tick(0):
            await asyncio.sleep(0.01)


@contextmanager
def running(**configuration):
    """A service in a thread, that listens."""
    configuration = _kept_together(configuration)
    app = create_app(Configuration(**{"max_rate": 1e9, "max_anonymous_rate": 1e9, "tick": 0.05} | configuration))
    settings = uvicorn.Config(app, port=0, log_config=None, access_log=False)
    bound = settings.bind_socket()
    server = Server(settings)
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        assert server.started, "it ended before it listened"
        with closing(Running(app, f"http://127.0.0.1:{bound.getsockname()[1]}")) as service:
            yield service
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


def _kept_together(settings):
    """With the list of erasures beside the key, as a database on a server has no place for it."""
    return {"erasures": f"{settings['key']}.erasures"} | settings if "key" in settings else settings


def until(holds, seconds=300):
    """Wait until something holds; how long it may take says nothing about how long it should."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.01)


def free_port():
    """A port that nobody listens at, also later: one that the system gave out it may give to somebody else, too."""
    for port in PORTS:
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("the numbers never end")


class Process:
    """``likewise serve`` as an operator starts it."""

    def __init__(self, database, *, before=(), port=0, said="Serving at", **environment):
        command = [*before, sys.executable, "-m", "likewise", "serve", "--database", str(database), "--port", str(port)]
        environment = _kept_together(environment)
        variables = {f"LIKEWISE_{name.upper()}": str(value) for name, value in environment.items()}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1", **variables}
        )
        atexit.register(self.process.kill)  # should the test fail before it ends it
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if said in line:
                break
        self.said = "".join(lines)
        where = re.search(r"Serving at (\S+)", self.said)
        self.url = where[1] if where else f"http://127.0.0.1:{port}"
        found = re.search(r"lw_[0-9a-f]{64}", self.said)
        self.token = found and found[0]

    def wait(self):
        """Wait until it is ready; how many seconds that took from here."""
        began = time.monotonic()
        with Client(self.url, "nobody") as client:
            while not client.ready():
                assert time.monotonic() - began < 300, "it never got ready"
                time.sleep(0.02)
        return time.monotonic() - began

    def end(self, how="terminate"):
        """End it, kindly ("terminate") or not ("kill"); its exit code."""
        getattr(self.process, how)()
        code = self.process.wait(300)
        self.process.stdout.close()
        return code
