"""Translation of a pipe of the file to a pipe of the scenario."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import shortened
from dumbbell.experiment.fields import QueueLimit
from dumbbell.experiment.network import (
    LossSpec,
    NetemSpec,
    PipeSpec,
    ShaperSpec,
    TraceSpec,
)
from dumbbell.experiment.queues import FRAME_BYTES
from dumbbell.experiment.rate_traces import RateTrace, RateTraceError
from dumbbell.experiment.rate_traces import read as read_rates
from dumbbell.experiment.source import Loc
from dumbbell.experiment.units import MAX
from dumbbell.files.input import TooLargeError, read_file

TRACE_PACKET_BYTES = 1504
MAX_TRACE_BYTES = 8 << 20


class BuildError(Exception):
    """Error that the check of a single field cannot find.

    Attributes:
        message: What is wrong.
        at: Path of the field in the file.
        found: Value found.
        allowed: Values that are allowed.
        code: Code of the cause; None: that of the section.
    """

    def __init__(
        self,
        message: str,
        at: Loc,
        found: str | None = None,
        allowed: tuple[str, ...] = (),
        *,
        code: Code | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.found = found
        self.allowed = allowed
        self.code = code


@dataclass(frozen=True, slots=True)
class Pending:
    """Limits of a queue that need the base RTT.

    Attributes:
        pipe: The scenario's pipe; :func:`fill` completes it.
        limits: Limits as written.
        rate_bps: Rate of the pipe; None: it has no rate.
        at: Path of the pipe in the file.
    """

    pipe: dict[str, Any]
    limits: tuple[QueueLimit, ...]
    rate_bps: Fraction | None
    at: Loc

    def copy(self) -> Pending:
        """Copy with a pipe of its own, to be completed independently."""
        queue = {
            kind: dict(one) if isinstance(one, dict) else one
            for kind, one in self.pipe["queue"].items()
        }
        return Pending({**self.pipe, "queue": queue}, self.limits, self.rate_bps, self.at)


def loss(spec: LossSpec | None) -> Any:
    """Loss in the form of the scenario."""
    if spec is None or spec.none is not None:
        return "none"
    if spec.independent is not None:
        return {"independent": {"probability": spec.independent.probability}}
    if spec.gilbert_elliott is not None:
        return {"gilbert_elliott": spec.gilbert_elliott.model_dump()}
    drops = [{"flow": one.flow, "nth": n} for one in spec.scripted or () for n in one.nth]
    return {"scripted": {"drops": drops}}


def trace(spec: TraceSpec, folder: Path, at: Loc) -> list[int]:
    """Times of a packet-delivery trace in ms. Raises `BuildError` if it cannot be read."""
    if spec.deliveries is not None:
        return spec.deliveries
    path = folder / str(spec.file)
    try:
        data = read_file(path, MAX_TRACE_BYTES)
    except TooLargeError:
        message = f"a trace larger than {MAX_TRACE_BYTES} bytes"
        raise BuildError(message, at, shortened(spec.file), code=Code.RATES_FILE) from None
    except OSError as error:
        reason = error.strerror or error
        raise BuildError(
            f"the trace cannot be read: {reason}", at, shortened(spec.file), code=Code.RATES_FILE
        ) from None
    times = []
    for number, line in enumerate(data.splitlines(), 1):
        text = line.strip()
        if not text:
            continue
        if not text.isdigit() or len(text) > 12:
            found = shortened(text.decode("ascii", "replace"))
            message = f"line {number} of {spec.file} is not a time in milliseconds"
            raise BuildError(message, at, found, code=Code.RATES_FILE)
        times.append(int(text))
    return times


def rate_trace(spec: PipeSpec, folder: Path, at: Loc) -> RateTrace | None:
    """Rates over time of a pipe; None: it has none. Raises `BuildError` if they cannot be read."""
    if spec.rates is None:
        return None
    try:
        return read_rates(spec.rates, folder)
    except RateTraceError as error:
        raise BuildError(
            error.message, (*at, "rates"), error.found, error.allowed, code=Code.RATES_FILE
        ) from None


def shaper(
    spec: PipeSpec, rates: RateTrace | None, folder: Path, at: Loc
) -> tuple[Any, Fraction | None]:
    """Shaper in the form of the scenario, and its rate in bit/s for the BDP (None: no rate)."""
    if rates is not None:
        return {"serial": {"rate_bps": rates.steps[0][1]}}, Fraction(rates.mean_bps)
    if spec.rate is not None:
        return {"serial": {"rate_bps": spec.rate}}, Fraction(spec.rate)
    if spec.queue is not None and spec.queue.own_rate is not None:
        return "none", Fraction(spec.queue.own_rate)
    chosen: ShaperSpec | None = spec.shaper
    if chosen is None or chosen.none is not None:
        return "none", None
    if chosen.serial is not None:
        return {"serial": {"rate_bps": chosen.serial.rate}}, Fraction(chosen.serial.rate)
    if chosen.tbf is not None:
        tbf = chosen.tbf
        levels = {"full": tbf.burst, "empty": 0, "random": None}
        initial = levels[tbf.initial] if isinstance(tbf.initial, str) else tbf.initial
        peak = tbf.peak and {"rate_bps": tbf.peak.rate, "burst_bytes": tbf.peak.burst}
        fields = {
            "rate_bps": tbf.rate,
            "burst_bytes": tbf.burst,
            "initial_bytes": initial,
            "peak": peak,
        }
        return {"tbf": fields}, Fraction(tbf.rate)
    times = trace(chosen.trace or TraceSpec(deliveries=[1]), folder, at)
    rate = None
    if times and times[-1] > 0:
        rate = Fraction(len(times) * TRACE_PACKET_BYTES * 8 * 1000, times[-1])
    return {"trace": {"deliveries_ms": times}}, rate


def framing(spec: PipeSpec) -> dict[str, Any]:
    """Framing in the form of the scenario."""
    if spec.framing is not None:
        return spec.framing.scenario()
    return {"overhead_bytes": spec.overhead or 0, "mpu_bytes": 0, "atm": False}


def changes(spec: PipeSpec, rates: RateTrace | None) -> list[dict[str, Any]]:
    """Changes of a pipe by time, those of rates over time among them."""
    made: list[dict[str, Any]] = [
        {
            "at_ns": change.at,
            "rate_bps": change.rate,
            "delay_ns": change.delay,
            "loss": None if change.loss is None else loss(change.loss),
        }
        | ({} if change.state is None else {"state": change.state})
        for change in spec.changes or ()
    ]
    if rates is None:
        return made
    made += [
        {"at_ns": at_ns, "rate_bps": bps, "delay_ns": None, "loss": None}
        for at_ns, bps in rates.steps[1:]
    ]
    return sorted(made, key=lambda change: change["at_ns"])


def pipe(spec: PipeSpec, folder: Path, at: Loc) -> tuple[dict[str, Any], Pending]:
    """Pipe in the form of the scenario, and its limits, which :func:`fill` sets."""
    rates = rate_trace(spec, folder, at)
    how, rate = shaper(spec, rates, folder, at)
    netem: NetemSpec | None = spec.netem
    if netem is not None:
        limits: tuple[QueueLimit, ...] = (netem.limit,)
        fields = {"delay_ns": netem.delay or 0, "jitter_ns": netem.jitter or 0}
        queue: dict[str, Any] = {"netem": {**fields, "limit_packets": None}}
    elif spec.queue is not None:
        limits, queue = (), spec.queue.scenario()
    else:
        limits = spec.buffer or ()
        queue = {"drop_tail": {"limit_packets": None, "limit_bytes": None}}
        if (how != "none" or spec.slots is not None) and not limits:
            allowed = ("100 packets", "64 KiB", "1 BDP", "50 ms")
            raise BuildError(
                "a pipe with a rate needs a buffer", at, None, allowed, code=Code.BUFFER_MISSING
            )
    aggregation, policer, held = spec.ack_aggregation, spec.policer, spec.reordering
    done: dict[str, Any] = {
        "policer": policer and {"rate_bps": policer.rate, "burst_bytes": policer.burst},
        "loss": loss(spec.loss),
        "corruption": spec.corruption or 0.0,
        "duplication": spec.duplication or 0.0,
        "queue": queue,
        "shaper": how,
        "framing": framing(spec),
        "delay_ns": spec.delay or 0,
        "jitter_ns": spec.jitter or 0,
        "reordering": held
        and {"probability": held.probability, "extra_delay_ns": held.extra_delay},
        "ack_aggregation": aggregation
        and {"max_wait_ns": aggregation.max_wait, "max_acks": aggregation.max_acks},
        "changes": changes(spec, rates),
    }
    if spec.slots is not None:
        done["slots"] = spec.slots.scenario()
    if spec.rewrites:
        done["rewrites"] = [one.scenario() for one in spec.rewrites]
    return done, Pending(done, limits, rate, at)


def fixed_delay_ns(done: dict[str, Any]) -> int:
    """Fixed delay of a scenario's pipe in ns, netem's included."""
    netem = done["queue"].get("netem")
    return int(done["delay_ns"]) + (0 if netem is None else int(netem["delay_ns"]))


def fill(pending: Pending, rtt_ns: dict[str, int], through: int | None) -> None:
    """Sets the limits of a queue.

    Args:
        pending: The pipe and its limits as written.
        rtt_ns: Base RTT of each flow, ns.
        through: Largest base RTT of the flows through this pipe, ns; None: no flow passes it.

    Raises:
        BuildError: A limit needs a rate, or names an unknown flow.
    """
    for limit in pending.limits:
        size, packets = limit.size, limit.packets
        if limit.time_ns is not None or limit.bdp is not None:
            if pending.rate_bps is None:
                raise BuildError(
                    "a BDP or a time needs a pipe with a rate", pending.at, code=Code.BDP
                )
            if limit.time_ns is not None:
                bits = pending.rate_bps * limit.time_ns / 10**9
            else:
                rtt = through
                if limit.flow is not None:
                    rtt = rtt_ns.get(limit.flow)
                if rtt is None:
                    known = tuple(rtt_ns)
                    raise BuildError(
                        "a BDP of an unknown flow", pending.at, limit.flow, known, code=Code.BDP
                    )
                bits = pending.rate_bps * rtt / 10**9 * (limit.bdp or 0)
            size = max(int(bits / 8), FRAME_BYTES)
            if size > MAX:
                raise BuildError(
                    "a queue limit too large", pending.at, f"{size:.1e} bytes", code=Code.BDP
                )
        netem = pending.pipe["queue"].get("netem")
        if netem is not None:
            netem["limit_packets"] = packets or -(-(size or 0) // FRAME_BYTES)
        elif packets is not None:
            pending.pipe["queue"]["drop_tail"]["limit_packets"] = packets
        else:
            pending.pipe["queue"]["drop_tail"]["limit_bytes"] = size
