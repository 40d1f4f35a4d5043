from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.scenario import read_scenario
from tests.helpers import BASE, loaded, message


def cells(text: str, **options: Any) -> list[dict[str, str]]:
    return [cell.levels for cell in loaded(text, **options).cells]


VARIED = BASE.replace("tcp: cubic", "tcp: $cc").replace("40 ms", '"${rtt}"')


def test_a_grid_is_every_combination_in_the_order_of_the_file() -> None:
    text = VARIED + "factors: {rtt: [10 ms, 50 ms], cc: [reno, cubic]}\n"
    assert cells(text) == [
        {"rtt": "10 ms", "cc": "reno"},
        {"rtt": "10 ms", "cc": "cubic"},
        {"rtt": "50 ms", "cc": "reno"},
        {"rtt": "50 ms", "cc": "cubic"},
    ]
    assert loaded(text).info.factors == {"rtt": ["10 ms", "50 ms"], "cc": ["reno", "cubic"]}


def test_zipped_factors_go_together() -> None:
    text = VARIED + "factors: {zip: {rtt: [10 ms, 50 ms], cc: [reno, cubic]}}\n"
    assert cells(text) == [{"rtt": "10 ms", "cc": "reno"}, {"rtt": "50 ms", "cc": "cubic"}]


def test_points_and_grid_multiply() -> None:
    text = (
        VARIED.replace("100 s", "$long")
        + "factors:\n  grid: {long: [50 s, 60 s]}\n"
        + "  points: [{cc: reno, rtt: 1 ms}, {cc: bic, rtt: 1 ms}]\n"
    )
    assert cells(text) == [
        {"long": "50 s", "cc": "reno", "rtt": "1 ms"},
        {"long": "50 s", "cc": "bic", "rtt": "1 ms"},
        {"long": "60 s", "cc": "reno", "rtt": "1 ms"},
        {"long": "60 s", "cc": "bic", "rtt": "1 ms"},
    ]


def test_levels_keep_their_spelling() -> None:
    text = BASE.replace("40 ms", "$rtt") + "factors: {rtt: [0.010 s, '20  ms', 30ms]}\n"
    assert [cell["rtt"] for cell in cells(text)] == ["0.010 s", "20 ms", "30ms"]


def test_a_level_may_be_a_mapping_with_a_label() -> None:
    text = BASE.replace("tcp: cubic", "tcp: $cc") + (
        "factors: {cc: [reno, {label: small, value: {congestion_control: reno, bytes: 9 KiB}}]}\n"
    )
    found = loaded(text)
    assert found.info.factors == {"cc": ["reno", "small"]}
    flow = json.loads(found.cells[1].scenario)["flows"][0]
    assert flow["traffic"]["tcp"]["source"] == {"bulk": {"bytes": 9216, "refill_ns": 0}}


def test_a_reference_within_a_text() -> None:
    text = BASE.replace("40 ms", '"${n} ms"') + "factors: {n: [10, 20]}\n"
    assert [cell.rtt_ns["flow1"] for cell in loaded(text).cells] == [10_000_000, 20_000_000]


def test_a_path_sets_every_field_it_names() -> None:
    text = BASE + "factors: {cc: {levels: [reno, bic], path: 'flows[*].tcp'}}\n"
    for cell, cc in zip(loaded(text).cells, ("reno", "bic"), strict=True):
        flows = json.loads(cell.scenario)["flows"]
        assert [f["traffic"]["tcp"]["congestion_control"] for f in flows] == [cc, cc]


def test_set_replaces_levels_and_fields() -> None:
    text = VARIED + "factors: {rtt: [10 ms, 50 ms], cc: [reno, cubic]}\n"
    assert cells(text, set={"cc": "bbr"}) == [
        {"rtt": "10 ms", "cc": "bbr"},
        {"rtt": "50 ms", "cc": "bbr"},
    ]
    assert len(cells(text, set={"cc": ["bbr", "bic"], "rtt": "1 ms"})) == 2
    found = loaded(text, set={"duration": "7 s", "flows[1].start": "1 s"})
    assert found.cells[0].duration_ns == 7_000_000_000
    assert found.overrides == {"duration": ["7 s"], "flows[1].start": ["1 s"]}


def test_set_makes_sections_that_the_file_leaves_out() -> None:
    assert "hosts" not in BASE
    found = loaded(BASE, set={"hosts.defaults.mtu": "9000 bytes", "sampling.interval": "20 ms"})
    scenario = read_scenario(found.cells[0].scenario)
    assert {n["tcp"]["mtu_bytes"] for n in scenario["nodes"] if n["tcp"]} == {9000}
    assert scenario["sampling"]["interval_ns"] == 20_000_000
    assert message(BASE, set={"hosts.default.mtu": "9000 bytes"}) == (
        "--set hosts.default.mtu: no such field: hosts has no entries"
    )


def test_set_names_a_level_by_its_label() -> None:
    levels = "[{label: short, value: 30 s}, 40 s]"
    text = BASE + f"factors: {{length: {{levels: {levels}, path: duration}}}}\n"
    (cell,) = loaded(text, set={"length": "short"}).cells
    assert (cell.levels, cell.duration_ns) == ({"length": "short"}, 30_000_000_000)


def test_set_picks_rows_of_tied_factors() -> None:
    text = VARIED + "factors: {zip: {rtt: [10 ms, 50 ms], cc: [reno, cubic]}}\n"
    found = loaded(text, set={"cc": "cubic"})
    assert [cell.levels for cell in found.cells] == [{"rtt": "50 ms", "cc": "cubic"}]
    assert found.info.factors == {"rtt": ["50 ms"], "cc": ["cubic"]}
    assert message(text, set={"cc": "cubik"}) == (
        "--set cc: no such level of a factor that is tied to others; found cubik; did you mean "
        "cubic?; allowed: reno, cubic"
    )


def test_the_number_of_combinations_is_bounded() -> None:
    names = [f"f{i}" for i in range(7)]
    levels = ", ".join(f"{n}: [{', '.join(map(str, range(10)))}]" for n in names)
    text = BASE + f"description: x\nfactors: {{{levels}}}\n"
    assert "10000000 combinations, more than 1000000" in message(text)


@pytest.mark.parametrize("field", ["repeats: $n", "seed: $n", "name: $n", "description: $n"])
def test_what_is_common_to_all_cells_cannot_vary(field: str) -> None:
    base = BASE.replace("name: two flows\n", "") if field.startswith("name") else BASE
    assert "the same in all cells" in message(base + f"{field}\nfactors: {{n: [1, 2]}}\n")


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_a_grid_has_the_product_of_its_levels(sizes: list[int]) -> None:
    factors = {f"f{i}": [f"{k + 1} ms" for k in range(n)] for i, n in enumerate(sizes)}
    spelled = ", ".join(f"{name}: [{', '.join(own)}]" for name, own in factors.items())
    hosts = ", ".join(f"x{i}: {{processing_jitter: ${name}}}" for i, name in enumerate(factors))
    links = ", ".join(f"{{between: [x{i}, r1]}}" for i in range(len(sizes)))
    text = BASE + f"hosts: {{{hosts}}}\nlinks: [{links}]\nfactors: {{{spelled}}}\n"
    expected = [
        dict(zip(factors, row, strict=True)) for row in itertools.product(*factors.values())
    ]
    assert cells(text) == expected
