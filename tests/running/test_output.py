"""What is written and printed: whole or not at all, without NaN, names as they are."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell.cli import app
from dumbbell.files.output import OutputError, json_text, replacing, write_output
from dumbbell.results import Results
from dumbbell.studies import running
from tests.helpers import ROOT

pytestmark = pytest.mark.slow

TINY = """\
dumbbell: 1
name: "tiny [/b] [red]"
template: {dumbbell: {pairs: 1, rate: 5 Mbit/s, rtt: 20 ms, buffer: 50 packets}}
flows: [{name: "f[/b]", from: s1, to: d1, tcp: $cc}]
duration: 1 s
factors: {cc: [{label: "[blink]reno[/blink]", value: reno}, {label: ":smile: [/]", value: cubic}]}
"""
ROUTES = """\
dumbbell: 1
name: ways
template: {parallel-paths: {rtt: 10 ms, rate: 10 Mbit/s}}
routes: [{at: r1, to: d1, via: $ways}]
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 1 s
factors: {ways: [[p1], [p1, p2]]}
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def child(
    *arguments: object, stdout: Any = subprocess.PIPE, **options: Any
) -> subprocess.CompletedProcess[str]:
    """The program as a process of its own."""
    command = [sys.executable, "-m", "dumbbell", *map(str, arguments)]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, **options
    )


def strict(text: str) -> Any:
    """JSON as the standard has it: without NaN and Infinity."""

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def test_json_has_null_for_what_is_no_number() -> None:
    content = {"a": float("nan"), "b": [float("inf"), 1.5, (float("-inf"),)], "c": {"d": "NaN"}}
    expected = {"a": None, "b": [None, 1.5, [None]], "c": {"d": "NaN"}}
    assert strict(json_text(content)) == expected
    assert strict(json_text(content, indent=1)) == expected


@pytest.mark.parametrize(
    ("study", "duration", "parts"),
    [
        ("web", "100 ms", []),
        ("mptcp", "2100 ms", []),
        ("multipath", "1 s", ["single-vs-multi"]),
        ("adsl-codel", "5100 ms", ["targets"]),
    ],
)
def test_a_study_that_measures_little_gives_json(
    study: str, duration: str, parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs so short that pages, time-outs and claims have no value."""

    def runner(*_: object) -> running.Runner:
        def short(path: Path, changes: Mapping[str, str | list[str]]) -> Results:
            return dumbbell.run(path, set={**changes, "duration": duration}, repeats=1)

        return short

    monkeypatch.setattr(running, "_runner", runner)
    chosen = [word for part in parts for word in ("--part", part)]
    result = call("study", "run", study, *chosen, "--store", tmp_path / "s", "--json",
                  tmp_path / "n.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert strict((tmp_path / "n.json").read_text())["claims"]


def test_run_gives_json_where_nothing_arrives(tiny: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "n.json"
    result = call(
        "run", tiny, "--set", "duration=1 ms", "--store", tmp_path / "s", "--json", numbers
    )
    assert result.exit_code == 0, result.output
    assert strict(numbers.read_text())["tables"]["flows"][0]["rtt_ms"] is None


def test_names_are_shown_as_they_are(tiny: Path, tmp_path: Path) -> None:
    result = call("run", tiny, "--store", tmp_path / "s")
    assert result.exit_code == 0, result.output
    for name in ("tiny [/b] [red]", "[blink]reno[/blink]", ":smile: [/]", "f[/b]"):
        assert name in result.stdout
    assert "tiny [/b] [red]" in result.stderr
    again = call("run", tiny, "--store", tmp_path / "s")
    assert "tiny [/b] [red]: 2 runs are in the store already" in again.stderr


def test_levels_that_are_lists_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "ways.yaml").write_text(ROUTES)
    result = call("run", tmp_path / "ways.yaml", "--store", tmp_path / "s")
    assert result.exit_code == 0, result.output
    assert "\n[p1]  " in result.stdout
    assert "\n[p1, p2]  " in result.stdout


def test_a_part_of_a_study_may_have_any_title(capsys: pytest.CaptureFixture[str]) -> None:
    from dumbbell.console import err

    running._heading(err, "1 [/b] [red]")
    assert capsys.readouterr().err == "1 [/b] [red]\n"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "page.html"
    write_output(path, "first")
    path.chmod(0o640)
    write_output(path, "näxt")
    assert path.read_text(encoding="utf-8") == "näxt"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_output(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_what_fails_half_way_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")

    def fill() -> None:
        with replacing(path) as place:
            place.write_text("half of ")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OutputError, match=r"table\.csv: cannot be written: No space left"):
        fill()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    write_output("/dev/null", "gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_output(fifo, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert list(tmp_path.iterdir()) == [fifo]


def small_disk() -> None:
    """Files of this process end at 4 kB, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize(
    ("options", "written"),
    [
        (["--html", "out/page.html"], "page.html"),
        (["--json", "out/all.json"], "all.json"),
        (["--csv", "out"], "connections.csv"),
        (["--parquet", "out"], "connections.parquet"),
    ],
)
def test_a_full_disk_leaves_the_earlier_outputs(
    options: list[str], written: str, tmp_path: Path, capture_file: Path
) -> None:
    target = tmp_path / "out" / written
    target.parent.mkdir()
    target.write_text("old")
    done = child("capture", capture_file, *options, cwd=tmp_path, preexec_fn=small_disk)
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert target.read_text() == "old"
    assert not [path for path in target.parent.iterdir() if ".tmp" in path.name]


@pytest.fixture(scope="module")
def capture_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with some two hundred connections, whose every table is larger than 4 kB."""
    folder = tmp_path_factory.mktemp("captured")
    (folder / "e.yaml").write_text(
        "dumbbell: 1\nname: many\n"
        "template: {dumbbell: {pairs: 1, rate: 50 Mbit/s, rtt: 5 ms, buffer: 50 packets}}\n"
        "flows:\n"
        + "".join(
            f"  - {{from: s1, to: d1, start: {number} ms, "
            f"tcp: {{congestion_control: reno, bytes: {1000 + number} bytes}}}}\n"
            for number in range(200)
        )
        + "taps: [{name: t, at: r1, link: bottleneck}]\nsampling: {capture: true}\nduration: 1 s\n"
    )
    dumbbell.run(folder / "e.yaml", captures=folder / "c")
    (found,) = (folder / "c").iterdir()
    return found


@pytest.mark.parametrize(
    "arguments", [["schema"], ["--help"], ["study", "list"], ["validate", "FILE"]]
)
def test_a_full_standard_output_is_told(arguments: list[str], tiny: Path) -> None:
    with Path("/dev/full").open("w") as full:
        given = [tiny if one == "FILE" else one for one in arguments]
        done = child(*given, stdout=full)
    assert (done.returncode, done.stderr) == (
        2, "dumbbell: standard output: No space left on device [E011]\n"
    )  # fmt: skip


def test_a_reader_that_went_away_is_no_error_worth_a_traceback(tiny: Path) -> None:
    for arguments in (["schema"], ["validate", str(tiny)], ["--help"]):
        read, write = os.pipe()
        os.close(read)
        done = child(*arguments, stdout=write)
        os.close(write)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr


def test_a_closed_standard_output_is_told() -> None:
    done = child("schema", preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (2, "dumbbell: standard output: it is closed [E011]\n")


def test_a_terminal_of_ascii_shows_what_it_can(tiny: Path, tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    jitter = TINY.replace("$cc}", "$cc, start_jitter: 5 ms}")  # else repeats are equal
    tiny.write_text(jitter.replace("tiny", "tïny"))
    done = child(
        "run", tiny, "--repeats", 2, "--store", tmp_path / "s", env={**os.environ, **ascii_only}
    )
    assert done.returncode == 0, done.stderr
    assert "t?ny [/b] [red] (2 repeats: mean +- half" in done.stdout


def test_json_is_utf_8_whatever_the_terminal() -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "dumbbell", "schema"]
    done = subprocess.run(
        command, capture_output=True, check=True, env={**os.environ, **ascii_only}
    )
    assert not done.stdout.isascii()
    assert strict(done.stdout.decode("utf-8"))["title"] == "Dumbbell experiment"


def test_ctrl_c_while_starting_is_one_line(tmp_path: Path) -> None:
    """Sent when the program says that it reads its parts: its imports take longer than that."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Teller:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'dumbbell.cli':\n"
        "            import os, time\n"
        "            os.write(1, b'x')\n"
        "            time.sleep(20)\n"
        "sys.meta_path.insert(0, Teller())\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [sys.executable, "-m", "dumbbell", "schema"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"x"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"dumbbell: stopped\n"
        assert process.wait(20) == 130


def test_many_ctrl_c_are_one_line(tiny: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dumbbell", "run", str(tiny), "--repeats", "100000"]
    store = tmp_path / "s"
    with subprocess.Popen(
        [*command, "--store", str(store)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and not any(store.glob("journal/*.log")):
            time.sleep(0.02)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "Exception" not in said
    assert said.count("stopped") == 1


def test_results_are_printed_in_five_lines(tiny: Path, tmp_path: Path) -> None:
    results = dumbbell.run(tiny, store=tmp_path / "s", repeats=2)
    lines = str(results).splitlines()
    assert [line.split()[0] for line in lines] == [
        "experiment", "engine", "design", "metrics", "store"
    ]  # fmt: skip
    assert lines[0] == "experiment  tiny [/b] [red]"
    assert lines[1].split()[1] == "sim"
    assert lines[2] == "design      2 cells × 2 repeats = 4 runs (cc: 2)"
    assert lines[4] == f"store       {tmp_path / 's'}"
    assert "in memory" in str(dumbbell.run(tiny))
    assert "\n" not in repr(results)
    tiny.write_text(TINY.replace("tiny", "<tiny>"))
    html = dumbbell.run(tiny)._repr_html_()
    assert "&lt;tiny&gt; [/b] [red]</td>" in html
