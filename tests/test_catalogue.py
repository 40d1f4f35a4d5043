"""Every entry of the catalogue has what a reader and a user expect of it."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

from dumbbell._core import ScenarioError
from dumbbell.catalogue import (
    CongestionControl,
    Discipline,
    Impairment,
    congestion_controls,
    disciplines,
    impairments,
    traffic_kinds,
)
from dumbbell.engines import Monitor, Run, engine_named
from dumbbell.engines.linux.kernel import carried
from dumbbell.engines.linux.probe import PROBES
from dumbbell.errors import ExperimentError
from dumbbell.experiment import load_text
from dumbbell.experiment.schema import json_schema
from tests.helpers import KINDS, ROOT
from tests.trials.draw import VALUES, Draw, queue
from tests.write_catalogue_page import FILE_PAGES, PAGE, file_page, markdown
from tests.write_field_index import text as file_pages

TEXT = """\
dumbbell: 1
name: one flow
template: {{dumbbell: {{rate: {rate}, rtt: {rtt}, buffer: {buffer}}}}}
flows: [{{name: f, from: s1, to: d1, tcp: {name}}}]
duration: 20 s
"""
#: Rate, RTT and buffer of single flows that both engines carry.
LINES = [
    ("10 Mbit/s", "20 ms", "1 BDP"),
    ("20 Mbit/s", "80 ms", "0.5 BDP"),
    ("5 Mbit/s", "40 ms", "2 BDP"),
]
#: How far goodput and mean RTT of a single flow may lie from the kernel's. Seen over a grid: 0.03 %
#: and 0.05 % in the median, 2.8 % and 1.1 % at the 95th percentile.
GOODPUT, RTT = 0.03, 0.03
#: Kinds of traffic that are protocols as well: packets, captures and metrics name them.
PROTOCOLS = {"tcp", "udp", "ping"}
ALL = list(congestion_controls().values())
QUEUES = list(disciplines().values())
#: In mainline: BBR v3 is in patched kernels alone (tests/linux/test_congestion_controls.py).
IN_LINUX = [one for one in ALL if one.linux is not None and one.linux.since]


#: What random numbers decide: compared over seeds (tests/linux/test_congestion_controls.py).
RANDOM = {"cdg", "lp"}


def name_of(one: CongestionControl | Discipline) -> str:
    return one.name


def test_the_page_is_the_catalogues() -> None:
    found = PAGE.read_text(encoding="utf-8")
    assert found == markdown(), "write it anew: python -m tests.write_catalogue_page"


@pytest.mark.parametrize("page", FILE_PAGES, ids=lambda page: page.stem)
def test_tables_of_the_experiment_file_are_the_catalogues(page: Path) -> None:
    found = page.read_text(encoding="utf-8")
    assert found == file_page(found), "write it anew: python -m tests.write_catalogue_page"


@pytest.mark.parametrize("one", QUEUES, ids=name_of)
def test_every_queue_discipline_is_documented_and_compared(one: Discipline) -> None:
    assert f"`{one.name}`" in file_pages()
    assert all(
        parameter.rule is None or one.name in ("red", "choke", "cake")
        for parameter in one.parameters
    )
    definitions = json_schema()["$defs"]
    fields = definitions[f"{one.variant}Spec"]["properties"]
    assert not one.parameters or list(fields) == [each.name for each in one.parameters]
    assert one.name in definitions["QueueSpec"]["properties"]
    if one.linux is None:
        assert one.not_in_linux
        return
    assert one.name in PROBES
    assert f"CONFIG_{one.linux.option}=y" in carried().fragment.read_text()
    compared = "".join(file.read_text() for file in (ROOT / "studies/disciplines").glob("*.yaml"))
    assert f"label: {one.name}" in compared, "a line in studies/disciplines, or a reason"
    assert f"| {one.name} | " in (ROOT / "docs" / "disciplines.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("one", impairments().values(), ids=lambda one: one.name)
def test_every_impairment_is_documented_drawn_and_realised_or_refused(one: Impairment) -> None:
    field, _, model = one.name.partition(".")
    assert f"`{field}`" in file_pages()
    assert field in VALUES, "tests/trials/draw.py draws it"
    definitions = json_schema()["$defs"]
    fields = definitions["LossSpec" if model else "PipeSpec"]["properties"]
    spec = re.search(r"#/\$defs/(\w+Spec)", json.dumps(fields[model or field]))
    written = definitions[spec[1]]["properties"] if spec and one.parameters else {}
    assert list(written) == [each.name for each in one.parameters]
    text = TEXT.replace("{buffer}}", f"{{buffer}}, forward: {{{{{ONE_OF[one.name]}}}}}}}")
    text = text.format(rate="10 Mbit/s", rtt="20 ms", buffer="50 packets", name="reno")
    (flow,) = flows("sim", text)
    assert 0 < goodput_mbps(flow) < 10 * 1448 / 1514
    (cell,) = load_text(text, Path("one.yaml")).cells
    if one.linux:
        engine_named("linux").check(cell.scenario)
    else:
        with pytest.raises(ScenarioError, match=f"{field}.*cannot do this"):
            engine_named("linux").check(cell.scenario)


#: An example of each impairment.
ONE_OF = {
    "rewrites": "rewrites: [{{ecn: not_ect}}, {{flow: f, nth: 3, clear_flags: ece}}]",
    "duplication": "duplication: 1 %",
    "policer": "policer: {{rate: 8 Mbit/s, burst: 20 KiB}}",
    "loss.independent": "loss: {{independent: {{probability: 1 %}}}}",
    "loss.gilbert_elliott": "loss: {{gilbert_elliott: {{good_to_bad: 1 %, bad_to_good: 30 %}}}}",
    "loss.state": "loss: {{state: {{p13: 1 %, p31: 30 %, p14: 1 ppm, every: 9 ms}}}}",
    "netem": "shaper: {{tbf: {{rate: 10 Mbit/s, burst: 5 KiB}}}}, netem: {{limit: 90 packets, "
    "delay: {{mean: 9 ms, jitter: 1 ms, distribution: pareto}}, loss: {{gemodel: {{p: 1 ppm}}}}}}",
    "loss.scripted": "loss: {{scripted: [{{flow: f, nth: 3}}]}}",
    "ack_aggregation": "ack_aggregation: {{max_wait: 5 ms, max_acks: 4}}",
    "slots": "slots: {{min: 1 ms, max: 4 ms, packets: 40}}",
    "corruption": "corruption: 1 %",
    "reordering": "reordering: {{probability: 1 %, extra_delay: 3 ms}}",
    "jitter": "jitter: 2 ms",
}


def test_trials_draw_every_queue_discipline() -> None:
    drawn = [queue(Draw(number)) for number in range(400)]
    assert {name for one in drawn for name in one} == set(disciplines())
    for one in QUEUES:
        fields = {field for found in drawn for field in found.get(one.name, {})}
        assert fields >= {parameter.name for parameter in one.parameters}, one.name


@pytest.mark.parametrize("one", [one for one in QUEUES if one.parameters], ids=name_of)
def test_values_out_of_range_are_refused_by_name(one: Discipline) -> None:
    for parameter in one.parameters:
        if parameter.unit in ("flag", "share") or parameter.least == 0:
            continue
        unit = {"number": "", "packets": " packets", "time": " ns"}.get(parameter.unit, " bytes")
        text = TEXT.replace("buffer: {buffer}", f"queue: {{{{{one.name}: {{{{FIELD}}}}}}}}")
        text = text.format(rate="10 Mbit/s", rtt="20 ms", name="reno")
        with pytest.raises(ExperimentError, match=f"{one.name}.{parameter.name}"):
            _core_check(text.replace("FIELD", f"{parameter.name}: {parameter.least - 1}{unit}"))


def _core_check(text: str) -> None:
    """Reads an experiment as `dumbbell validate` does."""
    for cell in load_text(text, Path("one.yaml")).cells:
        assert cell.scenario


@pytest.mark.parametrize("one", [one for one in QUEUES if one.parameters], ids=name_of)
def test_a_queue_with_its_defaults_carries_a_flow(one: Discipline) -> None:
    text = TEXT.replace("{buffer}", "100 packets").replace(
        "rtt:", "forward: {{queue: {buffer}}}, rtt:"
    )
    text = text.replace("buffer: 100 packets}", "backward: {{buffer: 100 packets}}}")
    text = text.format(rate="10 Mbit/s", rtt="20 ms", buffer=one.name, name="cubic")
    (flow,) = flows("sim", text)
    assert 8 < goodput_mbps(flow) < 10 * 1448 / 1514


@pytest.mark.parametrize("one", ALL, ids=name_of)
def test_every_congestion_control_is_documented_and_built(one: CongestionControl) -> None:
    module = one.name.replace("+", "_plus")
    assert (ROOT / "crates" / "cc" / "src" / f"{module}.rs").exists() or (
        ROOT / "crates" / "cc" / "src" / one.name / "mod.rs"
    ).exists()
    assert f"`{one.name}`" in file_pages()
    if one.coupled:
        assert one.linux is None
        return
    compared = (ROOT / "docs" / "congestion-controls.md").read_text(encoding="utf-8")
    assert f"| {one.title} | " in compared, "dumbbell study tables congestion-controls"
    if one.linux is None:
        return
    assert one.linux.name in PROBES
    options = carried().fragment.read_text()
    assert not one.linux.option or f"CONFIG_{one.linux.option}=y" in options


@pytest.mark.parametrize(
    "one", [one for one in ALL if one.linux is None and not one.coupled], ids=name_of
)
def test_what_no_kernel_has_is_refused_there(one: CongestionControl) -> None:
    text = TEXT.format(rate="10 Mbit/s", rtt="20 ms", buffer="1 BDP", name=one.name)
    (cell,) = load_text(text, Path("one.yaml")).cells
    with pytest.raises(ScenarioError, match="which no kernel has"):
        engine_named("linux").check(cell.scenario)


@pytest.mark.parametrize("one", [one for one in ALL if not one.coupled], ids=name_of)
def test_a_single_flow_obeys_the_law_of_its_line(one: CongestionControl) -> None:
    for rate, rtt, buffer in LINES:
        text = TEXT.format(rate=rate, rtt=rtt, buffer=buffer, name=one.name)
        (flow,) = flows("sim", text)
        line = float(rate.split()[0]) * 1448 / 1514
        assert 0.6 * line < goodput_mbps(flow) < line
        assert flow["rtt_min_ns"] >= float(rtt.split()[0]) * 1e6


@pytest.mark.kernel
@pytest.mark.parametrize("one", [o for o in IN_LINUX if o.name not in RANDOM], ids=name_of)
def test_a_single_flow_does_what_the_kernels_does(one: CongestionControl) -> None:
    apart = []
    for rate, rtt, buffer in LINES:
        text = TEXT.format(rate=rate, rtt=rtt, buffer=buffer, name=one.name)
        (ours,), (kernels,) = flows("sim", text), flows("linux", text)
        for what, least, found, measure in (
            ("goodput", GOODPUT, goodput_mbps(ours), goodput_mbps(kernels)),
            ("RTT", RTT, ours["rtt_mean_ns"], kernels["rtt_mean_ns"]),
        ):
            if abs(found - measure) > least * measure:
                apart.append(f"{rate}, {rtt}, {buffer}: {what} {found:.4g}, kernel {measure:.4g}")
    assert not apart, "\n".join(apart)


@pytest.mark.parametrize("name", sorted(set(traffic_kinds()) - PROTOCOLS))
def test_a_kind_of_traffic_is_known_to_few_files(name: str) -> None:
    word = re.compile(
        rf"\b({name.title().replace('_', '')}|mod {name}|{name}::)\b|[\"']{name}[\"']"
    )
    sources = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("dumbbell/**/*.py")]
    found = {path for path in sources if word.search(path.read_text(encoding="utf-8"))}
    found -= {ROOT / "dumbbell" / one for one in ("scenario.py", "sections/fields.py")}  # generated
    assert {path.relative_to(ROOT).as_posix() for path in found} <= {
        "crates/model/src/catalogue/traffic.rs",
        f"crates/model/src/traffic/{name}.rs",
        f"crates/sim/src/endpoint/{name}.rs",
        f"crates/guest/src/traffic/{name}.rs",
        "crates/experiment/src/flow.rs",
        "crates/experiment/src/fields/traffic.rs",  # its short form
        # Kinds that are judged by their delays: their probes are kept.
        "crates/experiment/src/sampling.rs",
        "dumbbell/help/subjects.py",  # words of the field
        "crates/experiment/src/near.rs",  # names of other programs
        # Connections of stacks: their rows, and whether they end by themselves.
        "crates/model/src/stack_rows.rs",
        "dumbbell/engines/preflight.py",
        "dumbbell/measured/qlog.py",  # the log of such connections
        "dumbbell/gate/sides.py",
        "dumbbell/limits/sharing.py",
        "dumbbell/playground/subset.py",
        "dumbbell/metrics/definition.py",
        "dumbbell/metrics/phases.py",
    }


@pytest.mark.parametrize("name", traffic_kinds())
def test_a_kind_of_traffic_is_documented_drawn_and_compared(name: str) -> None:
    page = file_pages()
    assert f"## `{name}`" in page
    assert name in ("tcp", *KINDS)
    compared = [
        path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "linux").glob("*.py")
    ]
    assert any(re.search(rf"\b{name}: ", text) for text in compared)


def flows(engine: str, text: str) -> list[dict[str, float]]:
    """The rows of `flows` of one run."""
    cell = load_text(text, Path("one.yaml")).cells[0]
    result = engine_named(engine).execute(Run("one", cell.scenario, 1, cell.duration_ns), Monitor())
    return pl.read_ipc_stream(io.BytesIO(result.tables["flows"])).to_dicts()


def goodput_mbps(flow: dict[str, float]) -> float:
    return flow["delivered_bytes"] * 8e3 / (flow["end_ns"] - flow["start_ns"])
