# ruff: noqa: E501
"""Types of a scenario, as its JSON has them.

Written by `python -m tests.write_scenario_types` from crates/model.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Literal, NotRequired, TypedDict


def read_scenario(text: str) -> Scenario:
    """A scenario from its JSON, which was checked when it was built."""
    found: Scenario = json.loads(text)
    return found


@lru_cache(maxsize=8)
def shared_scenario(text: str) -> Scenario:
    """As `read_scenario`, read once for all who ask: nobody may change it."""
    return read_scenario(text)


def shaper_of(pipe: Pipe) -> ShaperOf:
    """The shaper of a direction of a link; empty where nothing shapes."""
    shaper = pipe["shaper"]
    return {} if shaper == "none" else shaper


class Traffic(TypedDict, total=False):
    """What a flow carries. One of these keys."""

    tcp: Tcp
    udp: Udp
    ping: Ping
    video: Video
    quic: Quic


#: Role of a node.
NodeKind = Literal["host", "router", "switch"]

#: Policy by which a spraying router chooses the next hop.
SprayPolicy = Literal["round_robin", "random", "per_flow"]

#: Packets that are sprayed.
SprayWhat = Literal["data", "acks", "both"]


class LossIndependent(TypedDict):
    """`independent`."""

    probability: float


class LossGilbertElliott(TypedDict):
    """`gilbert_elliott`."""

    good_to_bad: float
    bad_to_good: float
    loss_good: float
    loss_bad: float
    every_ns: NotRequired[int | None]


class LossState(TypedDict):
    """`state`."""

    chain: Any
    every_ns: NotRequired[int | None]


class LossScripted(TypedDict):
    """`scripted`."""

    drops: list[ScriptedDrop]


class LossOf(TypedDict, total=False):
    """Loss before the queue. One of these keys."""

    independent: LossIndependent
    gilbert_elliott: LossGilbertElliott
    state: LossState
    scripted: LossScripted


#: Loss before the queue.
Loss = Literal["none"] | LossOf

#: ECN field of the IP header (RFC 3168 §5).
EcnField = Literal["not_ect", "ect1", "ect0", "ce"]

#: TCP flag that ECN uses (RFC 3168 §6.1, RFC 9768 §3.1).
EcnFlag = Literal["ece", "cwr", "ae"]


class ShaperSerial(TypedDict):
    """`serial`."""

    rate_bps: int


class ShaperTbf(TypedDict):
    """`tbf`."""

    rate_bps: int
    burst_bytes: int
    initial_bytes: int | None
    peak: NotRequired[Peak | None]


class ShaperTrace(TypedDict):
    """`trace`."""

    deliveries_ms: list[int]


class ShaperOf(TypedDict, total=False):
    """Shaper. One of these keys."""

    serial: ShaperSerial
    tbf: ShaperTbf
    trace: ShaperTrace


#: Shaper.
Shaper = Literal["none"] | ShaperOf

#: State of one direction of a link.
LinkState = Literal["up", "down"]


class SizeFixed(TypedDict):
    """`fixed`."""

    bytes: int


class SizeExponential(TypedDict):
    """`exponential`."""

    mean_bytes: int


class SizeLognormal(TypedDict):
    """`lognormal`."""

    median_bytes: int
    sigma: float


class SizePareto(TypedDict):
    """`pareto`."""

    shape: float
    min_bytes: int
    max_bytes: int


class SizeEmpirical(TypedDict):
    """`empirical`."""

    points: Any


class Size(TypedDict, total=False):
    """Distribution of flow sizes. One of these keys."""

    fixed: SizeFixed
    exponential: SizeExponential
    lognormal: SizeLognormal
    pareto: SizePareto
    empirical: SizeEmpirical


#: Schedulers of Multipath TCP.
Scheduler = Literal["default", "lowest_rtt", "round_robin", "redundant", "blest", "ecf"]


class LoadClosed(TypedDict):
    """`closed`."""

    think_ns: int
    exponential: bool


class LoadOpen(TypedDict):
    """`open`."""

    interval_ns: int
    exponential: bool


class Load(TypedDict, total=False):
    """Times at which requests are due. One of these keys."""

    closed: LoadClosed
    open: LoadOpen


#: HTTP version: how requests share a connection.
Protocol = Literal["http1", "http2"]


class ReceiveBufferOwn(TypedDict):
    """`own`."""

    bytes: int


class ReceiveBufferOf(TypedDict, total=False):
    """Memory of a received segment (`skb->truesize`), and its coalescing with neighbours (`skb_try_coalesce`). One of these keys."""

    own: ReceiveBufferOwn


#: Memory of a received segment (`skb->truesize`), and its coalescing with neighbours (`skb_try_coalesce`).
ReceiveBuffer = Literal["pages", "small_head", "copied"] | ReceiveBufferOf

#: Acknowledgement of in-order data (RFC 1122 §4.2.3.2).
DelayedAck = Literal["adaptive", "every_second", "never"]

#: Quantity with which SEARCH compares the bytes delivered in its window.
Search = Literal["off", "delivered", "sent"]


class SourceBulk(TypedDict):
    """`bulk`."""

    bytes: int | None
    refill_ns: int


class SourcePeriodic(TypedDict):
    """`periodic`."""

    chunk_bytes: int
    interval_ns: int
    bytes: int | None


class SourceOnOff(TypedDict):
    """`on_off`."""

    chunk_bytes: int
    interval_ns: int
    on_ns: int
    off_ns: int
    exponential: bool
    bytes: int | None


class SourceOf(TypedDict, total=False):
    """The sending application. One of these keys."""

    bulk: SourceBulk
    periodic: SourcePeriodic
    on_off: SourceOnOff


#: The sending application.
Source = Literal["session", "messages", "subflow"] | SourceOf

#: Implementation of TCP.
TcpStack = Literal["linux", "smoltcp"]

#: Codecs of speech.
Codec = Literal["g711"]

#: Protocol of echo requests.
EchoProtocol = Literal["icmp", "udp"]

#: Distribution of the times on and off.
Lengths = Literal["fixed", "exponential"]

#: Protection of QUIC packets.
QuicEncryption = Literal["none", "tls"]

#: A QUIC stack.
QuicStack = Literal["quinn", "s2n", "own"]

#: Congestion control of a QUIC stack.
QuicControl = Literal["cubic", "bbr", "new_reno"]


class Scenario(TypedDict):
    """One fully resolved combination of levels."""

    version: int
    name: str
    duration_ns: int
    nodes: list[Node]
    links: list[Link]
    routes: list[Route]
    flows: list[Flow]
    arrivals: NotRequired[list[Arrivals]]
    sessions: NotRequired[list[Session]]
    requests: NotRequired[list[Requests]]
    connections: NotRequired[list[Connection]]
    programs: NotRequired[list[Program]]
    taps: list[Tap]
    sampling: Sampling
    neighbour_discovery: NotRequired[NeighbourDiscovery | None]


class NeighbourDiscovery(TypedDict):
    """Address resolution (RFC 826) with Linux's neighbour states (RFC 4861 §7.3.2)."""

    reachable_ns: int
    probe_delay_ns: int


class Node(TypedDict):
    """A host, router or switch."""

    name: str
    kind: NodeKind
    spray: Spray | None
    processing_jitter_ns: int
    tcp: TcpOptions | None


class Spray(TypedDict):
    """Packet spraying over all next hops of the route to a destination."""

    policy: SprayPolicy
    what: SprayWhat
    first: int | None


class Link(TypedDict):
    """A link between two nodes: one pipe per direction."""

    name: str
    a: str
    b: str
    forward: Pipe
    backward: Pipe


class Pipe(TypedDict):
    """One direction of a link."""

    policer: Policer | None
    loss: Loss
    corruption: float
    duplication: float
    queue: Any
    shaper: Shaper
    framing: Any
    delay_ns: int
    jitter_ns: int
    reordering: Reordering | None
    ack_aggregation: AckAggregation | None
    slots: NotRequired[Slots | None]
    rewrites: NotRequired[list[Rewrite]]
    changes: list[Change]


class Policer(TypedDict):
    """A token-bucket policer."""

    rate_bps: int
    burst_bytes: int


class ScriptedDrop(TypedDict):
    """A scripted loss: the n-th segment of a flow."""

    flow: str
    nth: int


class Rewrite(TypedDict):
    """Rewriting of the headers that ECN uses, as middleboxes do it."""

    flow: str | None
    nth: list[int]
    ecn: EcnField | None
    clear_flags: list[EcnFlag]
    set_flags: list[EcnFlag]
    strip_accecn: bool


class Peak(TypedDict):
    """Second bucket of a token-bucket filter: it limits the rate of a burst."""

    rate_bps: int
    burst_bytes: int


class Reordering(TypedDict):
    """Random reordering: some packets get an extra delay, so that later packets arrive before them."""

    probability: float
    extra_delay_ns: int


class AckAggregation(TypedDict):
    """Aggregation of pure ACKs into batches, as in Wi-Fi and cable modems."""

    max_wait_ns: int
    max_acks: int


class Slots(TypedDict):
    """Transmission opportunities, as netem's `slot`: a packet that the wire has serialised waits for the next slot, and all that wait leave in it together."""

    min_ns: int
    max_ns: int
    packets: int
    bytes: int
    pause_ns: int
    pause_every_ns: int
    distribution: NotRequired[Any]


class Change(TypedDict):
    """A timed change of a pipe; `null` keeps a value."""

    at_ns: int
    rate_bps: int | None
    delay_ns: int | None
    loss: Loss | None
    state: NotRequired[LinkState | None]


class Route(TypedDict):
    """An explicit route."""

    at: str
    to: str
    via: list[str]


#: A flow: traffic between two hosts.
Flow = TypedDict(
    "Flow",
    {
        "name": "str",
        "group": "NotRequired[str]",
        "from": "str",
        "to": "str",
        "start_ns": "int",
        "stop_ns": "int | None",
        "start_jitter_ns": "int",
        "dscp": "NotRequired[int]",
        "traffic": "Traffic",
    },
)


class Tap(TypedDict):
    """A tap: records packets at the interface of a node on a link."""

    name: str
    node: str
    link: str


class Sampling(TypedDict):
    """Recording of tables over time."""

    interval_ns: int
    samples: bool
    queues: bool
    drops: bool
    probes: NotRequired[bool]
    packets: NotRequired[Stretch | None]
    capture: NotRequired[Capture | None]
    hops: NotRequired[Stretch | None]


class Capture(TypedDict):
    """Capture at all taps."""

    snap_bytes: int


class Stretch(TypedDict):
    """A time interval with its start, without its end."""

    from_ns: int
    to_ns: int


#: Flows that arrive as a Poisson process.
Arrivals = TypedDict(
    "Arrivals",
    {
        "name": "str",
        "group": "NotRequired[str]",
        "from": "str",
        "to": "str",
        "start_ns": "int",
        "stop_ns": "int | None",
        "dscp": "NotRequired[int]",
        "per_second": "float",
        "size": "Size",
        "tcp": "Tcp",
    },
)


class Connection(TypedDict):
    """A Multipath TCP connection and the applications at its ends."""

    name: str
    group: NotRequired[str]
    scheduler: Scheduler
    subflows: list[Subflow]
    source: Source
    sink: Sink
    stop_ns: int | None
    opportunistic: NotRequired[bool]


class Subflow(TypedDict):
    """A subflow: a flow, and an interface at each end."""

    flow: str
    local: str
    remote: str
    backup: bool


class Program(TypedDict):
    """A program on a host."""

    name: str
    on: str
    run: list[str]
    start_ns: int
    stop_ns: int | None
    environment: Any
    input: str
    expect_exit: int | None


class Requests(TypedDict):
    """A client that sends requests to a server."""

    name: str
    group: NotRequired[str]
    connections: list[str]
    start_ns: int
    stop_ns: int | None
    load: Load
    count: int | None
    request: Size
    response: Size | None
    service_ns: int
    request_writes: int
    response_writes: int


class Session(TypedDict):
    """A session: a client loads a page."""

    name: str
    start_ns: int
    start_jitter_ns: int
    origins: list[Origin]
    objects: list[Object]


class Origin(TypedDict):
    """An origin: a server and the protocol towards it."""

    connections: list[str]
    protocol: Protocol
    lookup_ns: int
    setup: list[Exchange]


class Exchange(TypedDict):
    """A request and its response."""

    request_bytes: int
    response_bytes: int


class Object(TypedDict):
    """An object of a page."""

    name: str
    group: NotRequired[str]
    origin: int
    after: list[int]
    delay_ns: int
    exchange: Exchange
    service_ns: int


class TcpOptions(TypedDict):
    """Options of one host or one side of a flow."""

    hz: int
    mtu_bytes: int
    gso: bool
    initcwnd: int
    initrwnd: int
    ssthresh: NotRequired[int]
    rto_min_ns: int
    rto_initial_ns: NotRequired[int]
    delayed_ack: NotRequired[DelayedAck]
    tcp_sack: bool
    tcp_dsack: bool
    tcp_timestamps: bool
    tcp_window_scaling: bool
    tcp_ecn: NotRequired[int]
    tcp_ecn_option: NotRequired[int]
    tcp_ecn_option_beacon: NotRequired[int]
    tcp_reordering: int
    tcp_max_reordering: int
    tcp_recovery: int
    tcp_fack: NotRequired[bool]
    forward_retransmit: NotRequired[bool]
    rate_halving: NotRequired[bool]
    tcp_abc: NotRequired[int | None]
    scaling_ratio: NotRequired[bool]
    skb_small_head: NotRequired[bool]
    grow_skb: NotRequired[bool]
    fin_beyond_cwnd: NotRequired[bool]
    delack_from_rto_min: NotRequired[bool]
    rcvbuf_grow: NotRequired[bool]
    mptcp_sync_sndbuf: NotRequired[bool]
    mptcp_set_rcvlowat: NotRequired[bool]
    mptcp_last_snd: NotRequired[bool]
    rack_always: NotRequired[bool]
    tcp_early_retrans: int
    tcp_frto: int
    tcp_comp_sack_nr: int
    tcp_comp_sack_delay_ns: int
    tcp_comp_sack_rtt_percent: NotRequired[int]
    tcp_comp_sack_slack_ns: int
    tcp_rmem: list[int]
    tcp_wmem: list[int]
    tcp_moderate_rcvbuf: bool
    tcp_adv_win_scale: int
    rx_segment: ReceiveBuffer
    tcp_limit_output_bytes: int
    queue_at_interface: NotRequired[bool]
    tcp_slow_start_after_idle: bool
    tcp_pacing_ss_ratio: int
    tcp_pacing_ca_ratio: int
    tcp_min_rtt_wlen: int
    tcp_min_tso_segs: int
    tcp_retries2: int
    tcp_syn_retries: int
    tcp_syn_linear_timeouts: NotRequired[int]
    mptcp_enabled: NotRequired[bool]
    cubic_hystart: bool
    cubic_fast_convergence: bool
    cubic_tcp_friendliness: bool
    hystart_plus_plus: NotRequired[bool]
    search: NotRequired[Search]
    search_rollback: NotRequired[bool]
    saved_cwnd: NotRequired[int]
    saved_rtt_ns: NotRequired[int]
    rate_limited_increase: NotRequired[bool]


class Tcp(TypedDict):
    """A TCP connection and the applications at its ends."""

    congestion_control: str
    fq: bool
    source: Source
    sink: Sink
    sender: TcpOptions | None
    receiver: TcpOptions | None
    nodelay: NotRequired[bool | None]
    notsent_lowat_bytes: NotRequired[int | None]
    stack: NotRequired[TcpStack]


class Sink(TypedDict):
    """The receiving application."""

    lowat_bytes: int
    rate_bps: int | None


class Udp(TypedDict):
    """UDP at a constant bit rate."""

    rate_bps: int
    datagram_bytes: int
    interval_ns: int
    mtu_bytes: int
    sleeps: NotRequired[bool]
    codec: NotRequired[Codec | None]


class Ping(TypedDict):
    """Echo requests and their replies."""

    interval_ns: int
    payload_bytes: int
    protocol: NotRequired[EchoProtocol]


class Video(TypedDict):
    """Video over UDP."""

    rate_bps: int
    frame_ns: int
    datagram_bytes: int
    on_ns: int
    off_ns: int
    lengths: Lengths


class Quic(TypedDict):
    """A QUIC connection."""

    stack: QuicStack
    congestion_control: QuicControl
    streams: int
    bytes: int
    encryption: NotRequired[QuicEncryption]
