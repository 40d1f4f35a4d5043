"""HAR files: the page in them, and files that are broken, hostile or strange."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.errors import DumbbellError
from dumbbell.workload.har import MOST_BYTES, HarPage, page_of, read_har


def entry(url: str, second: float, took_ms: float, size: int, asked_by: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {
        "startedDateTime": f"2026-01-01T00:00:{second:06.3f}Z",
        "time": took_ms,
        "request": {"method": "GET", "url": url, "headersSize": 350, "bodySize": 0},
        "response": {"headersSize": 200, "bodySize": size, "content": {"size": 2 * size}},
        "timings": {"send": 1, "wait": 30, "receive": 10},
    }
    return found | ({"_initiator": {"type": "parser", "url": asked_by}} if asked_by else {})


INDEX, STYLE, IMAGE = "https://a.example/", "https://a.example/s.css", "https://cdn.example/i.png"
HAR: dict[str, Any] = {
    "log": {
        "version": "1.2",
        "entries": [
            entry(INDEX, 1.0, 200, 30_000),
            entry(STYLE, 1.25, 100, 5_000, INDEX),
            entry(IMAGE, 1.4, 80, 90_000, STYLE),
            entry("data:image/png;base64,xyz", 1.5, 0, 10),
        ],
    }
}


def page(change: Any = None) -> HarPage:
    data = copy.deepcopy(HAR)
    if change is not None:
        change(data["log"]["entries"])
    return page_of(data, "test")


def test_objects_wait_for_what_asked_for_them() -> None:
    index, style, image = page().objects
    assert (index.after, index.response_bytes, index.request_bytes) == ((), 30_200, 350)
    assert (style.after, style.delay_ms) == ((0,), pytest.approx(50))
    assert (image.after, image.delay_ms, image.host) == ((1,), pytest.approx(50), "cdn.example")
    assert (image.name, image.service_ms) == ("3-i.png", 30)
    assert page().notes == ["1 entry without a web address: left out"]


def several() -> dict[str, Any]:
    """Two pages, a third without objects, and an entry of none."""
    data = copy.deepcopy(HAR)
    entries = data["log"]["entries"]
    data["log"]["pages"] = [{"id": "empty"}, {"id": "two"}, {"id": "one"}]
    for one, name in zip(entries, ("one", "one", "two"), strict=False):
        one["pageref"] = name
    return data


@pytest.mark.parametrize(
    ("page", "names", "said"),
    [
        (None, ["1-i.png"], "page 1 of 2 (two) is taken; --page takes another, by number or id"),
        ("1", ["1-i.png"], "page 1 of 2 (two) is taken"),
        ("2", ["1-index", "2-s.css"], "page 2 of 2 (one) is taken"),
        ("one", ["1-index", "2-s.css"], "page 2 of 2 (one) is taken"),
    ],
)
def test_one_of_several_pages_is_taken_and_said(
    page: str | None, names: list[str], said: str
) -> None:
    found = page_of(several(), "test", page)
    assert [one.name for one in found.objects] == names
    assert found.notes == [said, "1 entry of no page: left out"]


@pytest.mark.parametrize("page", ["0", "3", "empty", "²", "", "9" * 5000])
def test_a_page_that_is_not_there_is_one_message(page: str) -> None:
    with pytest.raises(DumbbellError, match="there is no such page; allowed: 1 to 2, or two, one"):
        page_of(several(), "test", page)


def test_the_command_takes_the_page_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "p.har"
    path.write_text(json.dumps(several()), encoding="utf-8")
    words = ["workload", "from-har", str(path), "--page", "one", "-o", str(tmp_path / "e.yaml")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "2 objects of 1 server," in done.output
    assert "page 2 of 2 (one) is taken" in (tmp_path / "e.yaml").read_text(encoding="utf-8")
    done = CliRunner().invoke(app, [*words[:4], "three", *words[5:]])
    assert done.exit_code == 2


def test_a_page_runs(tmp_path: Path) -> None:
    file, target = tmp_path / "page.har", tmp_path / "page.yaml"
    file.write_text(json.dumps(HAR))
    done = CliRunner().invoke(app, ["workload", "from-har", str(file), "-o", str(target)])
    assert done.exit_code == 0, done.output
    found = dumbbell.run(target, repeats=1).transfers
    assert (found["end_ns"] > 0).all()
    assert found["transfer_bytes"].to_list() == [30_200, 5_200, 90_200]


def asks_itself(entries: list[Any]) -> None:
    entries[1]["_initiator"] = {"url": STYLE}


def cycle(entries: list[Any]) -> None:
    entries[1]["_initiator"] = {"url": IMAGE}


def negative(entries: list[Any]) -> None:
    entries[1]["response"] = {"headersSize": -1, "bodySize": -1, "content": {"size": -5}}


def huge(entries: list[Any]) -> None:
    entries[1]["response"] = {"bodySize": 10**400, "content": {"size": 1e300}}


def no_timings(entries: list[Any]) -> None:
    del entries[1]["timings"], entries[1]["time"]


def no_start(entries: list[Any]) -> None:
    entries[1]["startedDateTime"] = "yesterday"


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (asks_itself, "1 object with a later one, or itself, as initiator"),
        (cycle, "1 object with a later one, or itself, as initiator"),
        (negative, "1 answer of unknown or impossible size"),
        (huge, "1 answer of unknown or impossible size"),
        (no_timings, "1 entry without a duration"),
        (no_start, "1 entry without a start"),
    ],
)
def test_what_is_repaired_is_said(change: Any, note: str) -> None:
    found = page(change)
    assert any(text.startswith(note) for text in found.notes), found.notes
    assert len(found.objects) == 3
    for place, one in enumerate(found.objects):
        assert all(before < place for before in one.after)
        assert one.response_bytes > 0 and one.delay_ms >= 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no HAR file: Expecting value"),
        (json.dumps(HAR)[:900], "no HAR file"),
        ("[]", "log.entries is missing"),
        ('{"log": {"entries": {}}}', "log.entries is missing"),
        ('{"log": {"entries": []}}', "log.entries is empty"),
        ('{"log": {"entries": [1, null, {}]}}', "no entry can be used; 2 entries of another kind"),
        ("[" * 100_000, "no HAR file"),
    ],
)
def test_what_is_no_page_says_why(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "x.har"
    file.write_text(text)
    with pytest.raises(DumbbellError, match=message):
        read_har(file)


def test_an_enormous_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "x.har"
    with file.open("wb") as out:
        out.truncate(MOST_BYTES + 1)
    with pytest.raises(DumbbellError, match="save it without content"):
        read_har(file)


def test_no_damage_is_more_than_a_message() -> None:
    """Values of a file replaced by what does not belong there."""
    generator = random.Random(5)
    strange = [None, -1, 1e308, "", "x", [], {}, True, "2026-13-01", 10**30, ["a"], {"url": 3}]
    for _ in range(500):
        data = copy.deepcopy(HAR)
        here: Any = data
        while isinstance(here, (dict, list)) and here:
            key = generator.choice(list(here) if isinstance(here, dict) else range(len(here)))
            if generator.random() < 0.3:
                here[key] = generator.choice(strange)
                break
            here = here[key]
        try:
            found = page_of(data, "x")
        except DumbbellError:
            continue
        assert all(one.response_bytes > 0 and one.request_bytes > 0 for one in found.objects)
