"""Models of the flows in an experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.catalogue import congestion_controls
from dumbbell.codes import Code
from dumbbell.experiment.fields import (
    Checked,
    Flag,
    Name,
    PositiveSize,
    PositiveTime,
    Rate,
    Short,
    StartJitter,
    Strict,
    Time,
    choice,
    exactly_one,
    problem,
    short_text,
    whole_number,
)
from dumbbell.experiment.kinds import KINDS, with_kinds
from dumbbell.experiment.options import TcpOptionsSpec, option_hint
from dumbbell.experiment.queues import Codepoint

ALGORITHMS = tuple(one.name for one in congestion_controls().values() if not one.coupled)
#: Congestion controls that couple the subflows of a connection.
COUPLED = tuple(one.name for one in congestion_controls().values() if one.coupled)


def _single_path(value: object) -> str:
    if value in COUPLED:
        message = (
            f"{value} couples the subflows of a multipath connection (mptcp:); tcp has one path"
        )
        raise problem(message, found=value, allowed=ALGORITHMS)
    return _KNOWN.read(value)  # type: ignore[no-any-return]


_KNOWN = choice(*ALGORITHMS, what="congestion control")
Algorithm = Annotated[str, Checked(_single_path, _KNOWN.schema)]
#: Congestion controls that need ECN at both ends of a TCP connection.
_NEED_ECN = tuple(one.name for one in congestion_controls().values() if one.needs_ecn)
_SUBFLOW = tuple(name for name in (*ALGORITHMS, *COUPLED) if name not in _NEED_ECN)


def _of_subflow(value: object) -> str:
    if value in _NEED_ECN:
        message = f"{value} needs ECN at both ends, which multipath connections do not negotiate"
        raise problem(message, found=value, allowed=_SUBFLOW)
    return _KNOWN_OF_SUBFLOW.read(value)  # type: ignore[no-any-return]


_KNOWN_OF_SUBFLOW = choice(*_SUBFLOW, what="congestion control")
SubflowAlgorithm = Annotated[str, Checked(_of_subflow, _KNOWN_OF_SUBFLOW.schema)]


class BulkSpec(Strict):
    """Writes whenever the send buffer has free space."""

    bytes: PositiveSize | None = None
    refill: Time = 0


class PeriodicSpec(Strict):
    """Writes a chunk at a fixed interval: application-limited."""

    chunk: PositiveSize
    interval: PositiveTime
    bytes: PositiveSize | None = None


class OnOffSpec(Strict):
    """Writes chunks at an interval in on periods, and nothing in off periods."""

    chunk: PositiveSize
    interval: PositiveTime
    on: PositiveTime
    off: Time
    lengths: Annotated[str, choice("fixed", "exponential", what="distribution")] = "fixed"
    bytes: PositiveSize | None = None


class SourceSpec(Strict):
    """The sending application."""

    bulk: BulkSpec | None = None
    periodic: PeriodicSpec | None = None
    on_off: OnOffSpec | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, ("bulk", "periodic", "on_off"))
        return self


def _source(value: Any) -> Any:
    return {"bulk": {}} if value == "bulk" else value


class SinkSpec(Strict):
    """The receiving application."""

    lowat: PositiveSize = 1
    rate: Rate | None = None


class StreamSpec(Strict):
    """Applications of a connection, and the TCP options of its hosts."""

    fq: Flag | None = None
    bytes: PositiveSize | None = None
    source: Annotated[SourceSpec, Short(_source, {"const": "bulk"})] | None = None
    sink: SinkSpec = SinkSpec.made({})
    sender: TcpOptionsSpec | None = None
    receiver: TcpOptionsSpec | None = None

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        """See :meth:`Strict.elsewhere`."""
        return option_hint(key, "")

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        if self.bytes is not None and self.source is not None:
            raise problem("bytes and source exclude each other", field="bytes", code=Code.ONE_OF)
        return self


class TcpSpec(StreamSpec):
    """A TCP connection and its applications."""

    congestion_control: Algorithm

    @model_validator(mode="before")
    @classmethod
    def _one_path(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for name in ("scheduler", "path_manager", "subflows"):
                if name in data:
                    message = f"{name} is for the subflows of mptcp; a tcp flow has one path"
                    raise problem(message, found=data[name], field=name)
        return data


class SubflowSpec(Strict):
    """A subflow of a multipath connection: its interfaces and times."""

    local: Name | None = None
    remote: Name | None = None
    backup: Flag = False
    start: Time | None = None
    stop: Time | None = None


SCHEDULERS = ("default", "lowest_rtt", "round_robin", "redundant", "blest", "ecf")
PATH_MANAGERS = ("fullmesh", "ndiffports")


class MptcpSpec(StreamSpec):
    """A Multipath TCP connection (RFC 8684) and its applications.

    `fullmesh`: a subflow for each pair of interfaces of both hosts with a path between them.
    `ndiffports`: `subflows` subflows between the first pair of interfaces.
    """

    congestion_control: SubflowAlgorithm
    scheduler: Annotated[str, choice(*SCHEDULERS, what="scheduler")] = "default"
    path_manager: Annotated[str, choice(*PATH_MANAGERS, what="path manager")] = "fullmesh"
    subflows: Annotated[int, whole_number(1, 64)] | list[SubflowSpec] | None = None
    opportunistic: Flag = False


#: Codec → payload of a packet in bytes, and its duration in ns.
CODECS = {"g711": (160, 20_000_000)}
RTP_HEADER_BYTES = 12


class VoiceSpec(Strict):
    """Speech: an RTP datagram (RFC 3550) every 20 ms."""

    codec: Annotated[str, choice(*CODECS, what="codec")] = "g711"


class FlowFields(Strict):
    """Fields of every flow, and those of TCP and Multipath TCP."""

    name: Name | None = None
    group: Name | None = None
    from_: Annotated[Name, Field(alias="from")]
    to: Name
    start: Time = 0
    stop: Time | None = None
    start_jitter: StartJitter | None = None
    dscp: Codepoint = 0
    count: Annotated[int, whole_number(1, 1_000_000_000)] | None = None
    tcp: Annotated[TcpSpec, short_text("congestion_control", enum=list(ALGORITHMS))] | None = None
    mptcp: (
        Annotated[MptcpSpec, short_text("congestion_control", enum=[*ALGORITHMS, *COUPLED])] | None
    ) = None


if TYPE_CHECKING:
    FlowKinds = FlowFields
else:
    FlowKinds = with_kinds(FlowFields)


class FlowSpec(FlowKinds):
    """Traffic from one host to another. `count`: number of such flows.

    With `count`, `{i}` in name, from and to stands for 1, 2, … count, and `{i+n}` for the number
    `n` further on, where 1 follows count.
    """

    voice: Annotated[VoiceSpec, short_text("codec", enum=list(CODECS))] | None = None

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        """See :meth:`Strict.elsewhere`."""
        return option_hint(key, "tcp.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, ("tcp", "mptcp", *KINDS, "voice"))
        return self
