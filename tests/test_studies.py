"""Studies: the data files, verdicts at their boundaries, tables, JSON."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dumbbell.compare.agreement import read_reference
from dumbbell.errors import StoreError
from dumbbell.experiment import load
from dumbbell.metrics import flow_limits
from dumbbell.metrics.numbers import number, with_error
from dumbbell.metrics.statistics import DRAWS, bootstrap_means
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
from dumbbell.studies.definition import Cause, Claim, Expectation, Study
from dumbbell.studies.display import reference_lines
from dumbbell.studies.fixed import fix_claims, refuse_changed
from dumbbell.studies.quantities import Cells, Drawn
from dumbbell.studies.reference import ReferenceCells, filled, plain
from dumbbell.studies.verdicts import Case, case_of, judge
from tests import synthetic

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


def made_up(values: list[float], other: list[float] | None = None) -> Results:
    rows: list[dict[str, object]] = []
    for cc, series in (("reno", values), ("bbr", other or [])):
        for repeat, value in enumerate(series):
            key = {"run": f"{cc}{repeat}", "cc": cc, "repeat": repeat, "seed": repeat}
            rows.append({**key, **synthetic.flow(congestion_control=cc, cwnd_mean_packets=value)})
    return synthetic.results({"cc": ["reno", "bbr"]}, {"flows": rows}, repeats=len(values))


def study_with(claim: dict[str, Any]) -> Study:
    base = {"id": "X", "text": "x", "part": "p", "source": "s"}
    data = {"study": "s", "title": "t", "question": "q", "sources": [], "claims": [base | claim]}
    return Study.model_validate({**data, "parts": {"p": {"title": "p", "experiment": "p.yaml"}}})


def verdict_on(claim: dict[str, Any], results: Results) -> str:
    study = study_with(claim)
    found = judge(study, study.claims[0], {"p": Cells(results)})
    assert found is not None
    return str(found.verdict)


RENO = {"metric": "cwnd_mean", "where": {"cc": "reno"}}
GAP = {"difference": [RENO, {"metric": "cwnd_mean", "where": {"cc": "bbr"}}]}


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        (100.0, "reproduced"),
        (102.3, "reproduced"),
        (102.6, "not reproduced"),
        (97.7, "reproduced"),
    ],
)
def test_near_widens_the_interval_by_the_tolerance(published: float, expected: str) -> None:
    claim = {"quantity": RENO, "published": published, "expect": {"near": True, "tolerance": 2.0}}
    assert verdict_on(claim, made_up([99.0, 100.0, 101.0] * 4 + [100.0])) == expected


def test_near_is_noise_if_the_interval_is_wider_than_the_tolerance() -> None:
    claim = {"quantity": RENO, "published": 100, "expect": {"near": True, "tolerance": "2 %"}}
    assert verdict_on(claim, made_up([60.0, 140.0] * 5)) == "within noise"
    assert verdict_on(claim, made_up([100.0])) == "within noise"  # one repeat: no interval


def test_near_is_noise_if_the_opposite_lies_in_the_interval() -> None:
    expect = {"near": True, "tolerance": 50, "opposite": 100.0}
    claim = {"quantity": RENO, "published": 120, "expect": expect}
    assert verdict_on(claim, made_up([90.0, 115.0] * 5)) == "within noise"
    assert verdict_on(claim, made_up([119.0, 121.0] * 5)) == "reproduced"


def test_an_ordering_needs_ninety_five_percent_of_the_draws() -> None:
    claim = {"quantity": GAP, "expect": {"below": 0}}
    ten = [10.0, 10.1] * 5
    assert verdict_on(claim, made_up(ten, [11.0, 11.1] * 5)) == "reproduced"
    assert verdict_on(claim, made_up(ten, [9.0, 9.1] * 5)) == "not reproduced"
    assert verdict_on(claim, made_up(ten, [9.0, 11.2] * 5)) == "within noise"


def test_an_ordering_over_cases_must_hold_in_all_at_once() -> None:
    claim = {
        "quantity": {"metric": "cwnd_mean"},
        "each": {"cc": ["reno", "bbr"]},
        "expect": {"above": 10},
    }
    good, doubtful = [12.0, 13.0] * 5, [8.0, 13.0] * 5
    assert verdict_on(claim, made_up(good, good)) == "reproduced"
    assert verdict_on(claim, made_up(good, doubtful)) == "within noise"
    study = study_with(claim)
    found = judge(study, study.claims[0], {"p": Cells(made_up(good, doubtful))})
    assert found is not None
    assert found.deciding.where == {"cc": "bbr"}


def test_what_repeats_share_cancels_in_a_difference() -> None:
    common = list(np.random.default_rng(1).normal(100, 30, 10))
    claim = {"quantity": GAP, "expect": {"above": 0}}
    assert verdict_on(claim, made_up([x + 0.1 for x in common], common)) == "reproduced"


def test_a_claim_of_cells_that_were_not_run_is_left_out_or_says_so() -> None:
    claim = {
        "quantity": {"metric": "cwnd_mean"},
        "each": {"cc": ["reno", "bbr"]},
        "expect": {"above": 10},
    }
    study = study_with(claim)
    found = judge(study, study.claims[0], {"p": Cells(made_up([20.0, 21.0]))})
    assert found is not None
    assert "1 of 2 cases" in found.note
    assert judge(study, study.claims[0], {}) is None


@pytest.mark.slow
@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=8), st.floats(0, 1e6))
def test_a_published_mean_is_never_refuted(values: list[float], tolerance: float) -> None:
    claim = {
        "quantity": RENO,
        "published": float(np.mean(values)),
        "expect": {"near": True, "tolerance": tolerance},
    }
    assert verdict_on(claim, made_up(values)) != "not reproduced"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"quantity": {"metric": "goodput"}, "expect": {"above": 1}}, "goodput_mbps"),
        ({"quantity": {}, "expect": {"above": 1}}, "one of metric"),
        ({"quantity": RENO, "expect": {}}, "one of near"),
        ({"quantity": RENO, "expect": {"near": True}}, "near what"),
        ({"quantity": RENO, "published": [1, 2], "expect": {"above": 1}}, "1 cases, 2 published"),
        (
            {"quantity": RENO, "published": 1, "expect": {"near": True, "tolerance": "3"}},
            "a number or a share",
        ),
    ],
)
def test_claims_that_make_no_sense_are_refused(claim: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study_with(claim)


def test_a_cell_must_be_named_fully() -> None:
    cells = Cells(made_up([1.0, 2.0], [3.0, 4.0]))
    with pytest.raises(StudyError, match="which cc"):
        cells.drawn("cwnd_mean", {})
    with pytest.raises(StudyError, match="no factor 'delay'"):
        cells.drawn("cwnd_mean", {"delay": "10 ms"})
    assert cells.drawn("cwnd_mean", {"cc": "vegas"}) is None
    drawn = cells.drawn("cwnd_mean", {"cc": "reno"})
    assert drawn is not None
    assert drawn.draws.shape == (DRAWS,)
    assert np.array_equal(drawn.draws, bootstrap_means([1.0, 2.0]))


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


def test_tolerances_are_absolute_or_shares() -> None:
    assert Expectation(near=True, tolerance="3 %").tolerance_around(20) == pytest.approx(0.6)
    assert Expectation(near=True, tolerance=2).tolerance_around(20) == 2


def test_claims_name_cases_as_a_product_or_a_list() -> None:
    base = {"id": "X", "text": "x", "part": "p", "quantity": RENO, "expect": {"above": 1}}
    product = Claim.model_validate({**base, "each": {"a": [1, 2], "b": ["x", "y"]}})
    assert len(product.each) == 4
    assert product.each[0] == {"a": "1", "b": "x"}
    points = Claim.model_validate({**base, "each": [{"a": 1, "b": "x"}]})
    assert points.each == [{"a": "1", "b": "x"}]


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
    assert reference_lines(gap)[0].startswith("kernel agrees: not reproduced")


class ConstantRate:
    """A sender that is no TCP: fills the paths at a constant rate, whatever happens there."""

    def drawn(self, metric: str, where: Mapping[str, str]) -> Drawn:
        shared = "cc_1" in where or "udp_rate" in where
        goodput = 9.564 if shared or where.get("routing") == "single" else 19.128
        delay = float(where.get("delay", "10 ms").removesuffix(" ms"))
        value = {
            "goodput_mbps": goodput,
            "sending_rate_mbps": goodput,
            "rtt_mean_ms": delay,
            "cwnd_mean": 100.0,
            "cwnd_max": 100.0,
            "jain": 1.0,
        }.get(metric, 0.0)
        return Drawn(value, np.full(DRAWS, value), 10)


def test_a_sender_that_is_no_tcp_fails_every_group_of_claims() -> None:
    study = load_study("multipath")
    fake = dict.fromkeys(study.parts, ConstantRate())
    failed = set()
    for claim in study.claims:
        result = judge(study, claim, fake)
        assert result is not None
        if result.verdict in (Verdict.NOT_REPRODUCED, Verdict.WITHIN_NOISE):
            failed.add(claim.id.partition(".")[0])
    assert {f"M{number}" for number in range(2, 10)} <= failed


@pytest.mark.parametrize("spread", [0.001, 0.1, 0.3])
def test_more_repeats_are_asked_for_where_a_verdict_is_close(spread: float) -> None:
    values = 10.0 + spread * np.linspace(-1.0, 1.0, 10)
    needed = bounded_case(Expectation(above=9.95), values).repeats_needed
    # 1.96 standard errors within the margin of 0.05.
    expected = (1.96 * values.std() / 0.05) ** 2
    assert needed is not None
    assert needed == 2 if expected < 1.5 else abs(needed - expected) <= 0.15 * expected + 1


def test_no_number_of_repeats_decides_what_lies_on_the_edge() -> None:
    assert bounded_case(Expectation(above=10.0), np.full(10, 10.0)).repeats_needed is None


def bounded_case(expect: Expectation, values: np.ndarray) -> Case:
    drawn = Drawn(float(values.mean()), bootstrap_means(values), values.size)
    return case_of(expect, {}, None, drawn)


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
