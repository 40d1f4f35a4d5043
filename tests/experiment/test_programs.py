"""`programs:` in experiment files: forms, names, and messages that name the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from dumbbell._core import ScenarioError
from dumbbell.engines.programs import check_programs
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import Experiment, load_text

FILE = """\
dumbbell: 1
name: programs
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: BUFFER}}
programs:
PROGRAMS
duration: 2 s
"""


def load(programs: str, buffer: str = "10 packets") -> Experiment:
    text = FILE.replace("PROGRAMS", programs).replace("BUFFER", buffer)
    return load_text(text, Path("e.yaml"))


def first(programs: str, buffer: str = "10 packets") -> dict[str, object]:
    found: dict[str, object] = json.loads(load(programs, buffer).cells[0].scenario)["programs"][0]
    return found


def test_a_command_line_is_split_as_by_a_shell() -> None:
    program = first("""  - {on: s1, run: "curl -w '%{size_download} bytes' http://{d1}/"}""")
    assert program["run"] == ["curl", "-w", "%{size_download} bytes", "http://{d1}/"]
    assert (program["name"], program["start_ns"], program["expect_exit"]) == ("curl-s1", 0, None)


def test_a_list_is_taken_as_it_is_and_two_dollars_are_one() -> None:
    program = first("""  - {on: s1, run: [sh, -c, "echo $$HOME {a b}"], input: 5}""")
    assert program["run"] == ["sh", "-c", "echo $HOME {a b}"]
    assert program["input"] == "5"


@pytest.mark.parametrize(
    "run",
    [
        "awk {print}",
        "find . -exec ls {} ;",
        "curl -w %{size_upload} {d1}",
        "expr a|b",
        "cat {d1}/2>&1x",
    ],
)
def test_words_that_only_look_like_a_shells_or_a_hosts_stay(run: str) -> None:
    assert first(f'  - {{on: s1, run: "{run}"}}')["run"] == run.split()


def test_a_list_may_have_what_a_shell_would_read() -> None:
    assert first("  - {on: s1, run: [expr, '2', '>', '1']}")["run"] == ["expr", "2", ">", "1"]


def test_a_router_runs_no_programs_also_where_a_buffer_follows_from_them() -> None:
    with pytest.raises(ExperimentError, match="r1 is not a host but a router"):
        load("  - {on: r1, run: ls}", "1 BDP")


def test_programs_of_one_file_have_different_names() -> None:
    cell = load(
        "  - {on: s1, run: ls}\n  - {on: s1, run: ls}\n  - {name: ls-s1-2, on: d1, run: ls}"
    )
    programs = json.loads(cell.cells[0].scenario)["programs"]
    assert [one["name"] for one in programs] == ["ls-s1", "ls-s1-3", "ls-s1-2"]


def test_a_buffer_in_bdp_follows_from_the_hosts_that_a_program_names() -> None:
    scenario = json.loads(load("""  - {on: s1, run: "ping {d1}"}""", "1 BDP").cells[0].scenario)
    (link,) = [one for one in scenario["links"] if one["name"] == "bottleneck"]
    # 10 Mbit/s × 20 ms.
    assert link["forward"]["queue"]["drop_tail"]["limit_bytes"] == 25_000


def test_a_scenario_without_programs_is_as_before() -> None:
    text = FILE.replace("programs:\nPROGRAMS", "flows: [{from: s1, to: d1, tcp: cubic}]")
    cell = load_text(text.replace("BUFFER", "10 packets"), Path("e.yaml")).cells[0]
    assert "programs" not in json.loads(cell.scenario)


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ("  - {on: r1, run: ls}", "e.yaml:5: programs[0].on: r1 is not a host"),
        ("  - {on: s9, run: ls}", "e.yaml:5: programs[0].on: no node s9"),
        ("  - {on: s1, run: 'ping {d9}'}", "e.yaml:5: programs[0].run: {d9}: no host d9"),
        ("  - {on: s1, run: 'nc {r1}:80'}", "programs[0].run: {r1}: no host r1"),
        ("  - {on: s1, run: 'cat | wc'}", "no shell reads this line, and | is for one"),
        ("  - {on: s1, run: 'ls > files'}", "no shell reads this line, and > is for one"),
        ("  - {on: s1, run: 'sleep 1 && ls'}", "no shell reads this line, and && is for one"),
        ("  - {on: s1, run: 'ls \"a'}", "a command line with no closing quotation"),
        ("  - {on: s1, run: []}", "a command line, or a list of texts, is needed"),
        ("  - {on: s1, run: ls, start: 3 s}", "not before the end of the run"),
        ("  - {on: s1, run: ls, stop: 1 s, start: 1 s}", "not after the start"),
        ("  - {on: s1, run: ls, expect: {exit: 256}}", "programs[0].expect.exit"),
        ("  - {on: s1, run: ls, shell: true}", "programs[0].shell: unknown field"),
        ("  - {name: ../x, on: s1, run: ls}", "programs[0].name"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(programs: str, message: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        load(programs)
    assert message in str(raised.value)
    assert "e.yaml:5" in str(raised.value)


def test_the_simulator_names_the_nearest_traffic(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    text = FILE.replace("PROGRAMS", "  - {on: s1, run: /usr/bin/iperf3 -c d1}")
    file.write_text(text.replace("BUFFER", "10 packets"), encoding="utf-8")
    with pytest.raises(ExperimentError) as raised:
        dumbbell.run(file)
    words = str(raised.value)
    assert "e.yaml:5: programs[0].run: the simulator runs no programs (iperf3)" in words
    assert "--engine linux; nearest here: flows" in words


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("no-such-program", "no program no-such-program in /usr/local/sbin:"),
        ("pyton3", "did you mean"),
        ("./x", "a path must be absolute"),
        ("/tmp/x", "programs do not see this folder"),
        ("/etc/passwd", "/etc/passwd: it may not be executed"),
        ("/no/such/file", "/no/such/file: no such file"),
    ],
)
def test_a_program_that_cannot_run_is_told_before_the_run(run: str, message: str) -> None:
    scenario = load(f"  - {{on: s1, run: {run}}}").cells[0].scenario
    with pytest.raises(ScenarioError) as raised:
        check_programs(scenario)
    assert message in str(raised.value)
