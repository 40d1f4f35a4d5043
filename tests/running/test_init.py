"""`dumbbell init`: first experiments load, run, and are asked for at a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell.cli import app
from dumbbell.cli.init import NAMES
from dumbbell.cli.questions import ask
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.experiment import json_schema, load, load_text
from dumbbell.starter import STARTERS, Answers, affordable, read, with_short_runs
from dumbbell.starter.examples import example_names
from tests.helpers import ROOT

#: Answers far from the defaults.
UNUSUAL = [
    Answers("1 bit/s", "1 ns", ("reno",), "1 ns", 1),
    Answers("3 bit/s", "7 ns", ("reno", "bbr"), "13 ns", 2),
    Answers("400 Gbit/s", "1 h", ("bic", "cubic", "westwood"), "1 us", 100_000),
    Answers("1_000 kbit/s", "0.25 ms", ("bbr",), "1e-3 s", 9),
    Answers("9e18 bit/s", "290 h", ("cubic",), "1 ms", 1),
]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_names() -> None:
    assert tuple(STARTERS) == NAMES
    assert set(json_schema()["$defs"]["TemplateSpec"]["properties"]) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_template_runs(name: str, tmp_path: Path) -> None:
    file = tmp_path / "new" / "first.yaml"
    done = call("init", file, "--template", name)
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines()[-1] == f"Next: dumbbell run {file}"
    text = file.read_text(encoding="utf-8")
    experiment = load(file)
    runs = len(experiment.cells) * experiment.info.repeats
    assert f"Written: {file}, {runs} runs" in done.stderr
    assert "sampling" not in text
    for line in text.splitlines():
        assert len(line) <= 100
        if re.match(r"\s*[a-z_]+: [^{$]", line) and name != "rrul":
            assert "# " in line, f"no comment: {line}"
    results = dumbbell.run(file, repeats=1)
    assert results.runs.height == len(experiment.cells)


@pytest.mark.parametrize("name", [path.stem for path in sorted((ROOT / "examples").glob("*.yaml"))])
def test_every_example_is_written_with_what_it_reads(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    done = call("init", file, "--example", name)
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines()[-1] == f"Next: dumbbell run {file}"
    assert file.read_bytes() == (ROOT / "examples" / f"{name}.yaml").read_bytes()
    assert load(file).cells


def test_an_example_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("init", "--example", "two-flows").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["two-flows.yaml"]


def test_examples_that_cannot_be_written(tmp_path: Path) -> None:
    unknown = call("init", tmp_path / "a.yaml", "--example", "two-flow")
    assert unknown.exit_code == 2
    assert "unknown example; found two-flow; did you mean two-flows?" in unknown.stderr
    both = call("init", tmp_path / "a.yaml", "--example", "l4s", "--template", "rrul")
    assert both.exit_code == 2
    (tmp_path / "cellular.trace").touch()
    there = call("init", tmp_path / "a.yaml", "--example", "cellular")
    assert there.exit_code == 2
    assert "exists already" in there.stderr
    assert not (tmp_path / "a.yaml").exists()
    assert call("init", "-", "--example", "l4s").stdout.startswith("#")


def test_the_course_is_written_with_its_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("init", "--course")
    assert done.exit_code == 0, done.output
    assert "Written: 10 notebooks in course" in done.stderr
    notebooks = sorted(Path("course").glob("*.ipynb"))
    assert len(notebooks) == 10
    for path in notebooks:
        text = path.read_text(encoding="utf-8")
        assert json.loads(text)["nbformat"] == 4
        pictures = re.findall(r"\]\((\S+\.svg)\)", text)
        assert pictures and all((path.parent / one).is_file() for one in pictures)
    again = call("init", "--course")
    assert again.exit_code == 2 and "exists already" in again.stderr
    assert call("init", "--course", "--force").exit_code == 0
    assert call("init", "--course", "--example", "l4s").exit_code == 2
    assert call("init", "-", "--course").exit_code == 2


@pytest.mark.parametrize("name", NAMES)
def test_the_factor_in_a_comment_works(name: str) -> None:
    text = STARTERS[name].text(STARTERS[name].defaults)
    hint = re.search(r"^# To vary (\w+), write `(.*)` above.*\n# (factors: .*)\n\Z", text, re.M)
    if hint is None:
        assert "\nfactors:\n" in text
        return
    field, written, factors = hint.groups()
    varied = re.sub(rf"(?m)^(\s+){field}: .*$", rf"\1{written}", text[: hint.start()])
    assert varied != text[: hint.start()]
    assert len(load_text(varied + factors, Path("e.yaml")).cells) > 1


@pytest.mark.parametrize("answers", UNUSUAL)
@pytest.mark.parametrize("name", NAMES)
def test_any_answer_loads_or_is_refused(name: str, answers: Answers) -> None:
    starter = STARTERS[name]
    try:
        experiment = read(starter, answers)
    except ExperimentError as error:
        assert error.file == "" and error.line is None
    else:
        assert experiment.info.repeats == answers.repeats


def test_controls_compete() -> None:
    for name in NAMES:
        answers = replace(STARTERS[name].defaults, controls=("reno", "bic", "bbr"))
        cells = read(STARTERS[name], answers).cells
        found = "".join(cell.scenario for cell in (cells if name == "rrul" else cells[:1]))
        assert all(f'"{control}"' in found for control in answers.controls)


def test_fast_links_make_short_runs() -> None:
    starter = STARTERS["dumbbell"]
    assert with_short_runs(starter, starter.defaults) == starter.defaults
    fast = with_short_runs(starter, replace(starter.defaults, rate="10 Gbit/s"))
    assert fast.duration == "5 s"
    starter = STARTERS["fat-tree"]
    assert (
        with_short_runs(starter, replace(starter.defaults, rate="100 Gbit/s")).duration == "10 ms"
    )
    far = replace(starter.defaults, rate="100 Gbit/s", rtt="5 ms")
    assert with_short_runs(starter, far).duration == "50 ms"  # ten RTTs
    with pytest.raises(ExperimentError, match="above the limit of"):
        affordable(starter, replace(far, duration="1000 s"))


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text("mine")
    dangling = tmp_path / "link.yaml"
    dangling.symlink_to(tmp_path / "nowhere")
    for there in (file, dangling, tmp_path):
        refused = call("init", there, "--template", "dumbbell")
        assert refused.exit_code == 2
        assert refused.stderr == (
            f"dumbbell: {there}: exists already; choose another name, or replace it: "
            "--force [E009]\n"
        )
    assert file.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert call("init", file, "--template", "dumbbell", "--force").exit_code == 0
    assert file.read_text().startswith("# 2 TCP flows share a bottleneck")
    folder = call("init", tmp_path, "--template", "dumbbell", "--force")
    assert (folder.exit_code, folder.stderr) == (
        2,
        f"dumbbell: {tmp_path}: cannot be written: Is a directory [E011]\n",
    )


def test_a_dash_prints() -> None:
    done = call("init", "-", "--template", "rrul")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert load_text(done.stdout, Path("e.yaml")).info.name == "rrul"


def test_the_next_command_is_quoted(tmp_path: Path) -> None:
    done = call("init", tmp_path / "a b.yaml", "--template", "cellular")
    assert done.stderr.splitlines()[-1] == f"Next: dumbbell run '{tmp_path}/a b.yaml'"


def test_mistakes() -> None:
    unknown = call("init", "-", "--template", "fattree")
    assert unknown.exit_code == 2
    assert "unknown template; found fattree; did you mean fat-tree?" in unknown.stderr
    hostile = call("init", "-", "--template", "[/b]\x1b[31m<script>")
    assert hostile.exit_code == 2
    assert "found [/b]\ufffd[31m<script>;" in hostile.stderr
    nowhere = call("init", "-")
    assert nowhere.exit_code == 2
    assert nowhere.stderr.startswith("dumbbell: init asks its questions at a terminal")
    assert nowhere.stderr.count("\n") == 1


def typed(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that come from standard input, and then its end."""
    left: Iterator[str] = iter(lines)

    def answer() -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)


def test_enter_takes_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    typed([""] * 4, monkeypatch)
    starter, answers = ask()
    assert (starter.name, answers) == ("dumbbell", STARTERS["dumbbell"].defaults)


def test_answers_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(["Fat-Tree", "40us 10Gbit/s", "reno,bbr", "5 ms"], monkeypatch)
    starter, answers = ask()
    assert starter.name == "fat-tree"
    assert answers == Answers("10 Gbit/s", "40 us", ("reno", "bbr"), "5 ms", 3)


#: Question, a wrong answer to it, words of the message.
WRONG = [
    (0, "dumbell", "unknown template; found dumbell; did you mean dumbbell?"),
    (1, "10", "a rate or time needs a unit: 10 Mbit/s, 10 ms or 10 Gbit/s; found 10"),
    (1, "10 Gbps, 1 ms", "unknown unit for a rate or time; found 10 Gbps; did you mean 10 Gbit/s?"),
    (1, "0 bit/s", "a rate above 0 is needed; found 0 bit/s"),
    (1, "1 ms, 2 ms", "one rate and one RTT are needed, as 10 Mbit/s, 40 ms; found 1 ms, 2 ms"),
    (1, "-1 ms", "a rate or time cannot be negative; found -1 ms"),
    (1, "\x1b[2J ms", "not a rate or time; found \ufffd[2J ms"),
    (2, "cubik", "unknown congestion control; found cubik; did you mean cubic?"),
    (2, "lia", "lia couples the subflows of a multipath connection"),
    (2, "reno cubic reno", "each congestion control once"),
    (2, ",", "unknown congestion control"),
    (2, "reno}, x: {", "unknown congestion control; found reno}"),
    (3, "5", "a time needs a unit"),
    (3, "0 s", "a time above 0 is needed"),
    (3, "5 s, 0", "should be a whole number from 1 to 100000; found 0"),
    (3, "5 s, many", "a duration and a number of repeats are needed, as 30 s, 3"),
    (3, "5 s, 1, 1", "a duration and a number of repeats are needed, as 30 s, 3"),
    (3, "1000 h", "a run would take about"),
    (3, "10000 h", "is longer than 106 days"),
]


@pytest.mark.parametrize(("question", "answer", "words"), WRONG)
def test_a_wrong_answer_is_told_and_asked_for_again(
    question: int,
    answer: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [""] * 4
    lines.insert(question, answer)
    typed(lines, monkeypatch)
    _, answers = ask()
    assert answers == STARTERS["dumbbell"].defaults
    (told,) = (line for line in capsys.readouterr().err.splitlines() if words in line)
    assert "\x1b" not in told


def test_the_end_of_the_input_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(["", ""], monkeypatch)
    with pytest.raises(DumbbellError, match="the questions were not answered; nothing is written"):
        ask()


def at_a_terminal(folder: Path, keys: list[bytes]) -> tuple[int, list[str]]:
    """Exit code and lines of `dumbbell init`; at each prompt the next keys are pressed."""
    mine, its = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "dumbbell", "init"],
        stdin=its, stdout=its, stderr=its, cwd=folder, env=environment,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as child:  # fmt: skip
        os.close(its)
        shown = b""
        while select.select([mine], [], [], 60)[0]:
            try:
                part = os.read(mine, 4096)
            except OSError:  # the child closed its end
                break
            shown += part
            if shown.endswith(b"]: "):  # A question may come in pieces.
                os.write(mine, keys.pop(0))
        try:
            code = child.wait(60)
        finally:
            child.kill()  # Leaving the block would wait for it.
    os.close(mine)
    return code, shown.decode().splitlines()


@pytest.mark.slow
def test_four_times_enter_at_a_terminal(tmp_path: Path) -> None:
    code, lines = at_a_terminal(tmp_path, [b"\n"] * 4)
    assert code == 0
    assert lines[-2:] == [
        "Written: experiment.yaml, 3 runs",
        "Next: dumbbell run experiment.yaml",
    ]
    assert sum(line.endswith("]: ") for line in lines) == 4
    assert load(tmp_path / "experiment.yaml").info.name == "cubic and bbr share a bottleneck"


@pytest.mark.slow
@pytest.mark.parametrize("answers", [[], [b"\n", b"\n", b"\n", b"1000 h\n"]])
def test_ctrl_c_at_a_question(answers: list[bytes], tmp_path: Path) -> None:
    """The last answer makes the program import polars, whose handler of signals stays."""
    code, lines = at_a_terminal(tmp_path, [*answers, b"\x03"])
    assert code == 130
    assert lines[-1].endswith("dumbbell: stopped")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_right_behind_a_question_is_not_lost() -> None:
    """`input` looks for signals and then reads: one in between waited for Enter."""
    subprocess.run([sys.executable, "-m", "tests.running.ctrl_c"], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("option", "names"), [("--example", example_names()), ("--template", list(NAMES))]
)
def test_without_a_name_the_names_are_listed(option: str, names: list[str]) -> None:
    for words in ((option,), (option, "--force"), (option, "")):
        done = call("init", *words)
        assert done.exit_code == 0, done.output
        lines = done.stdout.splitlines()
        assert [line.split()[0] for line in lines] == names
        assert all(len(line.split()) > 2 for line in lines)
        assert f"dumbbell init {option} NAME" in done.stderr
