"""Chain of causes as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from dumbbell.explain.packets import Packet

Number = int | float | str


class Step(Enum):
    """Question that a link of the chain answers."""

    INCIDENT = "what happened"
    CAUSE = "why"
    NOTICE = "how the sender learned of it"
    REACTION = "what the sender did"
    REPAIR = "how it was repaired"
    COST = "what it cost"


class What(Enum):
    """Kind of a link."""

    # incidents
    DROP = "drop"
    TIMEOUT = "time-out without loss"
    SPURIOUS = "spurious retransmission"
    REDUCTION = "window reduction without loss"
    LOST_ACK = "loss of an ACK"
    REORDERING = "reordering"
    RECEIVE_WINDOW = "limited by the receive window"
    APPLICATION = "limited by the application"
    SEND_BUFFER = "limited by the send buffer"
    CONNECTION = "limited by its Multipath TCP connection"
    # causes of drops and marks
    FULL_QUEUE = "full queue"
    AQM_DROP = "drop by the queue discipline"
    AQM_MARK = "mark by the queue discipline"
    RANDOM_LOSS = "random loss"
    BURST_LOSS = "bursty loss"
    OUTAGE = "outage"
    SCRIPTED_LOSS = "scripted loss"
    POLICER = "policer"
    CORRUPTION = "corruption"
    OTHER_DROP = "other drop"
    COMPETITOR = "start of another flow"
    LOST_RETRANSMISSION = "lost retransmission"
    # causes without a drop
    LOST_ACKS = "lost ACKs"
    SILENT_PEER = "silent peer"
    DELAY_CHANGE = "change of the delay"
    RATE_CHANGE = "change of the rate"
    QUEUEING = "queueing delay"
    SPRAYING = "spraying over paths"
    LINK_REORDERING = "reordering on a link"
    LATE_ACK = "late ACK"
    ALGORITHM = "the congestion control itself"
    IDLE = "idle sender"
    SLOW_READER = "slow reader"
    SMALL_BUFFER = "small receive buffer"
    SOURCE = "source without data"
    FULL_BUFFER = "full send buffer"
    SCHEDULER = "Multipath TCP scheduler"
    UNKNOWN = "not known"
    # how the sender learned
    DUPLICATE_ACKS = "duplicate ACKs"
    RACK = "RACK"
    RTO = "retransmission time-out"
    PROBE = "tail loss probe"
    ECN_ECHO = "ECN echo"
    ADVERTISED_WINDOW = "advertised window"
    NEVER = "not noticed"
    # reactions, repair, cost
    STATE = "change of state"
    UNCHANGED = "no reaction"
    UNDONE = "undone reduction"
    RETRANSMITTED = "retransmitted"
    NOT_REPAIRED = "not repaired"
    NOTHING_LOST = "nothing lost"
    RESUMED = "resumed"
    GOODPUT = "goodput"


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the chain.

    Attributes:
        step: Question that it answers.
        what: Kind.
        time_ns: Time.
        sentence: Plain sentence for people.
        packet: Packet of the link; None: no single one.
        place: Pipe, node or host; empty: none.
        state: State of the queue or sender in words; empty: none.
        numbers: Numbers of the sentence by name, with their units.
    """

    step: Step
    what: What
    time_ns: int
    sentence: str
    packet: Packet | None = None
    place: str = ""
    state: str = ""
    numbers: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Chain of causes of one incident.

    Attributes:
        flow: Name of the flow.
        at_ns: Time that was asked for.
        links: Links in causal order.
        cut: True if the incident may have begun before the packets that are kept.
    """

    flow: str
    at_ns: int
    links: Sequence[Link]
    cut: bool = False

    def kinds(self) -> list[What]:
        """Kinds of the links, in order."""
        return [link.what for link in self.links]
