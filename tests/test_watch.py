"""`dumbbell validate --watch`, and the line that an error is about."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dumbbell.cli.excerpt import excerpt
from dumbbell.cli.watch import named, watch
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import open_file

GOOD = """\
dumbbell: 1
name: watched
template: {dumbbell: {pairs: 1, rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows:
  - {from: s1, to: d1, tcp: cubic}
duration: 2 s
"""
BAD = GOOD.replace("cubic", "cubci")


def refusal(file: Path) -> ExperimentError:
    with pytest.raises(ExperimentError) as caught:
        open_file(file)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "marked"),
    [
        (BAD, 5, "cubci"),
        (GOOD.replace("2 s", "two"), 6, "two"),
        (GOOD.replace("duration", "durations"), 6, "durations"),
        (GOOD.replace("pairs: 1", f"{'':60}pairs: 1.5"), 3, "1.5"),
    ],
)
def test_carets_are_below_what_is_wrong(text: str, line: int, marked: str, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(text)
    shown, carets = excerpt(refusal(file))
    assert shown.startswith(f"  {line} | ")
    span = re.search(r"\^+", carets)
    assert span is not None
    assert shown[span.start() : span.end()] == marked
    assert len(shown) < 110


def test_no_excerpt_without_a_line() -> None:
    assert excerpt(ExperimentError("wrong", file="--set")) == []
    assert excerpt(ExperimentError("wrong", file="nonesuch.yaml", line=3)) == []


def test_files_that_an_experiment_names_are_watched(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(GOOD + "links: [{name: a, shaper: {trace: {file: b.trace}}}]\n")
    assert named(file, []) == [tmp_path / "b.trace"]
    file.write_text("a: [")
    assert named(file, [tmp_path / "kept"]) == [tmp_path / "kept"]


class Stop(Exception):
    pass


def steps(acts: list[Callable[[], object]]) -> Iterator[None]:
    for act in acts:
        act()
        yield


def test_every_way_of_saving_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written in place, replaced by rename, removed, written again, a file it names changed."""
    file, other, trace = tmp_path / "e.yaml", tmp_path / "new", tmp_path / "b.trace"
    shaped = GOOD.replace("rate: 10 Mbit/s", "forward: {shaper: {trace: {file: b.trace}}}")
    shaped = shaped.replace("1 BDP", "10 packets")

    def replaced() -> None:
        other.write_text(GOOD)
        other.rename(file)

    acts: list[Callable[[], object]] = [
        lambda: None,
        lambda: file.write_text(BAD),
        replaced,
        file.unlink,
        lambda: file.write_text(shaped),
        lambda: trace.write_text("1\n2\n"),
    ]
    left = steps(acts)
    file.write_text(GOOD)

    def pause(seconds: float) -> None:
        if seconds > 0.1 and next(left, "over") == "over":
            raise Stop

    def check(path: Path) -> str:
        open_file(path)
        return "good"

    with pytest.raises(Stop):
        watch(file, check, pause)
    said = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\d\d:", line)]
    found = ["good" if line.endswith("good") else line[-6:] for line in said]
    assert found == ["good", "[E205]", "good", "[E101]", "[E304]", "good"]


def test_ctrl_c_ends_the_watch(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(BAD)
    command = [sys.executable, "-m", "dumbbell", "validate", "--watch", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            head = [process.stdout.readline().decode() for _ in range(3)]
            assert head[0].endswith("[E205]\n")
            assert head[2].strip(" |\n") == "^^^^^"
            file.write_text(GOOD)
            assert process.stdout.readline().decode().endswith("1 run, 2 simulated seconds\n")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
