"""Models of the network in an experiment file: pipes, links, routers, routes."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.codes import Code
from dumbbell.experiment.access_models import Access
from dumbbell.experiment.fields import (
    Buffer,
    Checked,
    Name,
    PacketLimit,
    PositiveSize,
    PositiveTime,
    Rate,
    Share,
    Short,
    Strict,
    Time,
    as_list,
    choice,
    exactly_one,
    problem,
    whole_number,
)
from dumbbell.experiment.framing import Framing, Overhead
from dumbbell.experiment.queues import FRAME_BYTES, QueueDiscipline
from dumbbell.experiment.rate_traces import RateTraceSpec
from dumbbell.experiment.rewrites import Rewrites
from dumbbell.experiment.slots import SlotsSpec
from dumbbell.experiment.units import SIZE, QuantityError, whole

MAX_ITEMS = 20_000
Nth = Annotated[int, whole_number(1, 2**53)]


class Empty(Strict):
    """Mapping without fields."""


def _initial(value: object) -> int | str:
    if value in ("full", "empty", "random"):
        return str(value)
    try:
        return whole(value, SIZE)
    except QuantityError as error:
        allowed = ("full", "empty", "random", "a size such as 1500 bytes")
        raise problem(error.message, found=error.found, allowed=allowed, code=error.code) from None


InitialLevel = Annotated[
    int | str,
    Checked(_initial, {"type": "string", "examples": ["full", "empty", "random", "1500 bytes"]}),
]


class SerialSpec(Strict):
    """Serialisation: one packet at a time, at the rate of the link."""

    rate: Rate


class PeakSpec(Strict):
    """Peak rate of a token bucket, and the burst at that rate."""

    rate: Rate
    burst: PositiveSize = FRAME_BYTES


class TbfSpec(Strict):
    """Linux's token-bucket filter."""

    rate: Rate
    burst: PositiveSize
    peak: PeakSpec | None = None
    initial: InitialLevel = "random"


class TraceSpec(Strict):
    """Packet-delivery trace in mahimahi's format: a file, or times in ms."""

    file: Name | None = None
    deliveries: list[Annotated[int, whole_number(0, 2**40)]] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, ("file", "deliveries"))
        return self


class ShaperSpec(Strict):
    """Shaper of a pipe."""

    none: Empty | None = None
    serial: SerialSpec | None = None
    tbf: TbfSpec | None = None
    trace: TraceSpec | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, ("none", "serial", "tbf", "trace"))
        return self


def _none_or_mapping(value: Any) -> Any:
    return {"none": {}} if value == "none" else value


Shaper = Annotated[ShaperSpec, Short(_none_or_mapping, {"const": "none"})]


class NetemSpec(Strict):
    """Linux's netem as the queue. `limit` counts delayed packets as well as queued ones."""

    delay: Time | None = None
    jitter: Time | None = None
    limit: PacketLimit


class GilbertElliottSpec(Strict):
    """Loss in bursts: two states (Gilbert 1960, Elliott 1963)."""

    good_to_bad: Share
    bad_to_good: Share
    loss_good: Share = 0.0
    loss_bad: Share = 1.0


class ScriptedDropSpec(Strict):
    """Drops of the n-th segments of a flow, counted from 1."""

    flow: Name
    nth: Annotated[list[Nth], as_list({"type": "integer"}), Field(min_length=1)]


class IndependentSpec(Strict):
    """Independent loss of each packet."""

    probability: Share


class LossSpec(Strict):
    """Loss model, applied before the queue."""

    none: Empty | None = None
    independent: IndependentSpec | None = None
    gilbert_elliott: GilbertElliottSpec | None = None
    scripted: Annotated[list[ScriptedDropSpec], Field(max_length=MAX_ITEMS)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, ("none", "independent", "gilbert_elliott", "scripted"))
        return self


def _loss(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    return {"none": {}} if value == "none" else {"independent": {"probability": value}}


Loss = Annotated[LossSpec, Short(_loss, {"type": "string", "examples": ["1 %", "none"]})]


class PolicerSpec(Strict):
    """Drops what exceeds a token bucket."""

    rate: Rate
    burst: PositiveSize


class ReorderingSpec(Strict):
    """Reordering: an extra delay for some packets."""

    probability: Share
    extra_delay: PositiveTime


class AckAggregationSpec(Strict):
    """Pure ACKs released in batches."""

    max_wait: PositiveTime
    max_acks: Annotated[int, whole_number(1, 2**32 - 1)]


class ChangeSpec(Strict):
    """Change of a pipe at a time: new rate, delay, loss or state."""

    at: Time
    rate: Rate | None = None
    delay: Time | None = None
    loss: Loss | None = None
    state: Annotated[str, choice("up", "down", what="state of a link")] | None = None


class PipeSpec(Strict):
    """One direction of a link, or the fields that both directions share."""

    rate: Rate | None = None
    rates: RateTraceSpec | None = None
    shaper: Shaper | None = None
    buffer: Buffer | None = None
    netem: NetemSpec | None = None
    queue: QueueDiscipline | None = None
    delay: Time | None = None
    jitter: Time | None = None
    loss: Loss | None = None
    corruption: Share | None = None
    duplication: Share | None = None
    policer: PolicerSpec | None = None
    reordering: ReorderingSpec | None = None
    ack_aggregation: AckAggregationSpec | None = None
    slots: SlotsSpec | None = None
    rewrites: Rewrites | None = None
    overhead: Overhead | None = None
    framing: Framing | None = None
    changes: Annotated[list[ChangeSpec], Field(max_length=MAX_ITEMS)] | None = None

    @model_validator(mode="after")
    def _rivals(self) -> Self:
        if self.queue is not None and self.queue.own_rate is not None:
            name = "htb" if self.queue.htb is not None else "cake with a bandwidth"
            for other in ("rate", "rates", "shaper"):
                if getattr(self, other) is not None:
                    raise problem(f"{name} has a rate of its own", field=other, code=Code.ONE_OF)
        for one, other in RIVALS:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise problem(
                    f"{one} and {other} exclude each other", field=other, code=Code.ONE_OF
                )
        return self

    def pipe(self) -> dict[str, Any]:
        """Fields of a pipe that the file writes."""
        return {name: v for name, v in self.given().items() if name in PipeSpec.model_fields}

    def override(self, over: PipeSpec | None) -> PipeSpec:
        """Copy with the fields of `over` in place of its own."""
        if over is None and type(self) is PipeSpec:
            return self
        merged = self.pipe()
        if over is not None:
            given = over.pipe()
            if _shapes(given):
                merged = {name: v for name, v in merged.items() if name not in _RATES}
            elif _shapes(merged) and given.keys() & {*_RATES, "buffer", "netem"}:
                merged.pop("queue")
            for one, other in RIVALS:
                if one in given:
                    merged.pop(other, None)
                if other in given:
                    merged.pop(one, None)
            merged |= given
        return PipeSpec.made(merged)


def _shapes(given: dict[str, Any]) -> bool:
    """Returns true if the queue among these fields has a rate of its own (htb, cake)."""
    return given.get("queue") is not None and given["queue"].own_rate is not None


_RATES = ("rate", "rates", "shaper")
RIVALS = (
    ("rate", "shaper"),
    ("rate", "rates"),
    ("rates", "shaper"),
    ("buffer", "netem"),
    ("buffer", "queue"),
    ("netem", "queue"),
    ("overhead", "framing"),
)


class BothDirections(PipeSpec):
    """A pipe in each direction: shared fields, and fields of one direction."""

    forward: PipeSpec | None = None
    backward: PipeSpec | None = None

    def directions(self) -> tuple[PipeSpec, PipeSpec]:
        """The forward and the backward pipe."""
        return self.override(self.forward), self.override(self.backward)


class LinkSpec(BothDirections):
    """A link. Forward is from the first node of `between` to the second."""

    name: Name | None = None
    between: Annotated[list[Name], Field(min_length=2, max_length=2)] | None = None
    access: Access | None = None


class SpraySpec(Strict):
    """Packet spraying over equal-cost paths."""

    policy: Annotated[str, choice("round_robin", "random", "per_flow", what="spraying policy")]
    what: Annotated[str, choice("data", "acks", "both", what="kind of packets")] = "both"
    first: Annotated[int, whole_number(0, 2**32 - 1)] | None = None


def _spray(value: Any) -> Any:
    if value == "none":
        return None
    return value if isinstance(value, dict) else {"policy": value}


_SPRAY_SCHEMA = {"enum": ["round_robin", "random", "per_flow", "none"]}
Spray = Annotated[SpraySpec | None, Short(_spray, _SPRAY_SCHEMA)]


class RouterSpec(Strict):
    """A router or switch."""

    spray: Spray = None
    processing_jitter: Time | None = None


Names = Annotated[list[Name], as_list({"type": "string"}), Field(min_length=1)]


class RouteSpec(Strict):
    """An explicit route. `via` names links, or neighbours joined by one link."""

    at: Names
    to: Names
    via: Names


class TapSpec(Strict):
    """Tap: the interface of a node at which packets are observed."""

    name: Name | None = None
    at: Name
    link: Name


Kept = Annotated[str, choice("samples", "queues", "drops", "probes", what="table")]


class TimeRangeSpec(Strict):
    """Time range in which packets are recorded."""

    from_: Annotated[Time, Field(alias="from")] = 0
    to: PositiveTime


class CaptureSpec(Strict):
    """Capture at all taps. `snap`: maximum bytes kept of each frame."""

    snap: Annotated[PositiveSize, Field(le=65_535)] = 96


def _capture(value: Any) -> Any:
    if value is True:
        return {}
    return None if value is False else value


CaptureField = Annotated[CaptureSpec | None, Short(_capture, {"type": "boolean"})]


class SamplingSpec(Strict):
    """Tables over time. `repeats`: number of first repeats that keep them."""

    interval: PositiveTime = 20_000_000
    keep: list[Kept] = Field(default=[])
    packets: TimeRangeSpec | None = None
    hops: TimeRangeSpec | None = None
    capture: CaptureField = None
    repeats: Annotated[int, whole_number(1, 100_000)] | None = None


def _sampling(value: Any) -> Any:
    if value == "none":
        return {}
    return value if isinstance(value, dict) else {"interval": value, "keep": ["samples", "queues"]}


Sampling = Annotated[
    SamplingSpec, Short(_sampling, {"type": "string", "examples": ["20 ms", "none"]})
]


class NeighbourDiscoverySpec(Strict):
    """Address resolution (ARP) by hosts and routers, with Linux's times."""

    reachable: PositiveTime = 30_000_000_000
    probe_delay: Time = 5_000_000_000


def _discovery(value: Any) -> Any:
    if value is True:
        return {}
    return None if value is False else value


NeighbourDiscovery = Annotated[
    NeighbourDiscoverySpec | None, Short(_discovery, {"type": "boolean"})
]
