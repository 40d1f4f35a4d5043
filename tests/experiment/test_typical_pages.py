"""Typical pages by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.catalogue import typical_pages
from dumbbell.units import SIZE, whole
from tests.helpers import BASE, message

TYPICAL = typical_pages()
FILE = """\
dumbbell: 1
name: page
template: {dumbbell: {rate: 50 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
pages: [{name: p, client: d1, server: s1, page: NAME, protocol: http/2, tls: "1.3"}]
duration: 5 s
"""


def sizes(name: str) -> dict[str, tuple[int, int]]:
    """Name of an object → number, size."""
    return {one["name"]: (one.get("count", 1), whole(one["size"], SIZE)) for one in TYPICAL[name]}


def test_sizes_are_those_of_the_sources() -> None:
    median = sizes("median-2024")
    # Web Almanac 2024, desktop: kilobytes of 1024 bytes.
    for name, kilobytes in (("script{i}", 613), ("image{i}", 1054)):
        count, size = median[name]
        assert count * size / 1024 == pytest.approx(kilobytes, abs=0.1)
    assert (median["script{i}"][0], median["image{i}"][0]) == (24, 18)
    news = sizes("news")
    assert sum(count for count, _ in news.values()) == 177
    assert sum(count * size for count, size in news.values()) == pytest.approx(2e6, rel=0.01)


@pytest.mark.parametrize("name", sorted(TYPICAL))
def test_a_page_is_loaded(name: str, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(FILE.replace("NAME", name), encoding="utf-8")
    transfers = dumbbell.run(file).transfers
    assert transfers.height == sum(count for count, _ in sizes(name).values())
    total = sum(count * size for count, size in sizes(name).values())
    complete = transfers["end_ns"].max()
    # Handshake, TLS and two dependent objects take round trips; the rest is the link's rate.
    assert isinstance(complete, int)
    assert total * 8 / 50e6 < complete / 1e9 < 2 * total * 8 / 50e6 + 0.5


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("page: median", "pages[0].page: unknown typical page; found median; did you mean"),
        ("", "pages[0]: exactly one of these is needed; found none; allowed: objects, page"),
        (
            "page: news, objects: [{name: a, size: 1 KB}]",
            "pages[0]: exactly one of these is needed; found objects and page",
        ),
    ],
)
def test_mistakes_are_named(fields: str, expected: str) -> None:
    said = message(BASE + f"pages: [{{name: p, client: d1, server: s1, {fields}}}]\n")
    assert expected in said
