"""Requests that the server refuses: token, Host, Origin, path, method, body."""

from __future__ import annotations

import pytest

from tests.explore.server import Running


def test_without_the_token_nothing_is_answered(explorer: Running) -> None:
    for path in ("/", "/explorer.js", "/api/state", "/api/list", "/nothing"):
        for token in ("", "wrong", explorer.token[:-1], explorer.token + "x"):
            assert explorer.ask(path, headers={"X-Dumbbell-Token": token}).status == 403
        assert explorer.ask(path, headers={"X-Dumbbell-Token": "", "Cookie": "a=b"}).status == 403
    assert explorer.ask("/", headers={"X-Dumbbell-Token": ""}, token="wrong").status == 403
    # The address works for the page alone, and not beside a good cookie if it is wrong.
    assert (
        explorer.ask("/api/state", headers={"X-Dumbbell-Token": ""}, token=explorer.token).status
        == 403
    )
    assert explorer.ask("/", token="wrong").status == 403


def test_the_address_gives_a_cookie(explorer: Running) -> None:
    found = explorer.ask("/", headers={"X-Dumbbell-Token": ""}, token=explorer.token)
    assert found.status == 200 and b"url=/" in found.body and b"script" not in found.body
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    given = {"X-Dumbbell-Token": "", "Cookie": cookie.partition(";")[0]}
    page = explorer.ask("/", headers=given)
    assert page.status == 200 and explorer.token.encode() not in page.body
    assert explorer.ask("/api/state", headers=given).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.org"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "localhost.example.org:80"},
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_other_pages_are_refused(explorer: Running, headers: dict[str, str]) -> None:
    assert explorer.ask("/api/state", headers=headers).status == 403


def test_no_other_path_or_method_is_answered(explorer: Running) -> None:
    for path in (
        "/../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/../list",
        "/static/x",
        "/api",
    ):
        assert explorer.ask(path).status == 404
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert explorer.ask("/api/list", method, body=b"").status == 405
    assert explorer.ask("/api/run").status == 405
    assert explorer.ask("/api/list", filter="x" * 20_000).status == 414


def test_paths_are_never_those_of_a_user(explorer: Running) -> None:
    for run in ("../../etc/passwd", "/etc/passwd", "a" * 32, "", "%00", "*"):
        for path in ("run-facts", "packets", "explain", "animation"):
            found = explorer.ask(f"/api/{path}", run=run, flow="a", at="1")
            assert found.status == 400 and b"passwd" not in found.body
        assert explorer.ask("/api/series", runs=run, quantity="cwnd").status == 400
    assert explorer.ask("/api/list", experiment="../store").status == 409


def test_bodies_are_bounded_json(explorer: Running) -> None:
    kind = {"Content-Type": "application/json"}
    assert explorer.ask("/api/run", "POST", kind, b"x" * 300_000).status == 413
    assert explorer.ask("/api/run", "POST", {**kind, "Content-Length": "-1"}, b"{}").status == 400
    assert explorer.ask("/api/run", "POST", {"Content-Type": "text/plain"}, b"{}").status == 415
    for body in (b"", b"[]", b"{}", b"{", b'{"text": 1}', b'{"text": "a", "run": "yes"}', b"\xff"):
        assert explorer.ask("/api/run", "POST", kind, body).status == 400
    assert explorer.ask("/api/list", body=b"x").status == 400
    chunked = {**kind, "Transfer-Encoding": "chunked", "Content-Length": ""}
    body = b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(8)) + b"0\r\n\r\n"
    assert explorer.ask("/api/run", "POST", {**chunked, "Content-Length": ""}, body).status == 413


def test_answers_forbid_what_the_page_does_not_need(explorer: Running) -> None:
    for path in ("/", "/explorer.js", "/api/state", "/nothing"):
        headers = explorer.ask(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy
        assert "http" not in policy and headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers and "server" not in headers
    refused = explorer.ask("/", headers={"X-Dumbbell-Token": ""})
    assert "content-security-policy" in refused.headers
    page = explorer.ask("/").body.decode()
    assert "http://" not in page and "https://" not in page
