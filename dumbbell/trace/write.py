"""Hops of every packet of a run as an event trace of ns-2.

Line: `event time from to type size flags fid source destination sequence id`, and, as with ns-2's
`show_tcphdr_`, `ack 0xflags header-length address-length` (ns manual §26.4). Nodes are numbered in
the order of the experiment, flows from 1. An address is `node.flow`. Sizes are frame sizes
without FCS. TCP sequence numbers count bytes, as those of FullTcp do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError
from dumbbell.experiment import Experiment
from dumbbell.files.names import distinct, run_words
from dumbbell.files.output import replacing
from dumbbell.results import Results
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.trace.names import names_of, write_names

#: Suffix of the longer name, that of the file beside a trace.
_SUFFIX = ".tr.json"
_FIN, _SYN, _PSH, _ACK, _ECE, _CWR = 0x01, 0x02, 0x08, 0x10, 0x40, 0x80


def write_traces(results: Results, folder: str | Path) -> list[Path]:
    """Writes `<name>-<levels>-<repeat>.tr` for every run with hops, and its names beside it.

    Returns the traces. Raises `OutputError` if they cannot be written.
    """
    written = []
    every = results.runs.iter_rows(named=True)
    names = distinct({row["run"]: run_words(results.experiment, row) for row in every}, _SUFFIX)
    for row, hops in _of_runs(results):
        scenario = read_scenario(row["scenario"])
        path = Path(folder) / names[row["run"]].removesuffix(".json")
        with replacing(path) as place, place.open("wb") as file:
            lines(hops, scenario).write_csv(file, include_header=False, quote_style="never")
        write_names(path, names_of(scenario))
        written.append(path)
    return written


def _of_runs(results: Results) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Runs with their hops; one run is in memory at a time."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in results.runs.iter_rows(named=True):
        rows.setdefault(row["run"], []).append(row)
    for part in results.parts("hops"):
        for run in part["run"].unique(maintain_order=True):
            for row in rows[run]:
                place = {name: row[name] for name in (*results.experiment.factors, "repeat")}
                yield row, part.filter(pl.col("run") == run, **place)


def check_kept(experiment: Experiment, path: str | Path) -> None:
    """Raises `ExperimentError` if the experiment keeps no hops."""
    if not any(read_scenario(cell.scenario)["sampling"].get("hops") for cell in experiment.cells):
        raise ExperimentError(
            f"{path}: traces are wanted, but the experiment keeps no packet events: it needs"
            " `sampling: {hops: {to: 10 s}}`, or as long as it should be",
            code=Code.SAMPLING,
        )


def lines(hops: pl.DataFrame, scenario: Scenario) -> pl.DataFrame:
    """Lines of a trace in one column, in time order.

    Args:
        hops: Table `hops` of one run.
        scenario: Scenario of the run.
    """
    names = names_of(scenario)
    ends = {
        f"{link}/{way}": (from_, to)
        for link, a, b in names.links
        for way, from_, to in (("forward", a, b), ("backward", b, a))
    }
    node = {name: number for number, name in enumerate(names.nodes)}
    hosts = [(node[flow["from"]], node[flow["to"]]) for flow in scenario["flows"]]
    fids = {name: number for number, name in enumerate(names.flows, start=1)}
    fid = pl.col("flow").replace_strict(fids, return_dtype=pl.Int64)
    sources = {name: f"{hosts[fid - 1][0]}.{fid}" for name, fid in fids.items()}
    sinks = {name: f"{hosts[fid - 1][1]}.{fid}" for name, fid in fids.items()}
    outward = pl.col("direction") == "out"
    source = pl.col("flow").replace_strict(sources, return_dtype=pl.String)
    sink = pl.col("flow").replace_strict(sinks, return_dtype=pl.String)
    pipe = pl.col("pipe")
    from_ = pipe.replace_strict({p: f for p, (f, _) in ends.items()}, return_dtype=pl.Int64)
    to = pipe.replace_strict({p: t for p, (_, t) in ends.items()}, return_dtype=pl.Int64)
    uid = pl.col("row").min().over("flow", "direction", "packet_number").rank("dense") - 1
    said = hops.with_row_index("row").select(
        "row",
        "offered_ns",
        "leaves_ns",
        "ended_ns",
        is_dropped=pl.col("dropped") != "",
        rest=pl.format(
            " {} {} {} {} {} {} {} {} {} {} {} {} {} 0",
            from_,
            to,
            _type(outward),
            "frame_bytes",
            _flags(),
            fid,
            pl.when(outward).then(source).otherwise(sink),
            pl.when(outward).then(sink).otherwise(source),
            "seq_bytes",
            uid,
            pl.max_horizontal("ack_bytes", 0),
            _tcp_flags(),
            _header_bytes(),
        ),
    )
    came = pl.col("ended_ns") >= 0
    events = [
        said.select("row", "rest", time=pl.col("offered_ns"), order=0, event=pl.lit("+")),
        said.filter(pl.col("leaves_ns") >= 0).select(
            "row", "rest", time=pl.col("leaves_ns"), order=1, event=pl.lit("-")
        ),
        said.filter(came & pl.col("is_dropped")).select(
            "row", "rest", time=pl.col("ended_ns"), order=2, event=pl.lit("d")
        ),
        said.filter(came & ~pl.col("is_dropped")).select(
            "row", "rest", time=pl.col("ended_ns"), order=3, event=pl.lit("r")
        ),
    ]
    # Rows are in the order of arrival at links: at one instant, a packet arrives before it is
    # forwarded.
    ordered = pl.concat(events).sort("time", "row", "order")
    seconds = pl.col("time") // 1_000_000_000
    fraction = (pl.col("time") % 1_000_000_000).cast(pl.String).str.zfill(9)
    return ordered.select(pl.format("{} {}.{}{}", "event", seconds, fraction, "rest"))


def _type(outward: pl.Expr) -> pl.Expr:
    """Packet type in ns-2: tcp for data of a connection, ack for the other direction."""
    kind = pl.col("kind")
    tcp = (kind == "tcp") | ((kind == "ack") & outward)
    other = kind.replace({"udp": "cbr"})
    return pl.when(tcp).then(pl.lit("tcp")).otherwise(other)


def _flags() -> pl.Expr:
    """C: ECN echo, A: window reduced, E: congestion experienced, N: ECN-capable."""
    said = pl.col("tcp_flags").str
    field = pl.col("tos") % 4
    return pl.format(
        "{}--{}{}-{}",
        pl.when(said.contains("ece")).then(pl.lit("C")).otherwise(pl.lit("-")),
        pl.when(said.contains("cwr")).then(pl.lit("A")).otherwise(pl.lit("-")),
        pl.when(field == 3).then(pl.lit("E")).otherwise(pl.lit("-")),
        pl.when(field > 0).then(pl.lit("N")).otherwise(pl.lit("-")),
    )


def _tcp_flags() -> pl.Expr:
    said = pl.col("tcp_flags").str
    is_tcp = pl.col("kind").is_in(["tcp", "ack"])
    opens = said.contains("syn") & (pl.col("direction") == "out")
    bits = pl.when(is_tcp & ~opens).then(_ACK).otherwise(0)
    for name, bit in (("fin", _FIN), ("syn", _SYN), ("psh", _PSH), ("ece", _ECE), ("cwr", _CWR)):
        bits = bits + pl.when(said.contains(name)).then(bit).otherwise(0)
    text = {bits: f"0x{bits:x}" for bits in range(256)}
    return bits.replace_strict(text, return_dtype=pl.String)


def _header_bytes() -> pl.Expr:
    """Header length of a frame in bytes. The difference to its size is the payload."""
    return pl.col("frame_bytes") - pl.max_horizontal("payload_bytes", 0)
