"""Joint traces: rate, delay and loss over time from one CSV file."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import load_text
from dumbbell.scenario import read_scenario
from tests.helpers import ROOT

#: Most rows of a file.
MAX_ROWS = 20_000
TEXT = """\
dumbbell: 1
name: drive
hosts: {a: {}, b: {}}
links:
  - {between: [a, b], delay: 5 ms, forward: {trace: TRACE}}
flows:
  - {from: a, to: b, tcp: cubic}
duration: DURATION
"""
ROWS = """\
time_s,rate_mbps,delay_ms,loss_percent
10,8,20,0
10.5,4,30.5,1.5
11,-,20,
12,4,20,100
"""
NS = 1_000_000_000


def pipe(folder: Path, content: str | bytes, duration: str = "10 s", **fields: Any) -> Any:
    """The forward pipe of the scenario."""
    data = content.encode() if isinstance(content, str) else content
    (folder / "t.csv").write_bytes(data)
    trace = json.dumps({"file": "t.csv"} | fields)
    if b"rate" in data:
        # The bytes of 8 s are as many as the mean has bits per second.
        trace += ", buffer: 8 s"
    text = TEXT.replace("TRACE", trace).replace("DURATION", duration)
    (cell,) = load_text(text, folder / "e.yaml").cells
    return read_scenario(cell.scenario)["links"][0]["forward"]


def steps(found: Any) -> list[tuple[float, Any, Any, Any]]:
    """Changes: time in s, rate in Mbit/s, delay in ms, share of loss."""
    rows = []
    for one in found["changes"]:
        loss = one["loss"]
        if isinstance(loss, dict):
            loss = loss["independent"]["probability"]
        rate, delay = one["rate_bps"], one["delay_ns"]
        at = one["at_ns"] / NS
        rows.append((at, rate and rate / 1e6, delay and delay / 1e6, loss))
    return rows


def test_columns_are_the_fields_of_a_link(tmp_path: Path) -> None:
    found = pipe(tmp_path, ROWS)
    assert found["shaper"] == {"serial": {"rate_bps": 8_000_000}}
    assert found["delay_ns"] == 20_000_000 and found["loss"] == "none"
    # A missing value is the one before; an equal one is no change.
    assert steps(found) == [(0.5, 4, 30.5, 0.015), (1, None, 20, None), (2, None, None, 1)]
    # Half a second at 8 Mbit/s, then 4; the last row is as long as the one before it.
    mean = (0.5 * 8e6 + 2.5 * 4e6) / 3
    assert found["queue"]["drop_tail"]["limit_bytes"] == int(mean)


@pytest.mark.parametrize(
    ("column", "values", "field", "expected"),
    [
        ("rate_bps", "2e6", "shaper", {"serial": {"rate_bps": 2_000_000}}),
        ("rate_kbps", "0", "shaper", {"serial": {"rate_bps": 64_000}}),
        ("rate_gbps", "0.5", "shaper", {"serial": {"rate_bps": 500_000_000}}),
        ("delay_us", "12.5", "delay_ns", 12_500),
        ("delay_s", "0.25", "delay_ns", 250_000_000),
        ("delay_ns", "7", "delay_ns", 7),
        ("loss_share", "0.25", "loss", {"independent": {"probability": 0.25}}),
        ("loss_ppm", "100", "loss", {"independent": {"probability": 1e-4}}),
    ],
)
def test_any_subset_in_any_unit(
    tmp_path: Path, column: str, values: str, field: str, expected: Any
) -> None:
    found = pipe(tmp_path, f"{column};time_ms\n{values};5\n{values};8\n")
    assert found[field] == expected and found["changes"] == []
    if field != "delay_ns":
        assert found["delay_ns"] == 5_000_000
    if field != "shaper":
        assert found["shaper"] == "none"


def test_dates_and_a_first_value_that_is_missing(tmp_path: Path) -> None:
    text = "time,delay_ms\n2024-01-11 10:06:39,\n2024-01-11T10:06:40.5,7\n2024-01-11 10:06:42,9\n"
    found = pipe(tmp_path, text)
    assert found["delay_ns"] == 7_000_000 and steps(found) == [(3, None, 9, None)]


def test_a_part_of_the_file(tmp_path: Path) -> None:
    found = pipe(tmp_path, ROWS, **{"from": "700 ms", "length": "1 s"})
    assert found["delay_ns"] == 30_500_000
    assert found["loss"] == {"independent": {"probability": 0.015}}
    assert [(round(at, 9), *rest) for at, *rest in steps(found)] == [(0.3, None, 20, None)]


def test_a_trace_holds_or_repeats(tmp_path: Path) -> None:
    text = "time_s,delay_ms\n0,10\n1,20\n3,30\n"
    assert steps(pipe(tmp_path, text)) == [(1, None, 20, None), (3, None, 30, None)]
    # The last row is as long as the one before it: 5 s in all.
    again = steps(pipe(tmp_path, text, duration="11.5 s", end="repeat"))
    assert [(at, delay) for at, _, delay, _ in again] == [
        (1, 20), (3, 30), (5, 10), (6, 20), (8, 30), (10, 10), (11, 20),
    ]  # fmt: skip
    short = steps(pipe(tmp_path, text, duration="5 s", end="repeat", length="2 s"))
    assert [(at, delay) for at, _, delay, _ in short] == [(1, 20), (2, 10), (3, 20), (4, 10)]
    # A row that others follow in the file lasts until the end of the part: 1 s, then 1.5 s.
    cut = steps(pipe(tmp_path, text, duration="6 s", end="repeat", length="2500 ms"))
    assert [(at, delay) for at, _, delay, _ in cut] == [
        (1, 20), (2.5, 10), (3.5, 20), (5, 10),
    ]  # fmt: skip
    constant = pipe(tmp_path, "time_s,delay_ms\n0,3\n1,3\n", duration="1 h", end="repeat")
    assert constant["delay_ns"] == 3_000_000 and constant["changes"] == []


def test_cells_of_other_durations_repeat_as_long_as_they_last(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,delay_ms\n0,10\n1,20\n", encoding="utf-8")
    text = TEXT.replace("TRACE", "{file: t.csv, end: repeat}").replace("DURATION", "$long")
    cells = load_text(text + "factors: {long: [3 s, 6 s]}\n", tmp_path / "e.yaml").cells
    found = [read_scenario(one.scenario)["links"][0]["forward"]["changes"] for one in cells]
    assert list(map(len, found)) == [2, 5]


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        ("", {}, "t.csv has no header"),
        ("22\n22\n23\n", {}, r"t.csv has no header.*packet-delivery traces stand in shaper"),
        ("time_s,dealy_ms\n0,1\n", {}, "line 1 of t.csv: unknown column dealy_ms; did you mean"),
        ("time_s,rate\n0,1\n", {}, "line 1 of t.csv: unknown column rate"),
        ("time_s,rate_bps,rate_mbps\n", {}, "line 1 of t.csv: two columns of rate"),
        ("delay_ms,loss_percent\n1,2\n", {}, "line 1 of t.csv: no column of times"),
        ("time_s,delay_ms\n", {}, "no row of t.csv lies within"),
        ("time_s,delay_ms\n0,\n1,-\n", {}, "t.csv has no value of its delay"),
        ("time_s,delay_ms\n0,1\n1\n", {}, "line 3 of t.csv has 1 columns, the header 2"),
        ("time_s,delay_ms\n0,1\n1,x\n", {}, "line 3 of t.csv, column delay_ms: not a number"),
        ("time_s,delay_ms\n0,1\n1,-2\n", {}, "line 3 of t.csv, column delay_ms: not a number"),
        ("time_s,delay_ms\n0,1\n1,inf\n", {}, "line 3 of t.csv, column delay_ms: not a number"),
        ("time_s,delay_s\n0,1\n1,3601\n", {}, "line 3 of t.csv, column delay_s: more than 3600"),
        ("time_s,loss_percent\n0,101\n", {}, "line 2 of t.csv, column loss_percent: more than 100"),
        ("time_s,rate_gbps\n0,1e5\n", {}, "line 2 of t.csv, column rate_gbps: more than 10000"),
        ("time_s,delay_ms\n1,1\n1,2\n", {}, "line 3 of t.csv: not later than the row before it"),
        ("time_s,delay_ms\n2024-01-11,1\n", {}, "line 2 .*not a number; dates stand in"),
        ("time,delay_ms\n17,1\n", {}, "line 2 .*column time: not a date; numbers stand in"),
        ("time_s,delay_ms\n1e20,1\n", {}, "line 2 .*column time_s: too late"),
        (b"time_s,delay_ms\n0,\xff\n", {}, "line 2 of t.csv is not UTF-8"),
        ("time_s,delay_ms\n0,1\n1,2\n", {"from": "3 s"}, "no row of t.csv lies within"),
        (
            "time_s,delay_ms\n" + "".join(f"{i},{i}\n" for i in range(MAX_ROWS + 1)),
            {},
            f"line {MAX_ROWS + 2} of t.csv: more than {MAX_ROWS} rows",
        ),
        (
            "time_ns,delay_ms\n0,1\n1,2\n",
            {"end": "repeat"},
            "t.csv repeats into more than 100000 changes",
        ),
        ("time_s,delay_ms\n0,1\n", {"end": "hodl"}, "hold, repeat"),
    ],
)
def test_mistakes_name_line_and_column(
    tmp_path: Path, content: str | bytes, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ExperimentError, match=message):
        pipe(tmp_path, content, **fields)


@pytest.mark.parametrize(
    ("fields", "column", "message"),
    [
        ("rate: 1 Mbit/s, buffer: 1 BDP", "rate_mbps", "rate sets the rate, and the file"),
        ("buffer: 1 BDP, queue: {cake: {bandwidth: 1 Mbit/s}}", "rate_mbps", "exclude|queue sets"),
        ("netem: {limit: 10 packets, delay: 1 ms}", "delay_ms", "netem sets the delay"),
        ("loss: 1 %", "loss_percent", "loss sets the loss"),
        ("changes: [{at: 1 s, loss: 1 %}]", "loss_percent", "changes sets the loss"),
        ("jitter: 1 ms", "rate_mbps", "a pipe with a rate needs a buffer"),
    ],
)
def test_no_value_is_set_twice(tmp_path: Path, fields: str, column: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(f"time_s,{column}\n0,1\n1,2\n", encoding="utf-8")
    text = TEXT.replace("TRACE", f"{{file: t.csv}}, {fields}").replace("DURATION", "3 s")
    with pytest.raises(ExperimentError, match=message):
        load_text(text, tmp_path / "e.yaml")


def test_other_changes_stand_beside_a_trace(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,delay_ms\n0,1\n2,3\n", encoding="utf-8")
    own = "{file: t.csv}, changes: [{at: 1 s, state: down}, {at: 1.5 s, state: up, loss: 1 %}]"
    text = TEXT.replace("TRACE", own).replace("DURATION", "3 s")
    (cell,) = load_text(text, tmp_path / "e.yaml").cells
    found = read_scenario(cell.scenario)["links"][0]["forward"]["changes"]
    assert [(one["at_ns"] / NS, one["delay_ns"]) for one in found] == [
        (1, None),
        (1.5, None),
        (2, 3_000_000),
    ]


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    draw = random.Random(5)
    refused = 0
    for _ in range(300):
        data = bytearray(ROWS.encode())
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            found = pipe(tmp_path, bytes(data), end=draw.choice(["hold", "repeat"]))
        except ExperimentError:
            refused += 1
        else:
            assert all(0 < one["at_ns"] < 10 * NS for one in found["changes"])
    assert 50 < refused < 300


#: Files in the layouts of public sets, with invented values, and what the how-to makes of them.
LAYOUTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "leocc.py": (
        {
            # 100 ms with 9 packets of 1504 bytes, then 100 ms with one.
            "bw_1.txt": "".join(f"{ms}\n" for ms in (0, 0, 3, 3, 3, 50, 51, 99, 99, 120)),
            "delay_1.txt": "12\n" * 10 + "20\n" * 5 + "30\n" * 5 + "7\n",
        },
        ["time_ms,rate_mbps,delay_ms", "0,1.083,12.00", "100,0.120,25.00"],
    ),
    "road.py": (
        {
            "iperf.csv": "timestamp_start,timestamp_end,server,ip_protocol,transport_protocol,"
            "download,upload,priority,average_speed,download_mbps,upload_mbps\n"
            "2024-01-11 10:06:39,2024-01-11 10:06:40,192.0.2.1,v4,UDP,101856000,7448000,1,0,1,1\n"
            "2024-01-11 10:06:40,2024-01-11 10:06:41,192.0.2.1,v4,TCP,5,5,1,0,1,1\n"
            "2024-01-11 10:06:41,2024-01-11 10:06:42,192.0.2.1,v4,UDP,67160000,7448000,1,0,1,1\n",
            "ping.csv": "timestamp_start,timestamp_end,target,ip_protocol,packet_loss,packets_send,"
            "ping_avg,ping_worst,ping_best,ping_stddev,average_speed\n"
            "2024-01-11 09:43:20,2024-01-11 09:43:45,192.0.2.1,v4,0.4,250,57.5,106,46,8,0\n"
            "2024-01-11 10:06:41,2024-01-11 10:07:06,192.0.2.1,v4,8.8,250,66,406,47,35,0\n",
        },
        [
            "time,rate_mbps,delay_ms,loss_percent",
            "2024-01-11 10:06:39,101.856,28.75,0.2",
            "2024-01-11 10:06:41,67.16,33.0,4.4",
        ],
    ),
    "cellular.py": (
        {
            "mob_all.csv": "time,throughput,speed,latitude,longtitu\n"
            "2023-04-12 10:40:20 CDT,147.0,62.9,45.4,-93.2\n"
            "2023-04-12 10:40:21 CDT,260.0\n"
        },
        ["time,rate_mbps", "2023-04-12 10:40:20,147.0", "2023-04-12 10:40:21,260.0"],
    ),
    "cellreplay.py": (
        {"down-delay-light-pdo": "0 23 0 0 1\n0 24 0\n40 31 0 2\n"},
        ["time_ms,delay_ms", "0,23", "40,31"],
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_public_layouts_become_joint_traces(name: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "joint-traces.md").read_text(encoding="utf-8")
    program = page.partition(f"```python\n# {name}")[2].partition("```")[0]
    files, expected = LAYOUTS[name]
    for file, text in files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    program = program.partition("\n")[2]
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60)
    written = tmp_path / ("delays.csv" if name == "cellreplay.py" else "drive.csv")
    assert written.read_text(encoding="utf-8").splitlines() == expected
    assert pipe(tmp_path, written.read_bytes(), end="repeat")["changes"]
