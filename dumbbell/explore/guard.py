"""Guard of the server: token, Host, Origin, method, length of a body, headers of answers."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Header that carries the token for programs.
HEADER = "x-dumbbell-token"
#: Largest body, and longest path with its query, in bytes.
BODY_BYTES, TARGET_BYTES = 256 << 10, 16 << 10
#: The only path that takes a body.
POST_PATH = "/api/run"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Application that passes on only what the explorer's own page asks.

    Args:
        app: Application behind it.
        token: Secret of this server.
        port: Port of the server.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"dumbbell-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, with_headers)
            return
        await self._app(scope, _bounded(receive), with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Answer to a request that is not passed on."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return _refused(403, "The Host of the request is not this server.")
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return _refused(403, "The Origin of the request is another page.")
        asked = _asked(scope)
        # A link may lead to the page, with its token; nothing else is asked from elsewhere.
        if asked is None and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refused(403, "The request comes from another page.")
        if len(scope["raw_path"]) + len(scope["query_string"]) > TARGET_BYTES:
            return _refused(414, "The address is too long.")
        if not self._known(scope, headers):
            return self._entry(scope)
        return _body_refusal(scope, headers, origin)

    def _known(self, scope: Scope, headers: Headers) -> bool:
        """Returns true if the request carries the token, and not in the address."""
        if _asked(scope) is not None:
            return False
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            cookie = None
        in_cookie = self._equal("" if cookie is None else cookie.value)
        return self._equal(headers.get(HEADER, "")) or in_cookie

    def _entry(self, scope: Scope) -> ASGIApp:
        """Answer to the address that was printed: a cookie, and the address without the token."""
        if scope["method"] == "GET" and self._equal(_asked(scope) or ""):
            # No redirect: where a link led here, the browser would keep back the cookie.
            answer = HTMLResponse(_ENTRY)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return answer
        return _refused(
            403, "Open the address that `dumbbell explore` printed: the token is wrong."
        )

    def _equal(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


_ENTRY = (
    '<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>Dumbbell</title>'
    '<link rel="icon" href="data:,">'
)
_TOO_LARGE = f"The body is larger than {BODY_BYTES} bytes."


def _asked(scope: Scope) -> str | None:
    """Token in the address of the page; None: none."""
    if scope["path"] != "/":
        return None
    found = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return found["token"][-1] if "token" in found else None


def _body_refusal(scope: Scope, headers: Headers, origin: str | None) -> ASGIApp | None:
    """Answer to a method or a body that nothing takes."""
    length = headers.get("content-length", "0")
    if scope["method"] in ("GET", "HEAD"):
        if length != "0" or "transfer-encoding" in headers:
            return _refused(400, "A request that reads has no body.")
        return None
    if scope["method"] != "POST" or scope["path"] != POST_PATH:
        return _refused(405, "Only GET is answered here.")
    if origin is None and HEADER not in headers:
        return _refused(403, "The request has no Origin.")
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return _refused(415, "The body should be JSON.")
    if not length.isdecimal() or int(length) > BODY_BYTES:
        return _refused(413, _TOO_LARGE)
    return None


def _refused(status: int, words: str) -> ASGIApp:
    return PlainTextResponse(f"{words}\n", status)


def _bounded(receive: Receive) -> Receive:
    """Receives a body up to the limit, however it is sent."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > BODY_BYTES:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return limited
