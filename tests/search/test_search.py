"""Searches whose answer is known: what is found, what it keeps, what the verb says."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.console.output import Output
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.metrics import METRICS, summary
from dumbbell.search.display import sentences, table
from dumbbell.search.run import Outcome
from dumbbell.store import Store
from tests.search.helpers import QUEUE, SHARES, levels, searched, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    folder = tmp_path_factory.mktemp("attack")
    return searched(SHARES, folder), folder


@pytest.fixture(scope="module")
def optimum(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    folder = tmp_path_factory.mktemp("optimum")
    return searched(QUEUE, folder), folder


def test_an_attack_finds_the_worst_case_that_was_planted(attack: tuple[Outcome, Path]) -> None:
    outcome, _ = attack
    assert outcome.start.value.mean == pytest.approx(0.5, abs=0.01)
    # At most a tenth of the effect, 0.5 − 0.1, is given up for simplicity.
    assert outcome.best.value.mean < 0.16
    edge = outcome.best.value.mean + 0.1 * (outcome.start.value.mean - outcome.best.value.mean)
    assert outcome.found.value.mean <= edge
    confirmed, again = outcome.again
    assert confirmed.value.mean == pytest.approx(0.5, abs=0.01)
    assert again.value.mean == pytest.approx(outcome.found.value.mean, abs=0.01)


def test_a_worst_case_is_made_simple(attack: tuple[Outcome, Path]) -> None:
    outcome, _ = attack
    found = levels(outcome)
    assert found["rtt"] == "10 ms" and found["buffer"] == "100 packets"  # as at the start
    assert found["duration"] == "1 s"
    mine, other = (float(found[name].removesuffix(" Mbit/s")) for name in ("mine", "other"))
    assert mine < 3 and other > 5
    assert outcome.found.value.mean == pytest.approx(mine / (mine + other), abs=0.01)
    # The steps that were kept lead from the worst evaluation to what was found.
    now = {name: level.label for name, level in outcome.best.point.items()}
    for step in outcome.steps:
        assert step.before == now[step.name]
        now |= {step.name: step.after} if step.kept else {}
    assert now == found
    assert any(not step.kept for step in outcome.steps)


def test_the_file_of_a_worst_case_shows_it(attack: tuple[Outcome, Path], tmp_path: Path) -> None:
    outcome, _ = attack
    file = written(outcome.file, tmp_path)
    assert outcome.file.startswith(
        "# Worst case of share (mine), found by `dumbbell search e.yaml`"
    )
    assert "# never full" in outcome.file and "# Datagrams of two flows." in outcome.file
    assert "search" not in outcome.file.replace("dumbbell search", "")
    assert "What is sought" not in outcome.file and "$" not in outcome.file
    results = dumbbell.run(file)
    (share,) = summary(results, METRICS["share"]).filter(flow="mine")["mean"]
    assert share == pytest.approx(outcome.found.value.mean, rel=1e-12)
    arguments = ["check", str(file), "--store", str(tmp_path / "s")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "✓ share below" in done.output
    file.write_text(outcome.file.replace("below: 0.", "below: 0.0"), encoding="utf-8")
    assert CliRunner().invoke(app, arguments).exit_code == 1


def test_a_constraint_is_kept(optimum: tuple[Outcome, Path]) -> None:
    outcome, _ = optimum
    assert outcome.found.feasible
    assert outcome.found.constraints[0].mean > 0.9
    better = [
        one for one in outcome.evaluations if one.value.mean < outcome.found.value.mean - 1e-9
    ]
    assert better and all(one.constraints[0].mean <= 0.9 for one in better)
    # The delay is that of a full queue: 1.2112 ms for each of its frames of 1514 bytes.
    packets = int(levels(outcome)["buffer"].split()[0])
    assert outcome.found.value.mean == pytest.approx(packets * 1.2112, abs=1.3)


def test_constraints_that_nothing_keeps(tmp_path: Path) -> None:
    outcome = searched(
        QUEUE.replace("above: 90 %", "above: 99.99 %, below: 100 %"), tmp_path, evaluations=4
    )
    assert not outcome.found.feasible
    assert next(sentences(outcome)).startswith(
        "No evaluation keeps all constraints. The nearest is"
    )
    assert outcome.found.constraints[0].mean == pytest.approx(
        max(one.constraints[0].mean for one in outcome.evaluations), abs=0.01
    )


def test_every_evaluation_is_a_cell_of_the_store(optimum: tuple[Outcome, Path]) -> None:
    outcome, folder = optimum
    with Store(folder / "store", write=False) as store:
        results = store.results("queue (search)")
        names = [record.info.name for record in store.experiments()]
    assert names == ["queue (search)", "queue (again)", "queue (found)"]
    found = summary(results, METRICS["queue_delay_p95_ms"]).filter(pipe="bottleneck/forward")
    measured = dict(found.select("buffer", "mean").iter_rows())
    assert measured == {one.point["buffer"].label: one.value.mean for one in outcome.evaluations}


def printed(outcome: Outcome) -> list[str]:
    console = Output()
    console.width = 100
    with console.capture() as found:
        console.print(table(outcome, 100))
    return found.get().splitlines()


def test_the_table_fits_and_marks_what_counts(
    attack: tuple[Outcome, Path], optimum: tuple[Outcome, Path]
) -> None:
    for outcome, marks in ((attack[0], ["worst", "start", "simplified"]), (optimum[0], ["best"])):
        lines = printed(outcome)
        assert max(map(len, lines)) <= 100
        for mark in marks:
            assert len([line for line in lines if line.rstrip().endswith(mark)]) == 1
    assert [line for line in printed(optimum[0]) if "above 0.9" in line]


def test_the_title_says_how_many_of_the_evaluations_have_a_row(
    attack: tuple[Outcome, Path], optimum: tuple[Outcome, Path]
) -> None:
    for outcome in (attack[0], optimum[0]):
        lines = printed(outcome)
        title = " ".join(lines[:2])
        told = re.search(
            r"\((?:the best (\d+) of )?(\d+) evaluations?((?: and the [\w ]+)*),", title
        )
        assert told is not None, title
        assert int(told[2]) == len(outcome.evaluations)
        rows = [line for line in lines if re.match(r"\d+ ", line)]
        assert len(rows) == int(told[1] or told[2]) + told[3].count(" and the ")


def test_the_words_name_ends_of_the_space_and_what_was_simplified(
    attack: tuple[Outcome, Path], tmp_path: Path
) -> None:
    said = list(sentences(attack[0]))
    assert said[0].startswith("Worst case: share (mine) 0.") and "times as much." in said[0]
    assert any("duration 2 s → 1 s" in one for one in said)
    narrow = QUEUE.replace("from: 1 packets, to: 60", "from: 40 packets, to: 60")
    said = list(sentences(searched(narrow, tmp_path)))
    assert "buffer lies at an end of its range: there may be more beyond." in said


def test_the_verb_writes_table_words_file_and_json(tmp_path: Path) -> None:
    file, store = written(QUEUE, tmp_path), str(tmp_path / "store")
    out, numbers = tmp_path / "best.yaml", tmp_path / "o.json"
    arguments = ["search", str(file), "-o", str(out), "--json", str(numbers), "--store", store]
    done = CliRunner().invoke(app, [*arguments, "--evaluations", "6", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "queue: smallest queue_delay_p95_ms (" in done.stdout
    assert "• Best: queue_delay_p95_ms" in done.stdout
    assert "which the search has not seen" in done.stdout
    content = json.loads(numbers.read_text(encoding="utf-8"))
    assert content["search"] == {
        "kind": "optimise", "metric": "queue_delay_p95_ms", "goal": "minimise",
        "repeats": 1, "seed": 1,
    }  # fmt: skip
    first = content["evaluations"][0]
    assert first["levels"] == {"buffer": "50 packets"} and first["number"] == 1
    assert set(first["constraints"]) == {"utilisation"}
    assert CliRunner().invoke(app, ["check", str(out), "--store", store]).exit_code == 0


def test_without_a_search_the_space_has_its_start_values(tmp_path: Path) -> None:
    file = written(SHARES, tmp_path)
    results = dumbbell.run(file)
    assert results.experiment.factors == {}
    shares = METRICS["share"].measure(results)["value"].to_list()
    assert shares == [pytest.approx(0.5, abs=0.01)] * 2
    chosen = dumbbell.run(file, set={"mine": "2 Mbit/s", "rtt": ["10 ms", "30 ms"]})
    assert chosen.experiment.factors == {"rtt": ["10 ms", "30 ms"], "mine": ["2 Mbit/s"]}
    (share, *_) = METRICS["share"].measure(chosen).filter(flow="mine")["value"]
    assert share == pytest.approx(2 / 7, abs=0.01)


def test_values_of_set_narrow_the_space(tmp_path: Path) -> None:
    chosen = {"mine": "2 Mbit/s", "rtt": ["20 ms", "30 ms"], "duration": "1 s"}
    outcome = searched(SHARES, tmp_path, set=chosen, evaluations=8)
    tried = {
        tuple(one.point[name].label for name in ("mine", "rtt")) for one in outcome.evaluations
    }
    assert {mine for mine, _ in tried} == {"2 Mbit/s"}
    assert {rtt for _, rtt in tried} == {"20 ms", "30 ms"}
    assert "duration: 1 s" in outcome.file and "udp: {rate: 2 Mbit/s" in outcome.file


def test_factors_beside_a_search_count_with_their_worst_cell(tmp_path: Path) -> None:
    text = QUEUE.replace("tcp: reno", "tcp: $cc").replace(
        "search:", "factors: {cc: [reno, cubic]}\nsearch:"
    )
    outcome = searched(text, tmp_path, evaluations=3)
    with Store(tmp_path / "store", write=False) as store:
        results = store.results("queue (search)")
    assert results.runs.height == 2 * len(outcome.evaluations)
    delays = summary(results, METRICS["queue_delay_p95_ms"]).filter(pipe="bottleneck/forward")
    (start,) = delays.filter(buffer="50 packets").group_by("buffer").max()["mean"]
    assert outcome.evaluations[0].value.mean == pytest.approx(start)


def test_a_file_without_a_search_and_a_metric_without_a_value(tmp_path: Path) -> None:
    nothing = QUEUE[: QUEUE.index("search:")].replace("$buffer", "20 packets")
    with pytest.raises(DumbbellError, match="nothing is sought: write `search` into the file"):
        searched(nothing, tmp_path)
    voice = QUEUE.replace("queue_delay_p95_ms", "voice_mos")
    with pytest.raises(ExperimentError, match="nothing is measured for voice_mos at any point"):
        searched(voice, tmp_path, evaluations=2)


def test_optuna_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    done = CliRunner().invoke(app, ["search", str(written(QUEUE, tmp_path))])
    assert done.exit_code == 2
    assert done.stderr == (
        "dumbbell: searching needs optuna: "
        "pip install 'dumbbell-lab[search]', or pip install optuna [E012]\n"
    )
