"""Rates over time from CSV files of measurements."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import load_text
from dumbbell.scenario import read_scenario

#: Most rates of a file.
MAX_STEPS = 20_000
#: As G-NetTrack Pro writes it (5Gdataset): two lines of a second, idle lines, a missing value.
NETTRACK = """\
Timestamp,NetworkMode,DL_bitrate,UL_bitrate,State
2019.12.16_13.40.04,5G,1000,20,D
2019.12.16_13.40.04,5G,3000,20,D
2019.12.16_13.40.05,5G,0,0,I
2019.12.16_13.40.06,5G,-,10,D
2019.12.16_13.40.07,5G,20000,10,D
2019.12.16_13.41.04,5G,20000,10,D
2019.12.16_13.41.05,5G,5000,10,D
"""
WETLINKS = """\
site_name,timestamp_start,timestamp_end,server,download,upload
Osnabrueck,2023-11-01 10:00:00.000+00:00,2023-11-01 10:00:01.000+00:00,s,150000000.5,12000000
Osnabrueck,2023-11-01 10:00:01.000+00:00,2023-11-01 10:00:02.000+00:00,s,90000000,
"""
TEXT = """\
dumbbell: 1
name: drive
hosts: {a: {}, b: {}}
links:
  - {between: [a, b], delay: 5 ms, buffer: BUFFER, backward: {rate: 1 Gbit/s},
     forward: {rates: RATES}}
flows:
  - {from: a, to: b, tcp: cubic}
duration: 3 s
"""


def trace(folder: Path, content: str | bytes, **fields: Any) -> tuple[list[tuple[float, int]], int]:
    """Steps in s and bit/s, and the mean."""
    data = content.encode() if isinstance(content, str) else content
    (folder / "t.csv").write_bytes(data)
    rates = json.dumps({"file": "t.csv", "column": "DL_bitrate"} | fields)
    # The bytes of 8 s are as many as the mean has bits per second.
    text = TEXT.replace("RATES", rates).replace("BUFFER", "8 s")
    (cell,) = load_text(text, folder / "e.yaml").cells
    forward: Any = read_scenario(cell.scenario)["links"][0]["forward"]
    steps = [(0.0, forward["shaper"]["serial"]["rate_bps"])]
    steps += [(one["at_ns"] / 1e9, one["rate_bps"]) for one in forward["changes"]]
    return steps, forward["queue"]["drop_tail"]["limit_bytes"]


def test_5gdataset_is_read_as_it_is(tmp_path: Path) -> None:
    steps, mean = trace(tmp_path, NETTRACK)
    # A second's lines are averaged; 0 is the least rate; `-` keeps the rate before.
    assert steps == [(0, 2_000_000), (1, 64_000), (3, 20_000_000), (61, 5_000_000)]
    assert mean == (2_000_000 + 2 * 64_000 + 58 * 20_000_000) // 61
    up, _ = trace(tmp_path, NETTRACK, column="UL_bitrate")
    assert up == [(0, 64_000)]


def test_wetlinks_is_read_as_it_is(tmp_path: Path) -> None:
    assert trace(tmp_path, WETLINKS, column="download")[0] == [(0, 150_000_000), (1, 90_000_000)]
    assert trace(tmp_path, WETLINKS, column="upload")[0] == [(0, 12_000_000)]


def test_any_csv_is_read_with_its_columns_and_units(tmp_path: Path) -> None:
    text = "t;rate\n1000;2.5\n1500;3\n\n2500;4\n"
    fields = {"column": "rate", "unit": "Mbit/s", "time": "t", "time_unit": "ms"}
    assert trace(tmp_path, text, **fields)[0] == [
        (0, 2_500_000),
        (0.5, 3_000_000),
        (1.5, 4_000_000),
    ]
    part = fields | {"from": "500 ms", "length": "1 s"}
    assert trace(tmp_path, text, **part)[0] == [(0, 3_000_000)]


def test_the_rate_before_from_is_valid_until_the_next(tmp_path: Path) -> None:
    fields = {"column": "rate", "unit": "Mbit/s", "time": "t"}
    text = "t,rate\n0,1\n10,2\n10,4\n20,-\n30,5\n40,6\n"
    assert trace(tmp_path, text, **fields, **{"from": "25 s"})[0] == [
        (0, 3_000_000),
        (5, 5_000_000),
        (15, 6_000_000),
    ]
    # No row lies within these seconds: the rate of t = 30 s goes on.
    inside = {"from": "32 s", "length": "5 s"}
    assert trace(tmp_path, text, **fields, **inside)[0] == [(0, 5_000_000)]
    assert trace(tmp_path, text, **fields, **{"from": "30 s"})[0][0] == (0, 5_000_000)


def test_the_delimiter_is_the_one_that_finds_the_columns(tmp_path: Path) -> None:
    text = "t;rate (Mbit/s, down)\n0;1\n1;2\n"
    fields = {"column": "rate (Mbit/s, down)", "unit": "Mbit/s", "time": "t"}
    assert trace(tmp_path, text, **fields)[0] == [(0, 1_000_000), (1, 2_000_000)]


def test_times_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    text = "t,rate\n1700000000.0000001,1\n1700000000.0002003,2\n"
    fields = {"column": "rate", "unit": "Mbit/s", "time": "t"}
    assert trace(tmp_path, text, **fields)[0] == [(0, 1_000_000), (200_200 / 1e9, 2_000_000)]


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        ("", {}, "t.csv has no header"),
        ("12\n13\n", {}, "t.csv has no header"),
        (
            NETTRACK,
            {"column": "DL_bitrat"},
            "no column DL_bitrat in t.csv; did you mean DL_bitrate",
        ),
        (NETTRACK, {"time": "when"}, "no column when"),
        ("a,b\n1,2\n", {"column": "b"}, "which column of t.csv is the time"),
        ("a,b\n1,2\n", {"column": "b", "time": "a"}, "which unit has the column b"),
        (NETTRACK.replace("20000", "x"), {}, "line 6 of t.csv, column DL_bitrate: not a rate"),
        (NETTRACK.replace("20000", "-5"), {}, "line 6 of t.csv, column DL_bitrate: not a rate"),
        (NETTRACK.replace("20000", "inf"), {}, "line 6 of t.csv, column DL_bitrate: not a rate"),
        (NETTRACK.replace("20000", "1e300"), {}, "line 6 of t.csv, column DL_bitrate: a rate too"),
        (NETTRACK.replace("13.40.07", "13.40.03"), {}, "line 6 .*Timestamp: earlier than before"),
        (NETTRACK.replace("13.40.07", "25.40.07"), {}, "line 6 .*neither a number nor a date"),
        (NETTRACK.replace("2019.12.16_13.40.07,5G,20000,10,D", "x"), {}, "line 6 .*has 1 column"),
        (NETTRACK.encode() + b"\xff\xfe", {}, "line 9 of t.csv is not UTF-8"),
        (NETTRACK, {"from": "1 h"}, "no rate in column DL_bitrate of t.csv within"),
        ("Timestamp,DL_bitrate\n" + "9" * 200_000 + ",1\n", {}, "line 2 of t.csv is not CSV"),
        (
            "Timestamp,DL_bitrate\n" + "".join(f"{i},{i}\n" for i in range(MAX_STEPS + 1)),
            {},
            f"line {MAX_STEPS + 2} of t.csv: more than 20000 rates",
        ),
    ],
)
def test_mistakes_name_line_and_column(
    tmp_path: Path, content: str | bytes, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ExperimentError, match=message):
        trace(tmp_path, content, **fields)


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    draw = random.Random(5)
    refused = 0
    for _ in range(500):
        data = bytearray(NETTRACK.encode())
        for _ in range(draw.randint(1, 6)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            steps, mean = trace(tmp_path, bytes(data))
        except ExperimentError:
            refused += 1
        else:
            assert steps[0][0] == 0 and mean >= 64_000
    assert 50 < refused < 500


def test_a_message_names_the_experiments_line_too(tmp_path: Path) -> None:
    for file, message in (
        ("none.csv", r"e.yaml:6: links\[0\].*the file of rates cannot be read: No such file"),
        (".", r"e.yaml:6: links\[0\].*the file of rates cannot be read: Is a directory"),
    ):
        text = TEXT.replace("RATES", f"{{file: {file}, column: download}}").replace(
            "BUFFER", "50 ms"
        )
        with pytest.raises(ExperimentError, match=message):
            load_text(text, tmp_path / "e.yaml")


def test_a_link_has_the_rates_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("t,rate\n0,8\n1,4\n2,2\n", encoding="utf-8")
    rates = "{file: t.csv, column: rate, time: t, unit: Mbit/s}"
    file = tmp_path / "e.yaml"
    file.write_text(TEXT.replace("RATES", rates).replace("BUFFER", "100 ms"), encoding="utf-8")
    (cell,) = load_text(file.read_text(), file).cells
    forward: Any = read_scenario(cell.scenario)["links"][0]["forward"]
    assert forward["shaper"] == {"serial": {"rate_bps": 8_000_000}}
    assert [(one["at_ns"], one["rate_bps"]) for one in forward["changes"]] == [
        (10**9, 4_000_000),
        (2 * 10**9, 2_000_000),
    ]
    # 100 ms of the mean of both seconds whose length is known.
    assert forward["queue"]["drop_tail"]["limit_bytes"] == 6_000_000 // 80
    pipes = dumbbell.run(file).pipes
    left = pipes.filter(pipes["pipe"] == "a-b/forward")["left_bytes"][0]
    # 14 Mbit in all, less the handshake and slow start.
    assert 0.9 * 14e6 < 8 * left <= 14e6
