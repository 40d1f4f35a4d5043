"""`dumbbell figure`: files of every form, a paper's column, mistakes with what is allowed."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import dumbbell
from dumbbell.cli import figure
from dumbbell.figures import KINDS, function_of, options_of
from dumbbell.figures.figure import Figure
from dumbbell.figures.paper import PPI
from tests.helpers import ROOT
from tests.running.test_cli import call

LONG = "a level with a name that has no room in a column of a paper " * 3
EXPERIMENT = f"""\
dumbbell: 1
name: verb
template: {{dumbbell: {{pairs: 2, rate: 5 Mbit/s, rtt: $rtt, buffer: $buffer}}}}
flows:
  - {{name: "<script>alert(1)</script>", from: s1, to: d1, tcp: $cc, start_jitter: 10 ms}}
  - {{name: "[/b]", from: s2, to: d2, tcp: cubic, start_jitter: 10 ms}}
factors:
  cc: [reno, bbr]
  rtt: [10 ms, 20 ms, 40 ms]
  buffer: [{{label: "{LONG[:100]}", value: 1 BDP}}, {{label: "[red]2 BDP", value: 2 BDP}}]
sampling: {{interval: 50 ms, keep: [samples, queues, drops]}}
repeats: 2
duration: 1 s
"""
FLOW = "<script>alert(1)</script>"
GOODPUT = ("--x", "rtt", "--by", "cc", "--flow", FLOW, "--where", "buffer=[red]2 BDP")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figure")
    (folder / "e.yaml").write_text(EXPERIMENT, encoding="utf-8")
    dumbbell.run(folder / "e.yaml", store=folder / "store", workers=1)
    return folder / "store"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        ("svg", b"<svg"),
        ("pdf", b"%PDF"),
        ("png", b"\x89PNG"),
        ("html", b"<!doctype"),
        ("json", b"{"),
    ],
)
def test_every_form(suffix: str, start: bytes, store: Path, tmp_path: Path) -> None:
    file = tmp_path / f"f.{suffix}"
    result = call("figure", "goodput", store, *GOODPUT, "-o", file)
    assert result.exit_code == 0, result.output
    assert file.read_bytes().startswith(start)
    assert b"<script>alert(1)" not in file.read_bytes()


@pytest.mark.slow
def test_a_column_is_85_mm_wide_with_letters_of_7_points(store: Path, tmp_path: Path) -> None:
    for suffix in ("svg", "pdf", "png"):
        result = call(
            "figure", "goodput", store, *GOODPUT, "--column", "-o", tmp_path / f"f.{suffix}"
        )
        assert result.exit_code == 0, result.output
    svg = (tmp_path / "f.svg").read_text(encoding="utf-8")
    root = ET.fromstring(svg)
    points = float(root.attrib["viewBox"].split()[2])
    assert root.attrib["width"] == "85mm"
    assert points == round(85 / 25.4 * 72)
    sizes = {float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)}
    assert min(sizes) >= 7
    box = re.search(rb"/MediaBox \[0 0 (\d+) ", (tmp_path / "f.pdf").read_bytes())
    assert box is not None and int(box[1]) == points
    wide, _ = struct.unpack(">II", (tmp_path / "f.png").read_bytes()[16:24])
    assert wide == pytest.approx(85 / 25.4 * PPI, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("goodput", ("--by", "buffer", "--where", "cc=bbr", "--flow", "[/b]")),
        ("goodput", ("--x", "buffer", "--by", "cc", "--where", "rtt=10 ms", "--flow", "[/b]")),
        ("goodput", ("--by", "flow", "--where", "cc=bbr", "--where", "buffer=[red]2 BDP")),
        ("runs", ("--metric", "goodput_mbps", "--by", "buffer", "--by", "cc", "--by", "rtt",
                  "--where", "flow=[/b]")),
        ("bars", ("--x", "buffer", "--by", "flow", "--where", "cc=bbr", "--where", "rtt=10 ms")),
        ("sweep", ("--by", "buffer", "--where", "cc=bbr", "--flow", FLOW)),
        ("sequence", ("--where", "cc=bbr", "--where", f"buffer={LONG[:100].strip()}",
                      "--where", "rtt=10 ms", "--flow", FLOW)),
        ("window", ("--by", "buffer", "--where", "cc=bbr", "--where", "rtt=10 ms")),
    ],
)  # fmt: skip
def test_nothing_leaves_a_column(
    kind: str, options: tuple[str, ...], store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "f.svg"
    result = call("figure", kind, store, *options, "--column", "-o", file, "--title", LONG)
    assert result.exit_code == 0, result.output
    root = ET.fromstring(file.read_text(encoding="utf-8"))
    wide, high = map(float, root.attrib["viewBox"].split()[2:])
    assert wide == 241
    assert high < 500


def test_where_may_choose_several_levels(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    some = ("--where", "rtt=10 ms", "--where", "rtt=40 ms")
    assert call("figure", "goodput", store, *GOODPUT, *some, "-o", file).exit_code == 0
    assert '"x": 40.0' in file.read_text(encoding="utf-8")
    assert '"x": 20.0' not in file.read_text(encoding="utf-8")


def test_where_takes_the_levels_of_a_cell_in_one(store: Path, tmp_path: Path) -> None:
    texts = []
    for number, some in enumerate(
        (("--where", "rtt=10ms,cc=reno"), ("--where", "rtt=10 ms", "--where", "cc=reno"))
    ):
        file = tmp_path / f"{number}.json"
        assert call("figure", "goodput", store, *some, "-o", file).exit_code == 0
        texts.append(file.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["godput", "-o", "f.svg"], "no figure 'godput'; did you mean goodput? There are bars, "),
        (["[/b]", "-o", "f.svg"], "no figure '[/b]'"),
        (["runs", "-o", "f.svg"], "figure runs: needs --metric, as --metric goodput_mbps"),
        (["goodput"], "dumbbell: figure: -o FILE is missing, as -o figure.svg (or .pdf, .png)"),
        (["goodput", "-o", "f.gif"], "saved as .svg, .pdf, .png, .html or .json, not '.gif'"),
        (["goodput", "-o", "f.html", "--column"], "a width in mm is for .svg, .pdf, .png, not"),
        (["goodput", "-o", "f.svg", "--width", "1"], "50 to 400 mm wide, not 1 mm"),
        (["goodput", "-o", "f.svg", "--where", "cc"], "--where cc: should be FACTOR=LEVEL"),
        (["goodput", "-o", "f.svg", "--where", "c=1"], "no factor 'c'; did you mean cc? there are"),
        (
            ["goodput", "-o", "f.svg", "--where", "cc=x"],
            "--where: no such level of cc; found x; allowed: reno, bbr",
        ),
        (["goodput", "-o", "f.svg"], "by --where FACTOR=LEVEL [E001]"),
        (["goodput", "-o", "f.svg", "--by", "cc", "--by", "rtt"], "takes one --by"),
        (["window", "-o", "f.svg", "--x", "rtt"], "takes no --x; it takes --by, --over, --where"),
        (["rtt_min_ms", "-o", "f.svg", "--pipe", "p"], "takes no --pipe; it takes --x, --by"),
        (["goodput", "-o", "f.svg", "--experiment", "verbs"], "did you mean verb?"),
        (["goodput", "-o", "/proc/none/f.svg", *GOODPUT], "/proc/none/f.svg: cannot be written"),
    ],
)
def test_mistakes_end_with_2(
    arguments: list[str],
    expected: str,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, *options = arguments
    result = call("figure", kind, store, *options)
    assert result.exit_code == 2, result.output
    assert expected in result.stderr
    assert "Traceback" not in result.output
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_every_option_of_every_kind_is_one_of_the_verb() -> None:
    text = (ROOT / "dumbbell" / "cli" / "figure.py").read_text(encoding="utf-8")
    for kind in (*KINDS, "goodput_mbps"):
        for name in options_of(function_of(kind)):
            assert name == "extras" or re.search(rf'"{name}": .*{name}', text), (kind, name)


def test_shells_complete_every_kind() -> None:
    assert tuple(sorted(KINDS)) == figure.KINDS


def test_a_width_in_python(store: Path, tmp_path: Path) -> None:
    results = dumbbell.load_results(store)
    where = {"buffer": "[red]2 BDP"}
    figure = dumbbell.figures.plot(results, "goodput", x="rtt", by="cc", flow=FLOW, where=where)
    assert isinstance(figure, Figure)
    assert 'width="120mm"' in figure.save(tmp_path / "f.svg", width_mm=120).read_text("utf-8")
