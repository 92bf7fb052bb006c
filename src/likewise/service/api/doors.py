"""What every request passes first: the host that it asks for, HEAD as a GET without its body, and HSTS behind TLS."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.accounts.access import PUBLIC
from likewise.service.api.problems import problem

HSTS = "max-age=31536000"
"""A browser that came by TLS once comes by TLS for a year."""
API = "/v1/"


class Doors:
    """Refuses other hosts, and answers HEAD on pages.

    Parameters
    ----------
    app
        What is behind them.
    hosts
        Names that the service answers for; none for any.
    behind_proxy
        Whether a proxy does TLS, which need not say so in a header.
    """

    def __init__(self, app: ASGIApp, *, hosts: tuple[str, ...], behind_proxy: bool) -> None:
        self._app, self._hosts, self._behind_proxy = app, hosts, behind_proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Probes of a machine's own health know an address, and no name.
        if self._hosts and scope["path"] not in PUBLIC and _host(scope) not in self._hosts:
            await problem(scope, 400, "The service does not answer for the host of this request.")(scope, receive, send)
            return
        bodiless = scope["method"] == "HEAD" and not scope["path"].startswith(API)
        if bodiless:
            scope["method"] = "GET"
        secure = self._behind_proxy or scope.get("scheme") == "https"
        if not secure and not bodiless:  # there is nothing to add
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and secure:
                MutableHeaders(scope=message).setdefault("Strict-Transport-Security", HSTS)
            if bodiless:
                scope["method"] = "HEAD"  # so that the server doesn't expect the body that the headers tell of
                message = {**message, "body": b""} if message["type"] == "http.response.body" else message
            await send(message)

        await self._app(scope, receive, sent)


def _host(scope: Scope) -> str:
    """The name in the Host header, without its port.

    Examples
    --------
    >>> [_host({"type": "http", "headers": [(b"host", name)]}) for name in (b"Loans.example:8321", b"[::1]:80", b"")]
    ['loans.example', '[::1]', '']
    """
    host = Headers(scope=scope).get("host", "").lower()
    return host if host.endswith("]") else host.rpartition(":")[0] or host
