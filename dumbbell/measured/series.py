"""Points over time of one flow: samples or probes, and the row of `flows` that follows."""

from __future__ import annotations

from itertools import pairwise

from dumbbell.measured.values import MOST_NS, MeasuredError, Row, life, plain_name

_NS = 1e9


class Series:
    """Points of a flow.

    Args:
        name: Name of the flow.
        kind: Kind of the flow, as in `flows`.

    Attributes:
        samples: Rows of `samples`.
        probes: Rows of `probes`.
        transfers: Rows of `transfers`.
    """

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = plain_name(name), kind
        self.samples: list[Row] = []
        self.probes: list[Row] = []
        self.transfers: list[Row] = []
        self._delivered: int | None = None
        self._first: int | None = None
        self._last = 0

    def add_rate(self, time_s: float, mbps: float, length_s: float) -> None:
        """Adds a rate in Mbit/s over the time before `time_s`."""
        self._delivered = (self._delivered or 0) + round(mbps * length_s * 1e6 / 8)
        self._add(time_s, {"delivered_bytes": self._delivered})
        self._see(time_s - length_s)

    def add_total(self, time_s: float, delivered_bytes: int | None, state: Row) -> None:
        """Adds what was delivered so far, and the sender's state."""
        if delivered_bytes is not None:
            self._delivered = delivered_bytes
            state = {"delivered_bytes": delivered_bytes, **state}
        self._add(time_s, state)

    def add_state(self, time_s: float, state: Row) -> None:
        """Adds the sender's state."""
        self._add(time_s, state)

    def add_row(self, time_s: float, row: Row) -> None:
        """Adds a row, which may get more columns before `flow` is called."""
        row |= {"time_ns": self._see(time_s), "flow": self.name}
        self.samples.append(row)

    def add_probe(self, time_s: float, kind: str, number: int, delay_ms: float | None) -> None:
        """Adds a probe. `delay_ms`: None: it was lost."""
        self.probes.append(
            {
                "time_ns": self._see(time_s),
                "flow": self.name,
                "kind": kind,
                "probe_number": number,
                "delay_ns": -1 if delay_ms is None else round(delay_ms * 1e6),
            }
        )

    def add_transfer(self, end_s: float, length_s: float) -> None:
        """Adds a finished transfer of unknown size."""
        end_ns = self._see(end_s)
        start_ns = max(0, end_ns - round(length_s * _NS))
        self.transfers.append({"flow": self.name, "start_ns": start_ns, "end_ns": end_ns})

    def _add(self, time_s: float, state: Row) -> None:
        self.samples.append({"time_ns": self._see(time_s), "flow": self.name, **state})

    def _settle(self) -> None:
        """Joins rows of one time, and fills `delivered_bytes` between its points.

        A rate holds over its interval, so what was delivered grows evenly between two points.
        """
        joined: dict[int, Row] = {}
        for row in sorted(self.samples, key=lambda one: int(one["time_ns"])):
            joined.setdefault(int(row["time_ns"]), {}).update(row)
        self.samples = list(joined.values())
        known = [one for one in self.samples if "delivered_bytes" in one]
        if not known:
            return
        self._check_growth(known)
        begin, before, place = self._first or 0, 0, 0
        for row in self.samples:
            if "delivered_bytes" in row:
                begin, before, place = int(row["time_ns"]), int(row["delivered_bytes"]), place + 1
                continue
            time, after = int(row["time_ns"]), before
            if place < len(known):
                end, total = int(known[place]["time_ns"]), int(known[place]["delivered_bytes"])
                after += round((total - before) * (time - begin) / (end - begin))
            row["delivered_bytes"] = after

    def _check_growth(self, known: list[Row]) -> None:
        for before, row in pairwise(known):
            had, found = int(before["delivered_bytes"]), int(row["delivered_bytes"])
            if found < had:
                raise MeasuredError(
                    f"{self.name} at {int(row['time_ns']) / _NS:.6g} s",
                    f"delivered_bytes falls: found {found}; allowed: ≥ {had}, as in a row before",
                )

    def _see(self, time_s: float) -> int:
        if not -1e-3 <= time_s * _NS <= MOST_NS:
            time_s = self._refused(time_s)
        time_ns = max(0, round(time_s * _NS))
        self._first = time_ns if self._first is None else min(self._first, time_ns)
        self._last = max(self._last, time_ns)
        return time_ns

    def _refused(self, time_s: float) -> float:
        if -1.0 < time_s < 0.0:  # the first interval began before the clock of the test
            return 0.0
        raise MeasuredError(self.name, f"a time of {time_s:.6g} s after the begin of the test")

    @property
    def mean_mbps(self) -> float:
        """Mean rate from the first point to the last; 0 if it is not known."""
        length = self._last - (self._first or 0)
        return 0.0 if self._delivered is None or length <= 0 else self._delivered * 8e3 / length

    def flow(self, more: Row) -> Row | None:
        """Row of `flows` with further columns; None: there are no points, or all of one instant."""
        if self._first is None or self._last <= self._first:
            return None
        self._settle()
        row: Row = {"flow": self.name, "kind": self.kind, **life(self._first, self._last), **more}
        if self.kind == "ping":
            return row | self._delays()
        if self._delivered is not None:
            row.setdefault("delivered_bytes", self._delivered)
        for column, mean in (("srtt_ns", "srtt_mean_ns"), ("cwnd_packets", "cwnd_mean_packets")):
            values = [float(one[column]) for one in self.samples if column in one]
            if values:
                row.setdefault(mean, sum(values) / len(values))
        windows = [int(one["cwnd_packets"]) for one in self.samples if "cwnd_packets" in one]
        if windows:
            row.setdefault("cwnd_max_packets", max(windows))
        again = [one for one in self.samples if "retransmitted_packets" in one]
        if again:
            row.setdefault("retransmitted_packets", again[-1]["retransmitted_packets"])
        return row

    def _delays(self) -> Row:
        delays = [int(one["delay_ns"]) for one in self.probes if int(one["delay_ns"]) >= 0]
        if not delays or self.probes[0]["kind"] == "one_way":
            return {}
        return {"rtt_mean_ns": sum(delays) / len(delays), "rtt_min_ns": min(delays)}
