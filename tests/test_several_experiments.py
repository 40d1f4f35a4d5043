"""A store with several experiments: how to choose one, and how those of one name are told apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.cli.installation import EXTRAS, examine
from dumbbell.explore.answers import marks
from dumbbell.explore.listing import Listing, Question
from dumbbell.explore.shelf import Shelf

TEXT = """\
dumbbell: 1
name: NAME
template: {dumbbell: {pairs: 1, rate: 5 Mbit/s, rtt: RTT, buffer: 20 packets}}
flows: [{name: one, from: s1, to: d1, tcp: cubic}]
duration: 1 s
sampling: {keep: [samples]}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of `twice`, changed and run again, then of `other`."""
    folder = tmp_path_factory.mktemp("several")
    for name, rtt in (("twice", "10 ms"), ("twice", "20 ms"), ("other", "30 ms")):
        file = folder / f"{name}.yaml"
        file.write_text(TEXT.replace("NAME", name).replace("RTT", rtt), encoding="utf-8")
        dumbbell.run(file, store=folder / "store")
    return folder / "store"


def call(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_show_says_that_there_are_others_and_shows_them(store: Path) -> None:
    last = call("show", store, "--at", "500 ms")
    assert last.startswith("other")
    assert f"the last run of 3 experiments; another: --experiment {ids(store)[1]}" in last
    assert f"dumbbell store ls {store}" in last
    shown = call("show", store, "--at", "500 ms", "--experiment", ids(store)[1])
    assert shown.startswith("twice")
    assert "experiments" not in shown
    assert call("show", store, "--at", "500 ms", "--experiment", "twice") == shown
    first = call("show", store, "--at", "500 ms", "--experiment", ids(store)[0])
    assert first.startswith("twice")
    assert first != shown


def test_explain_says_it_too(store: Path) -> None:
    words = ("explain", store, "--flow", "one", "--at", "500 ms")
    assert "the last run of 3 experiments" in call(*words)
    assert call(*words, "--experiment", "twice").startswith("twice")


def test_an_experiment_that_is_not_there(store: Path) -> None:
    done = CliRunner().invoke(app, ["show", str(store), "--experiment", "twise"])
    assert done.exit_code == 2
    assert "did you mean twice?" in done.stderr


def ids(store: Path) -> list[str]:
    """First letters of the ids, in the order of `store ls`."""
    return re.findall(r"^ *([0-9a-f]{8}) ", call("store", "ls", store), re.MULTILINE)


def test_the_explorer_tells_experiments_of_one_name_apart(store: Path) -> None:
    found = marks(Shelf(store).records)
    assert sorted(one[:8] for one in found) == sorted(ids(store)[:2])
    for key, mark in found.items():
        assert re.fullmatch(rf"last run \d{{4}}-\d\d-\d\d \d\d:\d\d, {key[:8]}", mark)


def test_headings_say_what_they_are_means_over(store: Path) -> None:
    listing = Listing(Shelf(store).experiment(None))
    of = {by: listing.answer(Question(by=by))["labels"] for by in ("runs", "cells")}
    assert of["runs"]["goodput_mbps"].endswith(", mean over flows")
    assert of["runs"]["jain"] == "Jain's index of all flows"
    assert of["cells"]["goodput_mbps"].endswith(", mean over flows and repeats")
    assert of["cells"]["jain"].endswith(", mean over repeats")


def test_doctor_names_missing_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "query", ("no_such_module",))
    (extras,) = [one for one in examine() if one.name == "extras"]
    assert extras.well
    assert "not installed: pip install 'dumbbell-lab[query" in extras.found
    assert extras.found.startswith("explore")
