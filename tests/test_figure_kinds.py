"""Figures of the kinds `sweep`, `bars`, `matrix` and `sequence`: what is drawn, what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

import dumbbell
from dumbbell.figures import Figure, plot
from dumbbell.figures.sweep import is_geometric
from dumbbell.levels import scale_of
from dumbbell.metrics import METRICS, summary
from dumbbell.results import Results
from dumbbell.units import BDP, PACKETS, RATE, RTT, SHARE, SIZE, TIME, Family
from tests import synthetic

PAIRS = """\
dumbbell: 1
name: pairs
template: {dumbbell: {pairs: 3, rate: 10 Mbit/s, rtt: $rtt, buffer: 1 BDP}}
flows:
  - {name: a, from: s1, to: d1, tcp: $cc, start_jitter: 10 ms}
  - {name: b, from: s2, to: d2, tcp: $other, start_jitter: 10 ms}
  - {name: background, from: s3, to: d3, tcp: westwood, start_jitter: 10 ms}
factors: {cc: [reno, bbr], other: [bbr, reno], rtt: [5 ms, 10 ms, 20 ms, 40 ms]}
sampling: {interval: 50 ms, keep: [samples]}
repeats: 2
duration: 2 s
"""
TAPPED = """\
dumbbell: 1
name: tapped
template: {dumbbell: {rate: 5 Mbit/s, rtt: 20 ms, buffer: 10 packets}}
flows:
  - {name: transfer, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 400 KiB}}
taps: [{at: s1, link: s1-r1}]
sampling: {interval: 20 ms, keep: [samples], packets: {from: 0 s, to: 2 s}}
duration: 2 s
"""


def ran(text: str, folder: Path) -> Results:
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, workers=1)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return ran(PAIRS, tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def tapped(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return ran(TAPPED, tmp_path_factory.mktemp("tapped"))


def data_of(figure: Figure) -> Any:
    alt.Chart.from_dict(figure.spec)  # checks it
    found = figure.spec["layer"][0].get("data") or figure.spec["data"]
    return found["values"]


def rows_of(figure: Figure) -> list[dict[str, Any]]:
    return list(data_of(figure))


def test_a_sweep_has_a_line_and_a_band_per_series(pairs: Results) -> None:
    figure = plot(pairs, "sweep", by="cc", where={"other": "bbr"}, flow="a")
    rows = rows_of(figure)
    assert figure.title == "Goodput against RTT"
    expected = summary(pairs, METRICS["goodput_mbps"], ["cc", "other", "rtt", "flow"])
    some = expected.filter(
        (pl.col("flow") == "a") & (pl.col("other") == "bbr") & (pl.col("cc") == "reno")
    )
    drawn = {row["x"]: row["mean"] for row in rows if row["series"] == "Reno"}
    assert drawn == {
        float(level.removesuffix(" ms")): pytest.approx(mean, rel=1e-6)
        for level, mean in some.select("rtt", "mean").iter_rows()
    }
    marks = [layer["mark"]["type"] for layer in figure.spec["layer"]]
    assert marks == ["area", "line", "point"]
    x = figure.spec["layer"][0]["encoding"]["x"]
    assert (x["scale"]["type"], x["title"]) == ("log", "RTT (ms)")


def test_a_sweep_refuses_words(pairs: Results) -> None:
    with pytest.raises(ValueError, match="other has no numbers for an axis: the kind bars"):
        plot(pairs, "sweep", x="other", by="cc", where={"rtt": "5 ms"}, flow="a")


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([1, 2, 4, 8, 16], True),
        ([1, 10, 100], True),
        ([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], False),
        ([0, 1, 10, 100], False),
        ([1, 2, 3], False),
        ([1, 100], True),
        ([1, 10], False),
        ([5], False),
        ([], False),
    ],
)
def test_steps_decide_whether_an_axis_is_logarithmic(levels: list[float], expected: bool) -> None:
    assert is_geometric(levels) is expected


@pytest.mark.parametrize(
    "family", [TIME, RATE, SIZE, PACKETS, SHARE, BDP, RTT], ids=lambda f: f.name
)
def test_levels_have_the_units_of_the_reader(family: Family) -> None:
    first, one = next(iter(family.units.items()))
    for spelling, value in family.units.items():
        for text in (spelling, spelling.upper().replace("Μ", "μ")):
            scale = scale_of([f"1 {first}", f"1_0.5 {text}"])
            assert scale is not None, text
            assert scale.values[f"1_0.5 {text}"] == pytest.approx(float(10.5 * value / one))
    assert scale_of([f"1 {first}", "1 furlongs"]) is None


def test_bars_have_a_group_per_level_and_start_at_0(pairs: Results) -> None:
    figure = plot(pairs, "bars", by="other", where={"rtt": "5 ms"}, flow="a")
    rows = rows_of(figure)
    assert {(row["x"], row["series"]) for row in rows} == {
        (one, other) for one in ("Reno", "BBR") for other in ("Reno", "BBR")
    }
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)
    assert figure.spec["layer"][0]["encoding"]["y"]["scale"]["zero"] is True
    alone = plot(pairs, "bars", where={"rtt": "5 ms", "other": "bbr"}, flow="a")
    assert {row["series"] for row in rows_of(alone)} == {"Reno", "BBR"}
    numbers = plot(pairs, "bars", x="rtt", where={"cc": "bbr", "other": "bbr"}, flow="a")
    assert [row["x"] for row in rows_of(numbers)] == ["5 ms", "10 ms", "20 ms", "40 ms"]


def test_a_matrix_has_the_share_of_each_row(pairs: Results) -> None:
    cells = rows_of(plot(pairs, "matrix", where={"rtt": "10 ms"}))
    assert {(cell["row"], cell["column"]) for cell in cells} == {
        (one, other) for one in ("Reno", "BBR") for other in ("Reno", "BBR")
    }
    goodput = (
        METRICS["goodput_mbps"]
        .measure(pairs)
        .filter((pl.col("rtt") == "10 ms") & (pl.col("cc") == "reno") & (pl.col("other") == "bbr"))
    )
    rows = goodput.select("flow", "repeat", "value").rows()
    values = {(flow, repeat): value for flow, repeat, value in rows}
    shares = [values["a", n] / (values["a", n] + values["b", n]) for n in (0, 1)]
    (cell,) = [one for one in cells if (one["row"], one["column"]) == ("Reno", "BBR")]
    assert cell["share"] == pytest.approx(sum(shares) / 2, rel=1e-6)
    assert cell["text"] == f"{100 * cell['share']:.0f} %"
    turned = rows_of(plot(pairs, "matrix", by="other", where={"rtt": "10 ms"}))
    (mirrored,) = [one for one in turned if (one["row"], one["column"]) == ("BBR", "Reno")]
    assert mirrored["share"] == pytest.approx(1 - cell["share"], rel=1e-6)


ONE = {"cc": "reno", "other": "bbr", "rtt": "10 ms"}
#: Kind, options that choose rows which there are not, and the reason.
NAMES = [
    ("window", {"where": ONE, "flow": "aa"}, "no flow 'aa'; did you mean a? there are a, b, back"),
    ("window", {"where": {**ONE, "flow": "c"}}, "no flow 'c'; there are a, b, background"),
    ("window", {"where": ONE, "repeat": 7}, "no repeat 7; there are 0 to 1"),
    ("sequence", {"where": ONE, "flow": "c"}, "no flow 'c'; there are"),
    ("window", {"where": {**ONE, "rtt": "11 ms"}}, "no level of rtt '11 ms'; did you mean 10 ms?"),
    ("window", {"where": {"rtts": "10 ms"}}, "no factor 'rtts'; did you mean rtt? there are cc, o"),
    ("goodput_mbps", {"flow": "c"}, "no flow 'c'; there are"),
    ("goodput_mbps", {"flow": "a", "by": "oter"}, "no factor 'oter'; did you mean other?"),
    ("goodput_mbps", {"flow": "a", "over": "flow"}, "over means all of flow, and one of it is"),
    ("voice_mos", {"flow": "a"}, "nothing measured for voice_mos: .* where flow is a$"),
    ("window", {}, "several runs for each panel: fix other, rtt by where"),
]


@pytest.mark.parametrize(("kind", "options", "words"), NAMES)
def test_a_name_that_there_is_not_is_the_reason(
    kind: str, options: dict[str, Any], words: str, pairs: Results
) -> None:
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        plot(pairs, kind, **options)


def test_a_repeat_may_be_chosen_as_a_level_is(pairs: Results) -> None:
    by_option = plot(pairs, "window", where=ONE, repeat=1)
    assert by_option.spec == plot(pairs, "window", where={**ONE, "repeat": "1"}).spec
    assert by_option.spec != plot(pairs, "window", where=ONE).spec


def test_a_matrix_says_what_it_needs(pairs: Results) -> None:
    with pytest.raises(ValueError, match="fix rtt by where"):
        plot(pairs, "matrix")
    with pytest.raises(ValueError, match="no factor 'algorithm'"):
        plot(pairs, "matrix", by="algorithm")
    delay = synthetic.multipath("delay", repeats=1, samples=False)
    with pytest.raises(ValueError, match="of delay, cc so does cc"):
        plot(delay, "matrix")


def marks_of(figure: Figure) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(data_of(figure)), infer_schema_length=None)


def test_a_sequence_graph_shows_segments_acks_and_retransmissions(tapped: Results) -> None:
    figure = plot(tapped, "sequence")
    marks = marks_of(figure)
    row = tapped.flows.row(0, named=True)
    assert row["retransmitted_packets"] > 3
    assert {"sent", "acknowledged", "SACKed", "retransmitted"} == set(marks["kind"])
    assert f"retransmitted {row['retransmitted_packets']}" in figure.description
    sent, acked = (marks.filter(pl.col("kind") == kind) for kind in ("sent", "acknowledged"))
    transferred = row["delivered_bytes"] / 1e3
    assert sent["high"].max() == pytest.approx(transferred, rel=0.01)
    assert acked["high"].max() == pytest.approx(transferred, rel=0.01)
    # an ACK follows what it acknowledges by a round trip at least
    for at, low in acked.filter(pl.col("low") > 5).select("s", "low").iter_rows():
        before = sent.filter(pl.col("high") <= low)
        assert before.is_empty() or before["s"].max() < at + 0.02  # type: ignore[operator]


def test_a_stretch_of_a_sequence_graph(tapped: Results) -> None:
    marks = marks_of(plot(tapped, "sequence", start_ms=300, end_ms=500))
    assert 0.3 <= marks["s"].min() <= marks["s"].max() <= 0.5  # type: ignore[operator]
    with pytest.raises(ValueError, match="nothing of transfer in this stretch"):
        plot(tapped, "sequence", start_ms=90_000)


def test_samples_stand_in_for_packets(pairs: Results) -> None:
    where = {"cc": "reno", "other": "bbr", "rtt": "40 ms"}
    figure = plot(pairs, "sequence", where=where, flow="b")
    marks = marks_of(figure)
    assert figure.title == "Sequence numbers of b"
    assert {"acknowledged", "delivered in order"} <= set(marks["kind"])
    with pytest.raises(ValueError, match="several runs: fix"):
        plot(pairs, "sequence")
    with pytest.raises(ValueError, match="no packets and no samples"):
        plot(synthetic.multipath("delay", 1, samples=False), "sequence")


def test_long_flows_are_thinned(tapped: Results) -> None:
    packets = tapped.packets
    many = pl.concat(
        [
            packets.with_columns(
                pl.col("time_ns") + n * 10**6,
                pl.col("seq_bytes") + n * 3000,
                pl.col("ack_bytes") + n * 3000,
            )
            for n in range(60)
        ]
    )
    figure = plot(tapped.with_tables(packets=many), "sequence")
    assert many.height > 20_000
    assert len(json.dumps(figure.spec)) < 400_000
