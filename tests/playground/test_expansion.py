"""Expansion in Rust gives the scenarios of the Python layer, or refuses by name."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dumbbell import _core
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import Opened
from dumbbell.playground.presets import presets
from tests.helpers import ROOT
from tests.trials.draw import text
from tests.trials.experiments import experiment
from tests.write_playground_page import PAGE, renewed

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
#: Examples that need what the playground does not take.
BEYOND = {
    "cellular": "file",
    "fat-tree": "fat-tree",
    "handover": "mptcp",
    "iperf3": "programs",
    "multipath": "mptcp",
    "rrul": "workload",
    "search-acks": "search",
    "search-buffer": "search",
    "search-fairness": "search",
    "short-flows": "arrivals",
    "starlink": "access",
    "web-page": "pages",
    "web-server": "programs",
}
TRIALS = 200
#: Cells of a file that are compared.
MOST_CELLS = 12


def cells(opened: Opened) -> list[tuple[dict[str, int], dict[str, Any]]]:
    """Index of each factor's level, and the scenario, of the first cells."""
    rows = opened.design.varied.rows
    chosen = itertools.islice(itertools.product(*(range(len(row)) for row in rows)), MOST_CELLS)
    found = []
    for numbers, cell in zip(chosen, opened.cells(0, MOST_CELLS), strict=True):
        levels = {
            name: number for row, number in zip(rows, numbers, strict=True) for name in row[number]
        }
        found.append((levels, json.loads(cell.scenario)))
    return found


def expanded(opened: Opened, levels: dict[str, int]) -> tuple[dict[str, Any] | None, str]:
    scenario, refusal = _core.expand(json.dumps(opened.design.root.plain()), levels)
    return json.loads(scenario) if scenario else None, refusal


def readme_text() -> str:
    found = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    opened = Opened(path.read_text("utf-8"), path)
    for levels, wanted in cells(opened):
        found, refusal = expanded(opened, levels)
        if path.stem in BEYOND:
            assert (
                refusal == f"-`{BEYOND[path.stem]}` is not in the playground; "
                "the command line runs it"
            )
        else:
            assert refusal == ""
            assert found == wanted, levels


@pytest.mark.parametrize(
    "content", [readme_text(), *(one["text"] for one in presets())], ids=lambda text: text[:30]
)
def test_readme_and_presets(content: str) -> None:
    opened = Opened(content, Path("experiment.yaml"))
    for levels, wanted in cells(opened):
        assert expanded(opened, levels) == (wanted, "")


@pytest.mark.slow
def test_trials() -> None:
    accepted = beyond = refused = 0
    for number in range(TRIALS):
        drawn = experiment(number)
        try:
            opened = Opened(text(drawn), Path("trial.yaml"))
            wanted = json.loads(next(opened.cells()).scenario)
        except ExperimentError:
            # What Python refuses is never run.
            scenario, refusal = _core.expand(json.dumps(drawn), {})
            assert refusal and not scenario, number
            refused += 1
            continue
        found, refusal = expanded(opened, {})
        if found is None:
            assert re.match(r"-`[\w-]+` is not in the playground", refusal), (number, refusal)
            beyond += 1
            continue
        assert found == wanted, number
        accepted += 1
    assert accepted >= TRIALS / 4, (accepted, beyond, refused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duration": "10"}, "a time needs a unit: 10 ms or 10 s or 10 us"),
        ({"duration": "10 parsecs"}, "unknown unit parsecs for a time"),
        ({"duration": "0 s"}, "a time above 0 is needed"),
        ({"durations": "1 s"}, "unknown field durations"),
        ({"flows": []}, "there is no traffic"),
        ({"flows": [{"from": "s9", "to": "d1", "tcp": "cubic"}]}, "no host s9"),
        ({"flows": [{"from": "s1", "to": "d1", "tcp": "cubik"}]}, "unknown congestion control"),
        ({"flows": [{"from": "s1", "to": "d1", "tcp": "$cc"}]}, "$cc is no factor"),
        ({"factors": {"cc": ["reno"]}}, "the factor changes nothing"),
        ({"template": {"dumbbell": {"rtt": "10 ms", "loss": "200 %"}}}, "more than 100 %"),
        (
            {"template": {"dumbbell": {"rtt": "1 s", "netem": {"limit": "1 BDP"}, "queue": "red"}}},
            "exclude",
        ),
    ],
)
def test_wrong(change: dict[str, Any], message: str) -> None:
    file = {
        "dumbbell": 1,
        "name": "wrong",
        "template": {"dumbbell": {"rate": "10 Mbit/s", "rtt": "10 ms"}},
        "flows": [{"from": "s1", "to": "d1", "tcp": "cubic"}],
        "duration": "1 s",
    }
    assert _core.expand(json.dumps(file), {})[1] == ""
    scenario, refusal = _core.expand(json.dumps({**file, **change}), {})
    assert scenario == ""
    assert message in refusal


def test_documented_refusals() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert renewed(written) == written
