"""Rates over time from the CSV of a measurement: 5Gdataset, WetLinks, or any with a header."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dumbbell.errors import nearest_name, shortened
from dumbbell.experiment.fields import Name, PositiveTime, Strict, Time, choice
from dumbbell.experiment.units import RATE, TIME
from dumbbell.files.input import TooLargeError, read_file

MAX_BYTES = 64 << 20
MAX_STEPS = 20_000
#: Latest time, s: that of the year 5138.
LATEST_S = 10**11
#: A link has no rate of 0: lower rates count as this one.
LEAST_BPS = 64_000
MOST_BPS = 10**13

#: Columns of known sets: 5Gdataset and Raca's LTE set (G-NetTrack Pro); WetLinks.
RATE_UNITS = {
    "DL_bitrate": "kbit/s",
    "UL_bitrate": "kbit/s",
    "download": "bit/s",
    "upload": "bit/s",
}
TIME_COLUMNS = ("Timestamp", "timestamp_start")
#: Marks of a missing value.
MISSING = ("", "-", "nan", "null", "none")
#: Time of G-NetTrack Pro.
NETTRACK = "%Y.%m.%d_%H.%M.%S"


class RateTraceError(Exception):
    """Error in a file of rates: the message names line and column."""

    def __init__(self, message: str, found: object = None, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.found = None if found is None else shortened(found)
        self.allowed = allowed


class RateTraceSpec(Strict):
    """Rates over time: a CSV file beside the experiment, and its columns."""

    file: Name
    column: Name
    unit: Annotated[str, choice(*RATE.units, what="unit of a rate")] | None = None
    time: Name | None = None
    time_unit: Annotated[str, choice(*TIME.units, what="unit of a time")] = "s"
    from_: Annotated[Time, Field(alias="from")] = 0
    length: PositiveTime | None = None


@dataclass(frozen=True, slots=True)
class RateTrace:
    """Rates from their times on.

    Attributes:
        steps: Time from the start of the run in ns, rate in bit/s; the first time is 0.
        mean_bps: Mean over time.
    """

    steps: tuple[tuple[int, int], ...]
    mean_bps: int


def read(spec: RateTraceSpec, folder: Path) -> RateTrace:
    """Rates of a file.

    Raises:
        RateTraceError: It cannot be read, or does not hold them.
    """
    return _Reader(spec).read(_text(spec.file, folder))


def _text(name: str, folder: Path) -> str:
    try:
        data = read_file(folder / name, MAX_BYTES)
    except TooLargeError:
        raise RateTraceError(f"a file of rates larger than {MAX_BYTES} bytes", name) from None
    except OSError as error:
        reason = error.strerror or error
        raise RateTraceError(f"the file of rates cannot be read: {reason}", name) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RateTraceError(f"line {line} of {name} is not UTF-8 text") from None


class _Reader:
    def __init__(self, spec: RateTraceSpec) -> None:
        self.spec = spec

    def fail(self, line: int, words: str, found: object = None) -> RateTraceError:
        return RateTraceError(f"line {line} of {self.spec.file}{words}", found)

    def read(self, text: str) -> RateTrace:
        lines = text.splitlines()
        rows = csv.reader(lines, delimiter=self.delimiter(lines[0] if lines else ""))
        try:
            header = [name.strip() for name in next(rows, [])]
            rate, time = self.columns(header)
            times, rates = self.values(rows, header, rate, time)
        except csv.Error as error:
            raise self.fail(rows.line_num, f" is not CSV: {error}") from None
        if not rates:
            words = f"no rate in column {self.spec.column} of {self.spec.file} within this time"
            raise RateTraceError(words)
        return _trace(times, rates)

    def delimiter(self, head: str) -> str:
        """Delimiter that finds the columns in the header; else the one that finds the most."""
        wanted, counts = {self.spec.column, self.spec.time or self.spec.column}, {}
        for one in (",", ";", "\t"):
            names = [name.strip() for name in next(csv.reader([head], delimiter=one), [])]
            if len(names) > 1 and wanted <= set(names):
                return one
            counts[one] = len(names)
        return max(counts, key=counts.__getitem__)

    def columns(self, header: list[str]) -> tuple[int, int]:
        spec = self.spec
        if len(header) < 2:
            found = header[0] if header else None
            raise RateTraceError(f"{spec.file} has no header with two columns", found)
        time = spec.time or next((one for one in TIME_COLUMNS if one in header), None)
        if time is None:
            words = f"which column of {spec.file} is the time? Write `time`"
            raise RateTraceError(words, None, tuple(header[:20]))
        for name in (spec.column, time):
            if name not in header:
                near = nearest_name(name, tuple(header))
                hint = f"; did you mean {near}?" if near else ""
                raise RateTraceError(
                    f"no column {name} in {spec.file}{hint}", name, tuple(header[:20])
                )
        if spec.unit is None and spec.column not in RATE_UNITS:
            words = f"which unit has the column {spec.column}? Write `unit`"
            raise RateTraceError(words, None, ("bit/s", "kbit/s", "Mbit/s"))
        return header.index(spec.column), header.index(time)

    def values(
        self, rows: Iterator[list[str]], header: list[str], rate: int, time: int
    ) -> tuple[list[int], list[float]]:
        """Times from `from` on in ns, ascending, and rates in bit/s; equal times become one.

        A rate is valid from its time on: the last one before `from` is the first.
        """
        spec = self.spec
        factor = float(RATE.units[spec.unit or RATE_UNITS[spec.column]])
        end = None if spec.length is None else spec.from_ + spec.length
        times: list[int] = []
        sums: list[tuple[float, int]] = []
        first = last = None
        reached = False  # a row at `from` or later
        for row in rows:
            line = rows.line_num  # type: ignore[attr-defined]
            if not row:
                continue
            if len(row) <= max(rate, time):
                raise self.fail(line, f" has {len(row)} columns, the header {len(header)}")
            at = self.time(row[time].strip(), line, header[time])
            first = at if first is None else first
            if last is not None and at < last:
                raise self.fail(line, f", column {header[time]}: earlier than before", row[time])
            last = at
            since = at - first - spec.from_
            reached = reached or since >= 0
            if end is not None and at - first >= end:
                break
            text = row[rate].strip()
            if text.lower() in MISSING:
                continue
            value = self.rate(text, line) * factor
            if value > MOST_BPS:
                raise self.fail(line, f", column {spec.column}: a rate too high", text)
            if times and times[-1] == since:
                sums[-1] = (sums[-1][0] + value, sums[-1][1] + 1)
                continue
            if times and since <= 0:  # later than the one before, and not after `from`
                times[-1], sums[-1] = since, (value, 1)
                continue
            if len(times) == MAX_STEPS:
                words = f": more than {MAX_STEPS} rates; choose some with from and length"
                raise self.fail(line, words)
            times.append(since)
            sums.append((value, 1))
        if not reached:
            return [], []
        return [max(at, 0) for at in times], [total / count for total, count in sums]

    def rate(self, text: str, line: int) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0:
            raise self.fail(line, f", column {self.spec.column}: not a rate", text)
        return value

    def time(self, text: str, line: int, column: str) -> int:
        """Time in ns: a number, a date of ISO 8601, or that of G-NetTrack Pro."""
        try:
            time_ns = Decimal(text) * int(TIME.units[self.spec.time_unit])
        except InvalidOperation:
            time_ns = _date(text)
        if not time_ns.is_finite():
            raise self.fail(line, f", column {column}: neither a number nor a date", text)
        if abs(time_ns) > LATEST_S * 10**9:
            words = f", column {column}: too late for a time in {self.spec.time_unit}; `time_unit`?"
            raise self.fail(line, words, text)
        return round(time_ns)


def _date(text: str) -> Decimal:
    """Time of a date in ns; NaN: it is none."""
    for form in (datetime.fromisoformat, lambda date: datetime.strptime(date, NETTRACK)):
        try:
            read = form(text)
            epoch = datetime(1970, 1, 1, tzinfo=None if read.tzinfo is None else UTC)
            return Decimal((read - epoch) // timedelta(microseconds=1)) * 1000
        except (ValueError, OverflowError):
            continue
    return Decimal("NaN")


def _trace(times: list[int], rates: list[float]) -> RateTrace:
    """The first rate counts from the beginning; equal rates that follow each other become one."""
    bounded = [max(round(rate), LEAST_BPS) for rate in rates]
    steps = [(0, bounded[0])]
    steps += [
        (at, rate)
        for at, rate, before in zip(times[1:], bounded[1:], bounded, strict=False)
        if rate != before
    ]
    span = times[-1] - times[0]
    if span == 0:
        return RateTrace(tuple(steps), bounded[0])
    weighted = sum(
        rate * (until - at) for at, until, rate in zip(times, times[1:], bounded, strict=False)
    )
    return RateTrace(tuple(steps), weighted // span)
