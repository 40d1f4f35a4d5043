"""Logs of `ss -tin`, printed again and again with the time before each. Source: misc/ss.c of
iproute2, `tcp_stats_print`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dumbbell.measured.moments import DAY_S, leading_moment, moment_of
from dumbbell.measured.series import Series
from dumbbell.measured.values import Format, Measured, MeasuredError, Row, plain_name

_END = r"((?:\[[0-9a-fA-F:.%\w]+\]|[\w.*%:-]+):(?:\d{1,5}|\*|[a-z][\w-]*))"
_SOCKET = re.compile(rf"^(?:(?P<state>[A-Z][A-Z0-9-]+)\s+)?(\d+)\s+(\d+)\s+{_END}\s+{_END}(.*)$")
_VALUE = re.compile(r"([a-z_]+):([^\s]+)|(send|pacing_rate|delivery_rate|max_pacing_rate) (\S+)")
_RATE = re.compile(r"([\d.]+)([KMGT]?)bps")
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
#: Word → column, and the size of its unit in that of the column.
_COUNTS = {
    "cwnd": ("cwnd_packets", 1.0),
    "ssthresh": ("ssthresh_packets", 1.0),
    "sacked": ("sacked_packets", 1.0),
    "lost": ("lost_packets", 1.0),
    "reordering": ("reordering_packets", 1.0),
    "delivered": ("delivered_packets", 1.0),
    "delivered_ce": ("delivered_ce_packets", 1.0),
    "dsack_dups": ("spurious_packets", 1.0),
    "notsent": ("unsent_bytes", 1.0),
    "snd_wnd": ("rwnd_bytes", 1.0),
    "rto": ("rto_ns", 1e6),
    "minrtt": ("rtt_min_ns", 1e6),
    "busy": ("busy_ns", 1e6),
    "rwnd_limited": ("rwnd_limited_ns", 1e6),
    "sndbuf_limited": ("sndbuf_limited_ns", 1e6),
}
#: Counts since the begin of the connection. As of bytes, the part before the log is left out.
_TOTALS = {
    "retransmitted_packets",
    "delivered_packets",
    "delivered_ce_packets",
    "spurious_packets",
    "busy_ns",
    "rwnd_limited_ns",
    "sndbuf_limited_ns",
}
_MOST = 1e18


def looks(data: bytes) -> bool:
    """Returns true if some line near the beginning has the words of a TCP socket."""
    return bool(re.search(rb"\bcwnd:\d+", data[:65536])) and b"rto:" in data[:65536]


def read(data: bytes) -> Measured:
    """Connections as flows, one per direction that carried data. Raises `MeasuredError`."""
    found = Measured(about={"tool": "ss"})
    connections: dict[tuple[str, str], _Connection] = {}
    first: float | None = None
    for time, ends, words in _sockets(data.decode("utf-8", "replace"), found):
        first = time if first is None else first
        if time < first:
            raise MeasuredError("", f"the time goes back, {first - time:.3f} s before the first")
        one = connections.get(ends) or connections.setdefault(ends, _Connection(ends))
        one.add(time - first, words)
    for one in connections.values():
        one.finish(found)
    found.samples.sort(key=lambda row: int(row["time_ns"]))
    return found


def _sockets(text: str, found: Measured) -> Iterator[tuple[float, tuple[str, str], str]]:
    """Time, ends, and words of each socket."""
    time: float | None = None
    day = previous = 0.0
    ends: tuple[str, str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if (moment := moment_of(line)) is not None:
            if moment < DAY_S:  # a clock that passes midnight
                day += DAY_S if moment < previous - DAY_S / 2 else 0.0
                previous, moment = moment, moment + day
            time, ends = moment, None
            continue
        moment, line = leading_moment(line)
        time = time if moment is None else moment
        socket = _SOCKET.match(line.strip())
        if socket is not None:
            ends = plain_name(socket[4]), plain_name(socket[5])
            line = socket[6]
        if "cwnd:" not in line or "rto:" not in line:
            continue
        if ends is None:
            found.note(f"line {number}: words of no socket, left out")
        elif time is None:
            raise MeasuredError(
                f"line {number}", "no time before it: print one before each ss, as `date +%s.%N`"
            )
        else:
            yield time, ends, line
        ends = None


class _Connection:
    """Socket over time: data sent, and data received."""

    def __init__(self, ends: tuple[str, str]) -> None:
        self._ends = ends
        self._out = Series("→".join(ends), "tcp")
        self._back = Series("→".join(reversed(ends)), "tcp")
        self._base: list[int | None] = [None, None]
        self._grown, self._most = [0, 0], [0, 0]
        self._fallen: dict[str, tuple[int, int]] = {}
        self._control, self._rows = "", 0
        self._first: dict[str, int] = {}

    def add(self, time: float, line: str) -> None:
        """Adds the words of a socket at a time in s."""
        words = {key or name: value or rate for key, value, name, rate in _VALUE.findall(line)}
        self._control = self._control or _control(line)
        for place, (series, word) in enumerate(
            ((self._out, "bytes_acked"), (self._back, "bytes_received"))
        ):
            total = _number(words.get(word, ""))
            if total is not None:
                if round(total) < self._most[place]:
                    self._fallen.setdefault(word, (self._most[place], round(total)))
                    continue
                self._most[place] = round(total)
                base = self._base[place]
                # ss leaves out what is 0.
                first = 0 if self._rows else round(total)
                self._base[place] = base = first if base is None else base
                self._grown[place] = max(self._grown[place], round(total) - base)
                series.add_total(time, round(total) - base, {})
        state = _state(words, "app_limited" in line.split())
        for column in _TOTALS & state.keys():
            base = self._first.setdefault(column, 0 if self._rows else int(state[column]))
            state[column] = max(0, int(state[column]) - base)
        if state:
            self._out.add_state(time, state)
        self._rows += 1

    def finish(self, found: Measured) -> None:
        """Adds the directions that carried data."""
        for word, (before, after) in self._fallen.items():
            found.note(
                f"{self._out.name}: {word} falls from {before} to {after}; values below "
                f"{before} are left out (a new connection with these ports?)"
            )
        if not any(self._grown) and any(one is not None for one in self._base):
            found.note(f"{self._out.name}: nothing was acknowledged or received, left out")
            return
        control: Row = {"congestion_control": self._control} if self._control else {}
        rows = []
        if self._grown[0] or not any(self._grown):
            rows.append((self._out, control, self._ends))
        if self._grown[1]:
            rows.append((self._back, {}, self._ends[::-1]))
        for series, more, (here, there) in rows:
            flow = series.flow({**more, "from_host": here, "to_host": there})
            if flow is None:
                found.note(f"{series.name}: seen once, left out")
                continue
            found.flows.append(flow)
            found.samples += series.samples


def _control(line: str) -> str:
    """Name of the congestion control: the last bare word before `wscale` or `rto`."""
    bare = []
    for word in line.split():
        if word.startswith(("wscale:", "rto:")):
            break
        if ":" not in word:
            bare.append(word)
    known = [one for one in bare if one not in ("ts", "sack", "ecn", "ecnseen", "fastopen")]
    return plain_name(known[-1]) if known and re.fullmatch(r"[a-z][a-z0-9_-]*", known[-1]) else ""


def _number(text: str) -> float | None:
    """Number at the beginning of a value: `12ms(3.4%)` is 12."""
    found = re.match(r"\d{1,19}(?:\.\d{1,9})?", text)
    return float(found[0]) if found and float(found[0]) < _MOST else None


def _state(words: dict[str, str], limited: bool) -> Row:
    row: Row = {}
    for word, (column, size) in _COUNTS.items():
        value = _number(words.get(word, ""))
        if value is not None and value * size < _MOST:
            row[column] = round(value * size)
    rtt, _, variation = words.get("rtt", "").partition("/")
    for text, column in ((rtt, "srtt_ns"), (variation, "rttvar_ns")):
        if (value := _number(text)) is not None and value * 1e6 < _MOST:
            row[column] = round(value * 1e6)
    for word, column in (("pacing_rate", "pacing_bps"), ("delivery_rate", "delivery_rate_bps")):
        rate = _RATE.fullmatch(words.get(word, ""))
        if rate and rate[1].replace(".", "", 1).isdigit():
            row[column] = round(min(float(rate[1][:20]) * _SCALE[rate[2]], _MOST))
    if "delivery_rate_bps" in row:
        row["app_limited"] = int(limited)
    again, _, total = words.get("retrans", "0/0" if row else "").partition("/")
    if total and (value := _number(total)) is not None:
        row["retransmitted_packets"] = round(value)
    out = _number(words.get("unacked", "0" if row else ""))
    if out is not None and row:
        left = out + (_number(again) or 0.0)
        left -= float(row.get("sacked_packets", 0)) + float(row.get("lost_packets", 0))
        row["in_flight_packets"] = max(0, round(left))
    return row


FORMAT = Format("ss", "logs of ss -tin", 3, looks, read)
