"""`dumbbell report --animate`: animations of runs, made again from a store, in its report."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell.animation import cells
from dumbbell.cli import app
from dumbbell.report import animations

pytestmark = pytest.mark.slow

TEXT = """\
dumbbell: 1
name: "small <i>"
template: {dumbbell: {pairs: 2, rate: 5 Mbit/s, rtt: $rtt, buffer: 12 packets}}
flows:
  - {name: a, from: s1, to: d1, tcp: $cc}
  - {name: "</script>", from: s2, to: d2, tcp: reno, start: 500 ms}
duration: 2 s
factors: {rtt: [20 ms, 60 ms], cc: [reno, cubic]}
repeats: 2
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(TEXT, encoding="utf-8")
    dumbbell.run(folder / "small.yaml", store=folder / "store")
    return folder / "store"


def call(store: Path, page: Path, *texts: str) -> Result:
    asked = [word for text in texts for word in ("--animate", text)]
    return CliRunner().invoke(app, ["report", str(store), "-o", str(page), *asked])


def contained(page: Path) -> list[tuple[str, str]]:
    """Words of each link and the page that it opens, of a report that contains them."""
    text = page.read_text(encoding="utf-8")
    found = []
    for name, words in re.findall(r'<a href="#packets" data-page="([^"]+)">([^<]*)</a>', text):
        (packed,) = re.findall(f'<script type="text/plain" id="{name}">([^<]*)</script>', text)
        opened = zlib.decompress(base64.b64decode(packed), animations.GZIP)
        found.append((words, opened.decode()))
    return found


def header(page: str) -> dict[str, object]:
    (text,) = re.findall(r'id="header">(.*?)</script>', page)
    found: dict[str, object] = json.loads(text)
    return found


def test_each_chosen_cell_has_its_animation(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert call(store, page, "rtt=20ms", "rtt=60 ms,cc=cubic").exit_code == 0
    found = contained(page)
    assert [words for words, _ in found] == [
        "rtt 20 ms, cc reno", "rtt 20 ms, cc cubic", "rtt 60 ms, cc cubic",
    ]  # fmt: skip
    assert [header(opened)["title"] for _, opened in found] == [
        f"small <i>: {words}" for words, _ in found
    ]
    text = page.read_text(encoding="utf-8")
    assert text.count("(repeat 0, seed 1)") == 3 and "another version" not in text
    assert list(tmp_path.iterdir()) == [page]


def test_all_chooses_every_cell_and_the_same_store_gives_the_same_page(
    store: Path, tmp_path: Path
) -> None:
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    for page in pages:
        assert call(store, page, "all").exit_code == 0
    assert len(contained(pages[0])) == 4
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_long_run_is_shown_from_its_start(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "MOST_HOPS", 2000)
    page = tmp_path / "report.html"
    assert call(store, page, "rtt=20 ms,cc=reno").exit_code == 0
    ((_, opened),) = contained(page)
    end = header(opened)["to_ns"]
    assert isinstance(end, int) and 0.2e9 < end < 1.5e9
    columns = header(opened)["columns"]
    assert isinstance(columns, list)
    (hops,) = [length for name, _, length in columns if name == "offered"]
    assert 1000 < hops <= 2000
    assert f"the first {end / 1e9:.3g} s of 2 s" in page.read_text(encoding="utf-8")


def test_large_animations_are_files_beside_the_report(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(animations, "MOST_BYTES", 100_000)
    page = tmp_path / "report.html"
    assert call(store, page, "all").exit_code == 0
    text = page.read_text(encoding="utf-8")
    links = re.findall(r'<a href="(report-animation-\d\.html)">', text)
    assert len(links) == 4 and "data-page" not in text
    titles = {str(header((tmp_path / one).read_text())["title"]) for one in links}
    assert len(titles) == 4


def test_a_run_of_another_version_is_told(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(scenario: str, to_ns: int, *, taps: bool, looking: object = cells.looking) -> str:
        assert callable(looking)
        fewer = scenario.replace('"limit_packets":12', '"limit_packets":6')
        return str(looking(fewer, to_ns, taps=taps))

    monkeypatch.setattr(cells, "looking", other)
    page = tmp_path / "report.html"
    assert call(store, page, "rtt=20 ms,cc=reno").exit_code == 0
    assert "made by another version of the engine" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rtt=21 ms", "--animate: no such level of rtt; found 21 ms; did you mean 20 ms?"),
        ("rt=20 ms", "--animate: no such factor; found rt; did you mean rtt?; allowed: rtt, cc"),
        ("al", "--animate: no such factor; found al"),
    ],
)
def test_an_unknown_cell_is_refused(store: Path, tmp_path: Path, text: str, words: str) -> None:
    page = tmp_path / "report.html"
    told = call(store, page, text)
    assert told.exit_code == 2 and words in told.output
    assert not page.exists()
