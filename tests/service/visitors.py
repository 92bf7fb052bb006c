"""Somebody at the pages, as far as that goes without a browser."""

from __future__ import annotations

from contextlib import contextmanager

import httpx
from serving import IN_THE_CLEAR, running

from likewise.service.stream.settings import Settings


@contextmanager
def service_on(database, folder, stream):
    """A service with one stream, on a database that is given; its key and checkpoints go into a folder."""
    with running(database=database, key=folder / "service.key", checkpoints=folder / "service.checkpoints") as service:
        service.engine.create(Settings.from_dict(stream), "root")
        yield service


class Browser:
    """A connection that keeps its cookie and brings along what forms must."""

    def __init__(self, service, cookie=None, csrf=""):
        self.client = httpx.Client(base_url=service.url, timeout=300, verify=IN_THE_CLEAR)
        self.csrf = csrf
        if cookie is not None:
            self.client.cookies.set("likewise", cookie)

    def get(self, path):
        return self.client.get(path)

    def post(self, path, **fields):
        return self.client.post(path, data={"csrf": self.csrf} | fields)

    def ask(self, path, key=None, **body):
        headers = {"X-CSRF-Token": self.csrf, "Idempotency-Key": key or "0123456789abcdef"}
        return self.client.post(path, json=body, headers=headers)

    def close(self):
        self.client.close()
