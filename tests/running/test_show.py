"""`dumbbell show`: windows and queues of a stored run on the terminal."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell.cli import app
from dumbbell.engines import Monitor, SimEngine
from dumbbell.errors import DumbbellError, ExperimentError, StoreError
from dumbbell.execution import plan
from dumbbell.metrics import METRICS
from dumbbell.report import write_report
from dumbbell.scenario import read_scenario
from dumbbell.show.canvas import Canvas
from dumbbell.show.chart import Line, Terminal, chart
from dumbbell.show.chosen import MEASURED, Chosen, choose, levels_of
from dumbbell.show.drawing import drawing
from dumbbell.store import Store
from dumbbell.store.tables import empty
from tests.helpers import loaded, scenario

TEXT = """\
dumbbell: 1
name: "small [/b]"
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 30 packets}}
flows:
  - {name: "one [/b] <i>", from: s1, to: d1, tcp: $cc}
  - {name: two, from: s2, to: d2, tcp: reno, start: 500 ms}
  - {name: echo, from: s1, to: d1, ping: 100 ms}
duration: 1 s
factors: {cc: [reno, {label: "cubic, cc=2", value: cubic}]}
repeats: 2
"""
PLAIN = Terminal(100, ascii=False, colour=False)
COLOURED = Terminal(100, ascii=False, colour=True)
ASCII = Terminal(60, ascii=True, colour=False)


def call(*arguments: object) -> Result:
    command = ["show", *map(str, arguments)]
    return CliRunner().invoke(app, command, env={"COLUMNS": "100"})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of four runs."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(TEXT, encoding="utf-8")
    dumbbell.run(folder / "small.yaml", store=folder / "store")
    return folder / "store"


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy of the store, for changes."""
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("columns", ["0", "1", "9"])
def test_a_terminal_without_room_gets_narrow_pictures(made: Path, columns: str) -> None:
    shown = CliRunner().invoke(app, ["show", str(made)], env={"COLUMNS": columns})
    assert shown.exit_code == 0, shown.exception
    file = str(made.parent / "small.yaml")
    done = CliRunner().invoke(app, ["run", file, "--store", str(made)], env={"COLUMNS": columns})
    assert done.exit_code == 0, done.exception


def test_dots_of_a_line() -> None:
    canvas = Canvas(1, 1, braille=True)
    canvas.line([(0, 0), (1, 1)], "*", "")
    # Dots 7, 3, 5 and 4 of braille: from the left at the bottom to the right at the top.
    assert canvas.rows()[0].plain == chr(0x2800 + 0b0101_1100)
    signs = Canvas(3, 3, braille=False)
    signs.line([(0, 0), (1, 1)], "*", "")
    signs.line([(0, 0.5)], "+", "red")
    assert [row.plain for row in signs.rows()] == ["  *", "+* ", "*  "]


def test_values_stand_beside_their_labels() -> None:
    line = Line([(0, 50), (500, 50), (1000, 100)], "*", "")
    *rows, axis, labels = (text.plain for text in chart([line], 1000, 9, ASCII))
    assert [row[:8].strip() for row in rows] == ["100", "", "", "", "50", "", "", "", "0"]
    assert rows[0].endswith("*")
    (flat,) = (row for row in rows if row.startswith("     50 +"))
    assert flat[9:].startswith("*" * 25)
    assert [label.strip() for label in labels.split()] == ["0", "500", "1000", "ns"]
    assert [column for column, sign in enumerate(axis) if sign == "+"] == [8, 9, 34, 59]


def test_a_run_is_drawn(made: Path) -> None:
    done = call(made)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        "small [/b]: cc=reno, repeat 0",
        "one of 2 cells; another: --cell 'cc=cubic, cc=2'",
        "one of 2 repeats; another: --repeat 1",
        "",
    ]
    assert "\x1b" not in done.stdout
    results, measured = dumbbell.load_results(made), {}
    for metric in MEASURED:
        rows = METRICS[metric].measure(results).filter(cc="reno", repeat=0)
        measured[metric] = dict(rows.select("flow", "value").iter_rows())
    for sign, name in (("*", "one [/b] <i>"), ("+", "two")):
        (legend,) = (line for line in lines if line.startswith(f"  {sign} {name}"))
        mean, most, again, warm_up_s = (own[name] for own in measured.values())
        words = f"mean {mean:.0f}, at most {most:.0f}; {again:.0f} retransmissions"
        assert f"{words}; warm-up {warm_up_s:.2g} s" in legend
    assert not any("echo" in line for line in lines)
    (heading,) = (line for line in lines if line.startswith("Queue of"))
    pipe = dumbbell.load_results(made).pipes.filter(
        pl.col("pipe") == "bottleneck/forward", pl.col("cc") == "reno", pl.col("repeat") == 0
    )
    dropped = pipe["dropped_overflow_packets"][0]
    assert heading.startswith(
        f"Queue of bottleneck/forward (packets), pfifo, {dropped} dropped, waiting time "
    )
    assert max(map(len, lines)) <= 100


def test_the_queue_is_drawn_to_its_limit(made: Path) -> None:
    """The queue reaches 30 packets, its limit, and never exceeds it."""
    lines = [text.plain for text in drawing(choose(made, None, None), ASCII)]
    begin = next(number for number, line in enumerate(lines) if line.startswith("Queue of"))
    rows = lines[begin + 1 : begin + 10]
    assert rows[0].startswith("     30 +")
    assert "*" in rows[0]


def test_only_a_terminal_with_colours_has_several_lines_of_dots(made: Path) -> None:
    chosen = choose(made, None, None)
    coloured = list(drawing(chosen, COLOURED))
    assert {str(span.style) for text in coloured for span in text.spans} >= {"cyan", "yellow"}
    windows = [text.plain for text in coloured[2:17]]
    assert any("\u2801" <= sign <= "\u28ff" for line in windows for sign in line)
    plain = list(drawing(chosen, PLAIN))
    assert not any(span.style for text in plain for span in text.spans)
    assert not any("\u2800" <= sign <= "\u28ff" for text in plain[2:17] for sign in text.plain)


def test_ascii(made: Path) -> None:
    lines = [text.plain for text in drawing(choose(made, None, None), ASCII)]
    assert all(line.isascii() for line in lines)
    assert max(len(line) for line in lines if line.startswith(" " * 8)) <= 60


def chosen_of(samples: list[dict[str, Any]], queues: list[dict[str, Any]]) -> Chosen:
    """A run with these rows; columns that are not given are unknown."""

    def frame(name: str, rows: list[Mapping[str, Any]]) -> pl.DataFrame:
        schema = {one: kind for one, kind in empty(name).schema.items() if one != "run"}
        fill = {pl.Int64(): -1, pl.Float64(): float("nan"), pl.String(): ""}
        full = [{one: row.get(one, fill[kind]) for one, kind in schema.items()} for row in rows]
        return pl.DataFrame(full, schema=schema)

    spec = read_scenario(json.dumps({**scenario(TEXT), "duration_ns": 10**9}))
    found = {"samples": frame("samples", [*samples]), "queues": frame("queues", [*queues])}
    return Chosen("run", [], spec, found["samples"], found["queues"], empty("pipes"))


def window(flow: str, packets: int, time_ns: int = 10**8) -> dict[str, Any]:
    return {"flow": flow, "time_ns": time_ns, "cwnd_packets": packets, "retransmitted_packets": 0}


def queue(pipe: str, packets: int, time_ns: int = 10**8) -> dict[str, Any]:
    return {"pipe": pipe, "time_ns": time_ns, "queued_packets": packets}


def test_at_most_six_flows_and_three_queues() -> None:
    chosen = chosen_of(
        [window(f"f{number}", number) for number in range(1, 31)],
        [queue(f"q{number}", number) for number in range(6)],
    )
    lines = [text.plain for text in drawing(chosen, COLOURED)]
    legends = [line for line in lines if line.startswith("  ━━ ")]
    # Numbers that are not known have no words.
    assert [line.split()[1:] for line in legends] == [[f"f{number}"] for number in range(1, 7)]
    others = ", ".join(f"f{number}" for number in range(7, 19))
    assert f"Not drawn, 24 flows: {others} and 12 more" in lines
    drawn = re.findall(r"^Queue of (\w+)", "\n".join(lines), re.M)
    assert drawn == ["q5", "q4", "q3"]
    assert lines[-2:] == [
        "Not drawn, 2 queues: q2, q1",
        "1 queue is always empty at the sampled times",
    ]


def test_flows_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    flows = "".join(
        f"  - {{name: f{number}, from: s1, to: d1, tcp: reno, start: {200 - 50 * number} ms}}\n"
        for number in range(3)
    )
    file = tmp_path / "e.yaml"
    file.write_text(
        "dumbbell: 1\nname: order\ntemplate: {dumbbell: {rate: 5 Mbit/s, rtt: 20 ms}}\n"
        f"flows:\n{flows}duration: 1 s\n"
    )
    dumbbell.run(file, store=tmp_path / "s")
    for options in ([], ["--at", "1 s"]):
        shown = call(tmp_path / "s", *options).stdout
        assert re.findall(r"^  (?:\S )?(f[0-2])\b", shown, re.M) == ["f0", "f1", "f2"]


def test_names_are_harmless() -> None:
    name = "\x1b[31m[/b]<script>\u202e\n" + 200 * "x"
    chosen = chosen_of([window(name, 5)], [queue(name, 5)])
    for text in drawing(chosen, COLOURED):
        assert text.plain.isprintable()
        assert len(text.plain) <= 100
    assert any("\ufffd[31m[/b]<script>\ufffd xxx" in text.plain for text in drawing(chosen, PLAIN))


def test_peaks_of_a_long_series_are_drawn() -> None:
    """One sample of 20 000 is high: 51 columns do not lose it."""
    rows = [window("f", 1, at * 50_000) for at in range(20_000)]
    rows[10_864]["cwnd_packets"] = 1000
    lines = [text.plain for text in drawing(chosen_of(rows, []), ASCII)]
    assert lines[2].startswith("   1000 +")
    assert lines[2].count("*") == 1
    assert abs(lines[2].index("*") - (9 + 0.54321 * 50)) <= 1


@pytest.mark.parametrize("packets", [0, -1])
def test_nothing_waits_and_no_window_is_known(packets: int) -> None:
    chosen = chosen_of([window("f", -1)], [queue("q", packets)])
    lines = [text.plain for text in drawing(chosen, PLAIN)]
    assert lines[1] == "No flow with a congestion window"
    assert lines[3] == "All queues are empty at the sampled times"


def test_a_moment(made: Path) -> None:
    done = call(made, "--cell", "cc=cubic,cc=2", "--repeat", 1, "--at", "0.7 s")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "small [/b]: cc=cubic, cc=2, repeat 1"
    results = dumbbell.load_results(made)
    where = {"cc": "cubic, cc=2"}
    samples = results.of_repeat("samples", where, 1).filter(pl.col("time_ns") <= 7 * 10**8)
    last = {row["flow"]: row for row in samples.sort("time_ns").iter_rows(named=True)}
    at = max(row["time_ns"] for row in last.values()) / 1e9
    assert f"Last samples, at {at * 1000:g} ms" in done.stdout
    for name in ("one [/b] <i>", "two"):
        (line,) = (line for line in lines if line.startswith(f"  {name}"))
        row = last[name]
        ssthresh = row["ssthresh_packets"]
        assert line.removeprefix(f"  {name}").split() == [
            row["state"],
            str(row["cwnd_packets"]),
            "none" if ssthresh == 2147483647 else str(ssthresh),
            str(row["in_flight_packets"]),
            f"{row['srtt_ns'] / 1e6:.2f}",
            # -1: no rate was measured yet.
            "–" if row["delivery_rate_bps"] < 0 else f"{row['delivery_rate_bps'] / 1e6:.3f}",
            str(row["retransmitted_packets"]),
        ]
    queues = results.of_repeat("queues", where, 1).filter(pl.col("time_ns") <= 7 * 10**8)
    forward = queues.filter(pl.col("pipe") == "bottleneck/forward").sort("time_ns")
    (line,) = (line for line in lines if line.startswith("  bottleneck/forward"))
    assert line.split()[1:3] == ["pfifo", str(forward["queued_packets"][-1])]
    early = call(made, "--at", "100 ms")
    assert "1 not begun" in early.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "5"], "--at 5: a time needs a unit: 5 ms, 5 s or 5 us"),
        (["--at", "5 sec"], "--at 5 sec: unknown unit for a time; did you mean 5 s?"),
        (["--at", "2 s"], "--at 2 s: after the run's end, 1 s"),
        (["--at", "1 us"], "--at 1 us: before the first sample, at 2 ms"),
        (["--cell", "c=reno"], "--cell: no such factor; found c; did you mean cc?; allowed: cc"),
        (["--cell", "reno"], "--cell: no such factor; found reno; allowed: cc"),
        (["--cell", "cc=ren"], "--cell: no such level of cc; found ren; did you mean reno?"),
        (["--cell", "cc=\x1b[2J"], "--cell: no such level of cc; found \ufffd[2J; allowed: reno"),
        (["--repeat", "2"], "--repeat 2: repeats are counted from 0; the last one is 1"),
    ],
)
def test_mistakes(made: Path, arguments: list[str], message: str) -> None:
    done = call(made, *arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"dumbbell: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_levels() -> None:
    factors = {"a": ["1 ms", "x, b=y"], "b": ["[p1, p2]", "0"], "a b": ["{k: v}"]}
    assert levels_of("a=1ms,b=0", factors) == {"a": "1 ms", "b": "0"}
    assert levels_of(" b = [p1,p2] , a = 1 ms", factors) == {"b": "[p1, p2]", "a": "1 ms"}
    assert levels_of("a b={k:v},a=1 ms", factors) == {"a b": "{k: v}", "a": "1 ms"}
    with pytest.raises(ExperimentError, match="the experiment has one cell"):
        levels_of("a=1", {})


def test_cells_that_are_not_combined(tmp_path: Path) -> None:
    text = TEXT.replace("{cc: [", "{points: [{cc: reno, d: 1 s}, {cc: bbr, d: 900 ms}]}#")
    file = tmp_path / "e.yaml"
    file.write_text(text.replace("duration: 1 s", "duration: $d"))
    dumbbell.run(file, store=tmp_path / "s")
    done = call(tmp_path / "s", "--cell", "cc=bbr,d=1 s")
    message = "dumbbell: --cell: the experiment does not combine these levels [E708]\n"
    assert (done.exit_code, done.stderr) == (2, message)
    assert call(tmp_path / "s", "--cell", "cc=bbr").stdout.startswith(
        "small [/b]: cc=bbr, d=900 ms, repeat 0\n"
    )


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ("none", None),
        ("{keep: [drops]}", None),
        ("{keep: [queues]}", "No windows over time are kept"),
        ("{keep: [samples]}", "No queues over time are kept"),
    ],
)
def test_the_field_that_keeps_samples_is_named(
    sampling: str, expected: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT + f"sampling: {sampling}\n")
    dumbbell.run(file, set={"cc": "reno"}, repeats=1, store=tmp_path / "s")
    done = call(tmp_path / "s")
    field = "the file's field `sampling: {keep: [samples, queues]}` keeps them"
    if expected is None:
        assert (done.exit_code, done.stderr) == (
            2,
            "dumbbell: small [/b]: cc=reno: no windows and no queues over time are kept of this "
            f"run; {field} [E807]\n",
        )
    else:
        assert done.exit_code == 0
        assert f"{expected}; {field}" in done.stdout


def test_repeats_that_keep_nothing(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT + "sampling: {keep: [samples, queues], repeats: 1}\n")
    dumbbell.run(file, store=tmp_path / "s")
    assert call(tmp_path / "s").exit_code == 0
    second = call(tmp_path / "s", "--repeat", 1)
    assert second.exit_code == 2
    assert "cc=reno, repeat 1: no windows and no queues over time are kept" in second.stderr


def test_damage_is_told_as_elsewhere(copied: Path) -> None:
    first, other = (
        dumbbell.load_results(copied).runs.filter(pl.col("cc") == level)["run"][0]
        for level in ("reno", "cubic, cc=2")
    )
    (copied / "runs" / f"{other}.samples.parquet").unlink()
    assert call(copied).exit_code == 0, "the damage is in another run"
    (copied / "runs" / f"{first}.queues.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError) as raised:
        choose(copied, "cc=reno", 0)
    assert f"{first}.queues.parquet: " in str(raised.value)
    assert "repairs it" in str(raised.value)
    only = call(copied, "--cell", "cc=reno", "--repeat", 0)
    assert (only.exit_code, only.stderr) == (2, f"dumbbell: {raised.value} [{raised.value.code}]\n")
    done = call(copied)
    assert done.exit_code == 0 and "repeat 1" in done.stdout.splitlines()[0]
    assert done.stderr == f"dumbbell: warning: another run is shown: {raised.value}.\n"


def test_other_stores(copied: Path, tmp_path: Path) -> None:
    (copied / "store.json").write_text('{"format": 2}')
    for place in (copied, tmp_path / "none", tmp_path):
        done = call(place)
        assert done.exit_code == 2
        with pytest.raises(DumbbellError) as raised:
            write_report(place, tmp_path / "r.html")
        assert done.stderr == f"dumbbell: {raised.value} [{raised.value.code}]\n"


def test_a_store_that_is_being_written(tmp_path: Path) -> None:
    engine, experiment = SimEngine(), loaded(TEXT)
    tasks = plan(experiment, engine)
    with Store(tmp_path, write=True) as store:
        planned = [task.planned for task in tasks]
        store.record(experiment.info, engine.name, {}, planned, file="a b.yaml")
        nothing = call(tmp_path)
        assert "no such run of small [/b] is finished yet; 0 of 4 runs are" in nothing.stderr
        for task in tasks[1:2]:
            result = engine.execute(task.run, Monitor())
            store.add(task.run, engine.name, engine.version, result)
        done = call(tmp_path)
        assert done.stdout.startswith("small [/b]: cc=reno, repeat 1\n")
        assert "1 of 4 runs are finished\n" in done.stdout
        missing = call(tmp_path, "--repeat", 0)
        assert missing.exit_code == 2
        assert missing.stderr == (
            f"dumbbell: {tmp_path}: no such run of small [/b] is finished yet; 1 of 4 runs are: "
            f"`dumbbell run 'a b.yaml' --store {tmp_path}` [E708]\n"
        )


def test_a_store_without_checksums(copied: Path) -> None:
    """As older versions wrote it: the files of runs are not recorded."""
    for path in copied.glob("segments/*/*.json"):
        fields = json.loads(path.read_bytes())
        gone = ("hashes", "files", "experiments", "check")
        path.write_text(json.dumps({key: one for key, one in fields.items() if key not in gone}))
    assert call(copied).stdout == call(copied).stdout != ""
    assert call(copied).exit_code == 0
