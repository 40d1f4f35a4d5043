"""Queues and queue disciplines in an experiment file: Linux's names, parameters, defaults."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.experiment.fields import (
    Checked,
    Flag,
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
    quantity,
    whole_number,
)
from dumbbell.experiment.units import PACKETS

#: Length of the queue of an interface (txqueuelen).
TX_QUEUE_PACKETS = 1000
FRAME_BYTES = 1514
#: Shortest burst that `tc` gives HTB where none is written, and txqueuelen's frames.
HTB_BURST_BYTES = 1600

Packets = Annotated[int, quantity(PACKETS, "1000 packets", positive=True)]
Flows = Annotated[int, whole_number(1, 65_536)]
Weight = Annotated[int, whole_number(0, 32)]

#: RFC 2474 §4.2.2, RFC 2597 §6, RFC 3246 §2.7, RFC 5865 §3.4, RFC 8622 §2.
CODEPOINTS = {
    "BE": 0,
    "LE": 1,
    **{f"CS{i}": 8 * i for i in range(8)},
    **{f"AF{i}{j}": 8 * i + 2 * j for i in range(1, 5) for j in range(1, 4)},
    "VA": 44,
    "EF": 46,
}


def _codepoint(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 63:
        return value
    if isinstance(value, str) and value.upper() in CODEPOINTS:
        return CODEPOINTS[value.upper()]
    allowed = ("EF", "AF41", "CS1", "BE", "a number from 0 to 63")
    raise problem("unknown codepoint", found=value, allowed=allowed)


_CODEPOINT = {"anyOf": [{"enum": list(CODEPOINTS)}, {"type": "integer", "maximum": 63}]}
Codepoint = Annotated[int, Checked(_codepoint, _CODEPOINT)]
Codepoints = Annotated[list[Codepoint], as_list(_CODEPOINT), Field(min_length=1, max_length=64)]

_CHILDREN = ("queue", "classes", "bands", "child")


class Classless(Strict):
    """A queue or discipline that has no classes."""

    @model_validator(mode="before")
    @classmethod
    def _no_child(cls, data: Any) -> Any:
        for name in _CHILDREN:
            if isinstance(data, dict) and name in data:
                message = "this discipline has no classes, so it takes no queue of its own"
                allowed = ("prio", "drr", "htb")
                raise problem(message, field=name, allowed=allowed)
        return data

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        raise NotImplementedError


class PfifoSpec(Classless):
    """First in, first out; room in packets."""

    limit: Packets = TX_QUEUE_PACKETS

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {"drop_tail": {"limit_packets": self.limit, "limit_bytes": None}}


class BfifoSpec(Classless):
    """First in, first out; room in bytes."""

    limit: PositiveSize = TX_QUEUE_PACKETS * FRAME_BYTES

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {"drop_tail": {"limit_packets": None, "limit_bytes": self.limit}}


class HeadDropSpec(Classless):
    """First in, first out; where it is full, the head goes."""

    limit: Packets = TX_QUEUE_PACKETS

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {"head_drop": {"limit_packets": self.limit}}


class RedSpec(Classless):
    """RED (Floyd and Jacobson 1993); what is not written is as `tc red` derives it."""

    limit: PositiveSize = 400_000
    min: PositiveSize | None = None
    max: PositiveSize | None = None
    avpkt: PositiveSize = 1000
    burst: Annotated[int, whole_number(1, 65_536)] | None = None
    probability: Share = 0.02
    ecn: Flag = False
    harddrop: Flag = False
    adaptive: Flag = False

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        most = self.max
        if most is None:
            most = self.limit // 4 if self.min is None else 3 * self.min
        least = most // 3 if self.min is None else self.min
        burst = self.burst
        if burst is None:
            burst = (2 * least + most) // (3 * self.avpkt)
        return {
            "red": {
                "limit_bytes": self.limit,
                "min_bytes": least,
                "max_bytes": most,
                "average_packet_bytes": self.avpkt,
                "burst_packets": burst,
                "probability": self.probability,
                "ecn": self.ecn,
                "harddrop": self.harddrop,
                "adaptive": self.adaptive,
            }
        }


class CodelSpec(Classless):
    """CoDel (RFC 8289)."""

    limit: Packets = 1000
    target: Time = 5_000_000
    interval: PositiveTime = 100_000_000
    ecn: Flag = False

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {
            "codel": {
                "limit_packets": self.limit,
                "target_ns": self.target,
                "interval_ns": self.interval,
                "ecn": self.ecn,
            }
        }


class FqCodelSpec(Classless):
    """FlowQueue-CoDel (RFC 8290)."""

    limit: Packets = 10_240
    flows: Flows = 1024
    quantum: PositiveSize = FRAME_BYTES
    target: Time = 5_000_000
    interval: PositiveTime = 100_000_000
    ecn: Flag = True

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {
            "fq_codel": {
                "limit_packets": self.limit,
                "flows": self.flows,
                "quantum_bytes": self.quantum,
                "target_ns": self.target,
                "interval_ns": self.interval,
                "ecn": self.ecn,
            }
        }


class PieSpec(Classless):
    """PIE (RFC 8033)."""

    limit: Packets = 1000
    target: PositiveTime = 15_000_000
    tupdate: PositiveTime = 15_000_000
    alpha: Weight = 2
    beta: Weight = 20
    ecn: Flag = False
    bytemode: Flag = False

    def parameters(self) -> dict[str, Any]:
        """Those of every PIE."""
        return {
            "limit_packets": self.limit,
            "target_ns": self.target,
            "tupdate_ns": self.tupdate,
            "alpha": self.alpha,
            "beta": self.beta,
            "ecn": self.ecn,
            "bytemode": self.bytemode,
        }

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {"pie": self.parameters()}


class FqPieSpec(PieSpec):
    """FlowQueue-PIE."""

    limit: Packets = 10_240
    flows: Flows = 1024
    quantum: PositiveSize = FRAME_BYTES
    ecn_prob: Annotated[int, whole_number(0, 100)] = 10

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {
            "fq_pie": {
                "pie": self.parameters(),
                "flows": self.flows,
                "quantum_bytes": self.quantum,
                "ecn_prob_percent": self.ecn_prob,
            }
        }


class SfqSpec(Classless):
    """Stochastic Fairness Queueing (McKenney 1990), without perturbation."""

    limit: Packets = 127
    flows: Flows = 128
    depth: Annotated[int, whole_number(1, 127)] = 127
    quantum: PositiveSize = FRAME_BYTES
    headdrop: Flag = False

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {
            "sfq": {
                "limit_packets": self.limit,
                "flows": self.flows,
                "depth_packets": self.depth,
                "quantum_bytes": self.quantum,
                "headdrop": self.headdrop,
            }
        }


class FqSpec(Classless):
    """Fair queue; of what is forwarded it paces nothing."""

    limit: Packets = 10_000
    flow_limit: Packets = 100
    quantum: PositiveSize = 2 * FRAME_BYTES
    initial_quantum: PositiveSize = 10 * FRAME_BYTES

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {
            "fq": {
                "limit_packets": self.limit,
                "flow_limit_packets": self.flow_limit,
                "quantum_bytes": self.quantum,
                "initial_quantum_bytes": self.initial_quantum,
            }
        }


class BandSpec(Strict):
    """A band of prio; without codepoints it takes what no other does."""

    dscp: Codepoints | None = None
    queue: QueueDiscipline | None = None

    def fields(self) -> dict[str, Any]:
        """What every class has."""
        queue = (self.queue or QueueSpec(pfifo=PfifoSpec())).scenario()
        return {"dscp": self.dscp or [], "queue": queue}


class PrioSpec(Strict):
    """Bands by priority, the first served first."""

    bands: Annotated[list[BandSpec], Field(min_length=1, max_length=16)]

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {"prio": {"bands": [band.fields() for band in self.bands]}}


class TurnSpec(BandSpec):
    """A class of DRR."""

    quantum: PositiveSize = FRAME_BYTES

    def fields(self) -> dict[str, Any]:
        """What every class has, and its quantum."""
        return {**super().fields(), "quantum_bytes": self.quantum}


class DrrSpec(Strict):
    """Deficit Round Robin (Shreedhar and Varghese 1995)."""

    classes: Annotated[list[TurnSpec], Field(min_length=1, max_length=16)]

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        return {"drr": {"classes": [one.fields() for one in self.classes]}}


class HtbClassSpec(BandSpec):
    """A class of HTB."""

    rate: Rate
    ceil: Rate | None = None
    burst: PositiveSize = HTB_BURST_BYTES
    cburst: PositiveSize = HTB_BURST_BYTES
    prio: Annotated[int, whole_number(0, 7)] = 0
    quantum: PositiveSize = FRAME_BYTES

    def under(self, parent: HtbSpec) -> dict[str, Any]:
        """With what the parent lends."""
        return {
            **self.fields(),
            "rate_bps": self.rate,
            "ceil_bps": parent.rate if self.ceil is None else self.ceil,
            "burst_bytes": self.burst,
            "cburst_bytes": self.cburst,
            "priority": self.prio,
            "quantum_bytes": self.quantum,
        }


class HtbSpec(Strict):
    """Hierarchy Token Bucket: one queue, or classes that share the rate."""

    rate: Rate
    burst: PositiveSize = HTB_BURST_BYTES
    queue: QueueDiscipline | None = None
    classes: Annotated[list[HtbClassSpec], Field(min_length=1, max_length=16)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.queue is not None and self.classes is not None:
            raise problem("queue and classes exclude each other", field="queue")
        return self

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        classes = self.classes
        if classes is None:
            bucket = f"{self.burst} bytes"
            rate = f"{self.rate} bit/s"
            one = HtbClassSpec.model_validate({"rate": rate, "burst": bucket, "cburst": bucket})
            classes = [one.model_copy(update={"queue": self.queue})]
        return {
            "htb": {
                "rate_bps": self.rate,
                "burst_bytes": self.burst,
                "classes": [one.under(self) for one in classes],
            }
        }


class QueueSpec(Strict):
    """A queue or a queue discipline, by its name in `tc`."""

    pfifo: PfifoSpec | None = None
    bfifo: BfifoSpec | None = None
    pfifo_head_drop: HeadDropSpec | None = None
    red: RedSpec | None = None
    codel: CodelSpec | None = None
    fq_codel: FqCodelSpec | None = None
    pie: PieSpec | None = None
    fq_pie: FqPieSpec | None = None
    sfq: SfqSpec | None = None
    fq: FqSpec | None = None
    prio: PrioSpec | None = None
    drr: DrrSpec | None = None
    htb: HtbSpec | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, NAMES)
        return self

    def scenario(self) -> dict[str, Any]:
        """As the scenario has it."""
        chosen = next(one for name in NAMES if (one := getattr(self, name)) is not None)
        done: dict[str, Any] = chosen.scenario()
        return done


#: All of them.
NAMES = tuple(QueueSpec.model_fields)
#: Those that need no parameter.
PLAIN = tuple(name for name in NAMES if name not in ("prio", "drr", "htb"))


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value in NAMES and value not in PLAIN:
        allowed = (f"{{{value}: {{rate: …}}}}" if value == "htb" else f"{{{value}: {{…}}}}",)
        raise problem(f"{value} needs its parameters", found=value, allowed=allowed)
    choice(*PLAIN, what="queue").read(value)
    return {value: {}}


QueueDiscipline = Annotated[QueueSpec, Short(_named, {"type": "string", "enum": list(PLAIN)})]

for _model in (BandSpec, PrioSpec, TurnSpec, DrrSpec, HtbClassSpec, HtbSpec, QueueSpec):
    _model.model_rebuild()
