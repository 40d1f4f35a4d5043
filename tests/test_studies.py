"""Studies: the data files, verdicts at their boundaries, tables, JSON."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from dumbbell.compare.agreement import read_reference
from dumbbell.errors import StoreError
from dumbbell.experiment import load
from dumbbell.metrics import flow_limits
from dumbbell.metrics.numbers import number, with_error
from dumbbell.results import Results
from dumbbell.studies import (
    StudyError,
    StudyResult,
    Verdict,
    evaluate_study,
    list_studies,
    load_study,
    renderables,
    run_study,
    studies_table,
)
from dumbbell.studies.definition import Cause, Claim
from dumbbell.studies.display import reference_lines
from dumbbell.studies.fixed import fix_claims, refuse_changed
from dumbbell.studies.quantities import Cells
from dumbbell.studies.reference import ReferenceCells, filled, plain
from dumbbell.studies.verdicts import judge
from tests import synthetic
from tests.test_verdicts import made_up

KEYS = {"id", "text", "verdict", "measured", "low", "high", "published"}


@pytest.fixture(scope="module")
def result() -> StudyResult:
    parts = {
        part: synthetic.multipath(part, samples=False) for part in ("single-vs-multi", "delay")
    }
    return evaluate_study(load_study("multipath"), parts)


def causes_of(claim: Claim) -> list[str | None]:
    return [cause.part for cause in claim.causes]


def verdicts(found: StudyResult) -> dict[str, str]:
    return {claim.claim.id: str(claim.verdict) for claim in found.claims}


def test_multipath_is_found_with_its_parts_and_claims() -> None:
    study = next(one for one in list_studies() if one.study == "multipath")
    own = [name for name, part in study.parts.items() if not part.is_variant]
    assert own[:5] == ["single-vs-multi", "delay", "loss", "fairness", "udp"]
    assert own[5:] == ["unequal", "unequal-pairs", "unequal-udp", "spraying", "ladder"]
    for claim in study.claims:
        assert all(part is None or study.parts[part].is_variant for part in causes_of(claim))
    ids = {claim.id for claim in study.claims}
    assert {f"M{number}" for number in range(1, 11)} <= ids
    assert all(claim.source for claim in study.claims)


def test_published_tables_have_a_row_for_every_cell() -> None:
    study = load_study("multipath")
    assert [row["cc"] for row in study.published("table-5.1")] == ["reno", "bic", "cubic", "bbr"]
    assert len(study.published("table-5.2")) == 6
    assert study.published("delay") == []


def test_the_kernel_numbers_get_the_verdicts_that_they_deserve(result: StudyResult) -> None:
    found = verdicts(result)
    assert found["M1"] == Verdict.REPRODUCED
    assert found["M1.multi"] == Verdict.REPRODUCED
    assert found["M2"] == Verdict.REPRODUCED
    assert found["M2.growth"] == Verdict.INCONSISTENT
    assert found["M2.bbr"] == Verdict.INCONSISTENT
    assert found["M2.bbr-single"] == Verdict.REPRODUCED
    assert found["M3"] == Verdict.REPRODUCED
    assert found["M3.reno"] == Verdict.NOT_REPRODUCED
    assert found["M4"] == Verdict.NOT_REPRODUCED  # the kernel's gap at 10 ms is above 80 ms
    assert found["M4.lower"] == Verdict.REPRODUCED
    assert not {"M5", "M7", "M8"} & set(found)  # parts that were not run


def test_json_has_the_agreed_shape(result: StudyResult) -> None:
    found = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(found) == {"study", "engine", "versions", "claims", "tables"}
    assert found["engine"] == "sim"
    assert found["versions"] == {"sim": "0.1.0+0123456789ab"}
    for claim in found["claims"]:
        assert set(claim) >= KEYS
        assert claim["verdict"] in set(Verdict)
    rows = found["tables"]["table-5.1"]
    assert list(rows[0])[:5] == [
        "cc",
        "single_sack_blocks",
        "single_sack_blocks_measured",
        "single_sack_blocks_low",
        "single_sack_blocks_high",
    ]
    for row in rows:
        assert abs(row["multi_throughput_mbps_measured"] / row["multi_throughput_mbps"] - 1) < 0.03
    delays = found["tables"]["delay"]
    assert len(delays) == 40
    assert delays[0]["delay_ms"] == 10.0
    assert "goodput_mbps" not in delays[0]


def test_everything_fits_a_terminal_and_nothing_is_printed(
    result: StudyResult, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = list(renderables(result))
    assert capsys.readouterr().out == ""
    console = Console(width=100, record=True, file=io.StringIO())
    for one in shown:
        console.print(one)
    console.print(studies_table([result.study]))
    text = console.export_text()
    assert "not reproduced" in text
    assert "(56215)" in text


def test_running_a_study_uses_its_experiment_files() -> None:
    asked: list[Path] = []

    def runner(path: Path, _: Mapping[str, str]) -> Results:
        asked.append(path)
        return synthetic.multipath(path.stem, samples=False)

    found = run_study("multipath", parts=["delay"], runner=runner)
    assert [path.name for path in asked] == ["delay.yaml"]
    assert set(found.tables) == {"delay"}


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"there are: .*multipath"):
        load_study("multipaths")
    with pytest.raises(StudyError, match="it has single-vs-multi"):
        run_study("multipath", parts=["dealy"], runner=lambda *_: made_up([1.0]))
    with pytest.raises(StudyError, match="it has: kernel"):
        run_study("multipath", against="kernal", runner=lambda *_: made_up([1.0]))
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "study.yaml").write_text("study: [", encoding="utf-8")
    with pytest.raises(StudyError, match="not YAML"):
        load_study(folder)
    (folder / "study.yaml").write_text("study: x\ntitel: y\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"study\.yaml:1: title: is missing"):
        load_study(folder)


def test_numbers_are_shown_with_sense() -> None:
    assert number(None) == number(float("nan")) == "–"
    assert number(56215) == "56\u202f215"
    assert number(0.0) == "0"
    assert number(19.128) == "19.13"
    assert with_error(98.517, 0.31) == "98.52 ± 0.31"
    assert with_error(34534.0, 182.3) == "34\u202f534 ± 183"
    assert with_error(19.1, 0.0) == "19.10"


@pytest.mark.slow
def test_the_experiments_of_the_published_parts_are_134_cells() -> None:
    study = load_study("multipath")
    cells = {
        part: load(study.folder / one.experiment).cells
        for part, one in study.parts.items()
        if not one.is_variant
    }
    assert {part: len(found) for part, found in cells.items()} == {
        "single-vs-multi": 8,
        "delay": 40,
        "loss": 40,
        "fairness": 6,
        "udp": 40,
        "unequal": 36,
        "unequal-pairs": 18,
        "unequal-udp": 24,
        "spraying": 16,
        "ladder": 2,
    }
    for part in ("single-vs-multi", "delay", "loss", "fairness", "udp"):
        for cell in cells[part]:
            limits = flow_limits(cell.scenario, "flow1")
            assert limits.paths == (1 if cell.levels.get("routing") == "single" else 2)
            assert limits.rate_bps == limits.paths * 10e6
            assert limits.buffer_packets == limits.paths * 100


def test_cells_set_up_as_the_kernel_was_are_named_as_there() -> None:
    study = load_study("multipath")
    reference = study.references["kernel"]
    ours = set()
    for part, one in reference.parts.items():
        for cell in load(study.folder / one.experiment).cells:
            levels = {factor: plain(level) for factor, level in cell.levels.items()}
            ours.add((part, *(filled(template, levels) for template in one.cell.values())))
            scenario = json.loads(cell.scenario)
            hosts = [node["tcp"] for node in scenario["nodes"] if node["kind"] == "host"]
            assert {host["tcp_comp_sack_nr"] for host in hosts} == {0}
            assert scenario["sampling"]["interval_ns"] == 100_000_000
    assert ours == set(read_reference(study.folder / reference.file, reference.layout))


def test_a_candidate_that_does_not_restore_the_published_value_is_no_cause() -> None:
    study = load_study("multipath")
    claim = next(one for one in study.claims if one.id == "M4")
    own, variant = (synthetic.multipath("delay", samples=False) for _ in range(2))
    faster = variant.flows.with_columns(pl.col("tap_rtt_mean_ns") * 0.5)
    changed = replace(variant, flows=faster)
    cells = {"delay": Cells(own), "delay-6.1": Cells(changed)}
    result = judge(study, claim, cells)
    assert result is not None
    assert result.verdict is Verdict.NOT_REPRODUCED
    kernel, buffer = result.causes
    assert (kernel.cause.part, buffer.cause.part) == ("delay-6.1", "delay-half-buffer")
    assert kernel.without is not None
    assert kernel.without.deciding.measured.value < result.deciding.measured.value
    assert buffer.without is None
    assert [one["shown"] for one in result.to_json()["causes"]] == [False, False]


def test_a_cause_that_restores_the_published_value_is_shown() -> None:
    study = load_study("multipath")
    claim = next(one for one in study.claims if one.id == "M9")
    own, variant = (synthetic.multipath("single-vs-multi", samples=False) for _ in range(2))
    smaller = variant.flows.with_columns(pl.lit(217).alias("cwnd_max_packets"))
    cells = {"single-vs-multi": Cells(own), "remembered": Cells(replace(variant, flows=smaller))}
    result = judge(study, claim, cells)
    assert result is not None
    assert result.verdict is Verdict.NOT_REPRODUCED  # the removal does not change the verdict
    assert [one["shown"] for one in result.to_json()["causes"]] == [True]


def test_a_reproduced_claim_needs_no_cause() -> None:
    study = load_study("multipath")
    claim = next(one for one in study.claims if one.id == "M2")
    cells = {"single-vs-multi": Cells(synthetic.multipath("single-vs-multi", samples=False))}
    result = judge(study, claim, cells)
    assert result is not None
    assert claim.causes
    assert result.causes == []


def test_a_cause_changes_something() -> None:
    with pytest.raises(ValueError, match="names another part, or measures another quantity"):
        Cause.model_validate({"text": "because"})


def test_variants_run_under_names_of_their_own() -> None:
    asked: dict[str, Mapping[str, object]] = {}

    def runner(path: Path, changed: Mapping[str, str | list[str]]) -> Results:
        asked[str(changed.get("name", path.stem))] = changed
        return synthetic.multipath("delay", samples=False)

    run_study("multipath", parts=["delay", "delay-6.1"], runner=runner)
    assert asked["delay"] == {}
    assert asked["multipath-delay-delay-6.1"]["hosts.defaults.profile"] == "linux-6.1"


@pytest.mark.slow
def test_every_variant_changes_what_is_there() -> None:
    study = load_study("multipath")
    for part in study.parts.values():
        if part.is_variant:
            changed = load(study.folder / part.experiment, set=part.set)
            plain_ones = {cell.scenario for cell in load(study.folder / part.experiment).cells}
            assert plain_ones.isdisjoint(cell.scenario for cell in changed.cells)


def test_claims_are_judged_on_the_numbers_of_a_reference() -> None:
    study = load_study("multipath")
    reference = study.references["kernel"]
    cells = ReferenceCells(study, reference, "single-vs-multi")
    single = cells.drawn("goodput_mbps", {"routing": "single", "cc": "reno"})
    assert single is not None
    assert (single.value, single.count) == (9.564, 3)
    assert cells.drawn("dropped_packets", {"routing": "single", "cc": "reno"}) is None
    assert cells.drawn("goodput_mbps", {"routing": "triple", "cc": "reno"}) is None
    with pytest.raises(StudyError, match="no factor 'routing'"):
        cells.drawn("goodput_mbps", {"cc": "reno"})
    pairs = ReferenceCells(study, reference, "fairness")
    jain = pairs.drawn("jain", {"cc_1": "bbr", "cc_2": "cubic"})
    assert jain is not None
    assert 0.9 < jain.value < 1
    second = pairs.drawn("goodput_mbps", {"cc_1": "bbr", "cc_2": "cubic", "flow": "flow2"})
    assert second is not None
    assert 9 < second.value < 12


def test_a_claim_stands_beside_the_verdict_of_the_kernel(result: StudyResult) -> None:
    for claim in result.claims:
        bbr_drops = claim.claim.id == "M9.bbr"  # the kernel's table has no drops
        assert set(claim.references) == (set() if bbr_drops else {"kernel"})
    (gap,) = (claim for claim in result.claims if claim.claim.id == "M4")
    assert gap.references["kernel"].verdict is Verdict.NOT_REPRODUCED
    # The release stands beside the number: another profile is no disagreement of engines.
    words = "kernel (Linux 6.1.192 in virtual time) agrees: not reproduced"
    assert reference_lines(gap)[0].startswith(words)


@pytest.mark.slow
def test_a_claim_that_was_changed_after_its_runs_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(load_study("multipath").folder, folder)
    store = tmp_path / "store"

    def runner(path: Path, changed: Mapping[str, str | list[str]]) -> Results:
        return synthetic.multipath("single-vs-multi", samples=False)

    def run() -> StudyResult:
        return run_study(folder, parts=["single-vs-multi"], store=store, runner=runner)

    text = (folder / "study.yaml").read_text(encoding="utf-8")
    first = verdicts(run())
    (folder / "study.yaml").write_text(text.replace("Single-path goodput as", "Goodput as"))
    assert verdicts(run()) == first  # the words of a claim may change
    wider = text.replace(
        "expect: {near: true, tolerance: 10 %}", "expect: {near: true, tolerance: 90 %}"
    )
    assert wider != text
    (folder / "study.yaml").write_text(wider)
    with pytest.raises(StudyError, match=r"changed after the runs in .* were made: M9\b"):
        run()
    (folder / "study.yaml").write_text(text)
    table = folder / "table-5.1.csv"
    table.write_text(table.read_text().replace("9.57", "9.47"))
    with pytest.raises(StudyError, match=r"were made: M1, M1\.single"):
        run()


def test_damage_to_the_fixed_claims_is_said(tmp_path: Path) -> None:
    study = load_study("multipath")
    fix_claims(study, ["delay"], tmp_path / "store")
    kept = tmp_path / "store" / "studies" / "multipath.json"
    assert set(json.loads(kept.read_text())) == {
        "M3",
        "M3.fall",
        "M3.reno",
        "M4",
        "M4.lower",
        "M4.gain",
    }
    kept.write_text("[")
    with pytest.raises(StoreError, match=r"multipath.json: damaged; it should hold the claims"):
        refuse_changed(study, tmp_path / "store")
