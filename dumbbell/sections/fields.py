# ruff: noqa: E501
"""Sections of experiment files. Written by `python -m tests.write_sections` from the JSON Schema.

Quantities are texts with a unit, as "20 Mbit/s". Every field may have a level of a factor, "$name".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dumbbell.sections.base import Section

__all__ = [
    "Access", "AckAggregation", "Arrivals", "Attack", "Band", "Bfifo", "BothDirections", "Bulk",
    "Cake", "Capture", "Change", "Choke", "Codel", "Connection", "Constraint", "Correlated", "Drr",
    "DrrClass", "Dualpi2", "DumbbellTemplate", "EarlyReorder", "Empty", "Exit", "Expect",
    "Exponential", "FatTreeTemplate", "Flow", "FourStates", "Fq", "FqCodel", "FqPie", "Framing",
    "Gemodel", "GilbertElliott", "HeadDrop", "Host", "Htb", "HtbClass", "Independent", "JointTrace",
    "LeafSpineTemplate", "Link", "Lognormal", "Loss", "Mptcp", "NeighbourDiscovery", "Netem",
    "NetemDelay", "NetemLoss", "Object", "OnOff", "Optimise", "Page", "ParallelPathsTemplate",
    "Pareto", "ParkingLotTemplate", "Path", "Paths", "Peak", "Periodic", "Pfifo", "Pie", "Ping",
    "Pipe", "Plugin", "Point", "Policer", "Prio", "Program", "Queue", "Quic", "RateTrace", "Red",
    "Reordering", "Repeats", "Requests", "Rewrite", "Route", "Router", "Rrul", "RrulBestEffort",
    "Rtt", "RttFair", "Sampling", "ScriptedDrop", "Search", "Serial", "Sfq", "Shaper", "Sink",
    "Size", "SlotDistribution", "Slots", "Source", "Spray", "Spread", "StateLoss", "Subflow", "Tap",
    "Tbf", "Tcp", "TcpDown", "TcpOptions", "TcpUp", "Template", "TimeRange", "Trace", "Udp",
    "Until", "Video", "Voice", "Workload",
]  # fmt: skip


class Empty(Section):
    """Mapping without fields."""


class Bfifo(Section):
    """FIFO, limit in bytes. First in, first out; a packet that does not fit is dropped."""

    limit: str | None = None


class Capture(Section):
    """Capture at all taps. `snap`: maximum bytes kept of each frame."""

    snap: str | None = None


class Drr(Section):
    """Deficit Round Robin (Shreedhar and Varghese 1995)."""

    classes: str | Sequence[str | DrrClass]


class Exit(Section):
    """End that a program must have."""

    exit: str | int


class Exponential(Section):
    """Exponential distribution."""

    mean: str


class HeadDrop(Section):
    """FIFO, head drop. First in, first out; if the queue is full, its oldest packet is dropped."""

    limit: str | None = None


class Independent(Section):
    """Independent loss of each packet."""

    probability: str


class Pfifo(Section):
    """FIFO. First in, first out; a packet that does not fit is dropped."""

    limit: str | None = None


class Prio(Section):
    """Strict priority. The first band is served first."""

    bands: str | Sequence[str | Band]


class Serial(Section):
    """Serialisation: one packet at a time, at the rate of the link."""

    rate: str


class Voice(Section):
    """Speech: an RTP datagram (RFC 3550) every 20 ms."""

    codec: str | None = None


class AckAggregation(Section):
    """Pure ACKs released in batches."""

    max_wait: str
    max_acks: str | int


class Band(Section):
    """A band of prio. The band without codepoints takes all other packets."""

    dscp: str | int | Sequence[str | int] | None = None
    queue: str | Queue | None = None


class Bulk(Section):
    """Writes whenever the send buffer has free space."""

    bytes: str | None = None
    refill: str | None = None


class Correlated(Section):
    """A probability, and the correlation of the random numbers behind it."""

    probability: str
    correlation: str | None = None


class Lognormal(Section):
    """Lognormal distribution. `sigma`: standard deviation of the natural logarithm."""

    median: str
    sigma: str | float


class NeighbourDiscovery(Section):
    """Address resolution (ARP) by hosts and routers, with Linux's times."""

    reachable: str | None = None
    probe_delay: str | None = None


class Paths(Section):
    """Number of paths, or the fields of each."""

    count: str | int | None = None
    each: str | Sequence[str | Path] | None = None


class Peak(Section):
    """Peak rate of a token bucket, and the burst at that rate."""

    rate: str
    burst: str | None = None


class Plugin(Section):
    """A congestion control of your own. Flows name it as they name a built-in one."""

    file: str
    parameters: str | Mapping[str, str | float] | None = None


class Point(Section):
    """Point of a CDF: the share `upto` of the sizes is at most `size`."""

    size: str
    upto: str


class Policer(Section):
    """Drops what exceeds a token bucket."""

    rate: str
    burst: str


class Reordering(Section):
    """Reordering: an extra delay for some packets."""

    probability: str
    extra_delay: str


class Router(Section):
    """A router or switch."""

    spray: str | Spray | None = None
    processing_jitter: str | None = None


class ScriptedDrop(Section):
    """Drops of the n-th segments of a flow, counted from 1."""

    flow: str
    nth: str | int | Sequence[str | int]


class Sink(Section):
    """The receiving application."""

    lowat: str | None = None
    rate: str | None = None


class Spread(Section):
    """Values spread evenly from the first to the last."""

    _names: ClassVar[dict[str, str]] = {"from_": "from"}
    from_: str
    to: str


class TimeRange(Section):
    """Time range in which packets are recorded."""

    _names: ClassVar[dict[str, str]] = {"from_": "from"}
    from_: str | None = None
    to: str


class Trace(Section):
    """Packet-delivery trace in mahimahi's format: a file, or times in ms."""

    file: str | None = None
    deliveries: str | Sequence[str | int] | None = None


class DrrClass(Section):
    """A class of DRR."""

    dscp: str | int | Sequence[str | int] | None = None
    queue: str | Queue | None = None
    quantum: str | None = None


class EarlyReorder(Section):
    """Early packets of a netem."""

    probability: str
    correlation: str | None = None
    gap: str | int | None = None


class Framing(Section):
    """Size of frames on the wire. `overhead`: bytes beyond the Ethernet frame without FCS. `mpu`: minimum length. `atm`: carried in ATM cells."""

    overhead: str | None = None
    mpu: str | None = None
    atm: str | bool | int | None = None


class NetemLoss(Section):
    """Models of loss of a netem, with tc's names."""

    random: str | Correlated | None = None
    state: str | FourStates | None = None
    gemodel: str | Gemodel | None = None


class Pareto(Section):
    """Bounded Pareto distribution."""

    shape: str | float
    min: str
    max: str


class Periodic(Section):
    """Writes a chunk at a fixed interval: application-limited."""

    chunk: str
    interval: str
    bytes: str | None = None


class Ping(Section):
    """Echo requests at an interval and their replies, by ICMP or UDP."""

    interval: str | None = None
    payload: str | None = None
    protocol: str | None = None


class Repeats(Section):
    """Number of repeats of each cell: from `min` to `max`, until an interval is narrow enough. Without `until` both are the fixed number."""

    until: str | Until | None = None
    min: str | int | None = None
    max: str | int | None = None


class Route(Section):
    """An explicit route. `via` names links, or neighbours joined by one link."""

    at: str | Sequence[str]
    to: str | Sequence[str]
    via: str | Sequence[str]


class Rtt(Section):
    """RTTs: one for all pairs, one per pair, or spread evenly."""

    all: str | None = None
    each: str | Sequence[str] | None = None
    spread: str | Spread | None = None


class Source(Section):
    """The sending application."""

    bulk: str | Bulk | None = None
    periodic: str | Periodic | None = None
    on_off: str | OnOff | None = None


class Spray(Section):
    """Packet spraying over equal-cost paths."""

    policy: str
    what: str | None = None
    first: str | int | None = None


class Tap(Section):
    """Tap: the interface of a node at which packets are observed."""

    name: str | None = None
    at: str
    link: str


class Connection(Section):
    """TCP settings of the flows."""

    congestion_control: str
    fq: str | bool | int | None = None
    sender: str | TcpOptions | None = None
    receiver: str | TcpOptions | None = None


class Gemodel(Section):
    """Gilbert–Elliott loss of a netem. The state in which a packet finds the chain decides."""

    p: str
    r: str | None = None
    loss_bad: str | None = None
    loss_good: str | None = None


class Htb(Section):
    """Hierarchy Token Bucket: one queue, or classes that share the rate."""

    rate: str
    burst: str | None = None
    queue: str | Queue | None = None
    classes: str | Sequence[str | HtbClass] | None = None


class JointTrace(Section):
    """Rate, delay and loss over time: a CSV file beside the experiment whose columns have units in their names."""

    _names: ClassVar[dict[str, str]] = {"from_": "from"}
    file: str
    from_: str | None = None
    length: str | None = None
    end: str | None = None


class NetemDelay(Section):
    """Delay of a netem as in tc: jitter on both sides of a mean."""

    mean: str
    jitter: str | None = None
    correlation: str | None = None
    distribution: str | None = None


class Shaper(Section):
    """Shaper of a pipe."""

    none: str | Empty | None = None
    serial: str | Serial | None = None
    tbf: str | Tbf | None = None
    trace: str | Trace | None = None


class SlotDistribution(Section):
    """Waits for slots from a distribution, as tc's `slot distribution`."""

    name: str
    delay: str
    jitter: str
    seed: str | int | None = None


class Tbf(Section):
    """Linux's token-bucket filter."""

    rate: str
    burst: str
    peak: str | Peak | None = None
    initial: str | None = None


class Until(Section):
    """Half width of a metric's 95 % interval at which a cell has enough repeats. One of the two widths is given: a share of the mean, or an amount in the metric's unit."""

    metric: str
    flow: str | None = None
    relative_half_width: str | None = None
    half_width: str | float | None = None


class Change(Section):
    """Change of a pipe at a time: new rate, delay, loss or state."""

    at: str
    rate: str | None = None
    delay: str | None = None
    loss: str | Loss | None = None
    state: str | None = None


class Codel(Section):
    """CoDel. Signals once packets have waited longer than a target for a whole interval."""

    limit: str | None = None
    target: str | None = None
    interval: str | None = None
    ecn: str | bool | int | None = None
    ce_threshold: str | None = None


class Expect(Section):
    """Bounds of a metric's mean over repeats, for all selected cells and flows. `where` selects levels of factors. Bounds are in the metric's unit."""

    metric: str
    flow: str | None = None
    where: str | Mapping[str, str] | None = None
    above: str | float | None = None
    below: str | float | None = None


class FourStates(Section):
    """Loss by four states: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a gap."""

    p13: str
    p31: str | None = None
    p32: str | None = None
    p23: str | None = None
    p14: str | None = None


class Fq(Section):
    """fq. A queue for each flow, served in turn. On a link it paces nothing, as forwarded packets have no pacing rate."""

    limit: str | None = None
    flow_limit: str | None = None
    quantum: str | None = None
    initial_quantum: str | None = None
    priority_bands: str | bool | int | None = None


class GilbertElliott(Section):
    """Loss in bursts: two states (Gilbert 1960, Elliott 1963)."""

    good_to_bad: str
    bad_to_good: str
    loss_good: str | None = None
    loss_bad: str | None = None
    every: str | None = None


class Loss(Section):
    """Loss model, applied before the queue."""

    none: str | Empty | None = None
    independent: str | Independent | None = None
    gilbert_elliott: str | GilbertElliott | None = None
    state: str | StateLoss | None = None
    scripted: str | Sequence[str | ScriptedDrop] | None = None


class Quic(Section):
    """A connection of a QUIC stack: the stack itself runs, over UDP."""

    stack: str | None = None
    congestion_control: str | None = None
    streams: str | int | None = None
    bytes: str | None = None
    encryption: str | None = None


class Sfq(Section):
    """SFQ. A queue for each flow, served in turn; its hash never changes (no perturbation)."""

    limit: str | None = None
    flows: str | int | None = None
    depth: str | int | None = None
    quantum: str | None = None
    headdrop: str | bool | int | None = None


class Size(Section):
    """Distribution of sizes."""

    fixed: str | None = None
    exponential: str | Exponential | None = None
    lognormal: str | Lognormal | None = None
    pareto: str | Pareto | None = None
    empirical: str | Sequence[str | Point] | None = None


class Subflow(Section):
    """A subflow of a multipath connection: its interfaces and times."""

    local: str | None = None
    remote: str | None = None
    backup: str | bool | int | None = None
    start: str | None = None
    stop: str | None = None


class Template(Section):
    """Choice of a template."""

    _names: ClassVar[dict[str, str]] = {
        "parallel_paths": "parallel-paths",
        "parking_lot": "parking-lot",
        "fat_tree": "fat-tree",
        "leaf_spine": "leaf-spine",
    }
    dumbbell: str | DumbbellTemplate | None = None
    parallel_paths: str | ParallelPathsTemplate | None = None
    parking_lot: str | ParkingLotTemplate | None = None
    fat_tree: str | FatTreeTemplate | None = None
    leaf_spine: str | LeafSpineTemplate | None = None


class Udp(Section):
    """Datagrams whose payload has a constant bit rate."""

    rate: str
    datagram: str | None = None
    interval: str | None = None
    mtu: str | None = None
    sleeps: str | bool | int | None = None


class Workload(Section):
    """Choice of a workload."""

    rrul: str | Rrul | None = None
    rrul_be: str | RrulBestEffort | None = None
    tcp_nup: str | TcpUp | None = None
    tcp_ndown: str | TcpDown | None = None
    rtt_fair: str | RttFair | None = None


class Access(Section):
    """Named access link. `down` and `up` are the rates to and from the subscriber."""

    type: str
    down: str | None = None
    up: str | None = None
    rtt: str | None = None
    subscriber: str | None = None
    draw: str | int | None = None


class Choke(Section):
    """CHOKe. RED that also compares an arriving packet with one drawn from the queue, and drops both if they belong to one flow."""

    limit: str | None = None
    min: str | None = None
    max: str | None = None
    burst: str | int | None = None
    probability: str | None = None
    ecn: str | bool | int | None = None


class Constraint(Expect):
    """Bounds of a metric that a result must keep. `over` says what counts of several flows, pipes or cells."""

    over: str | None = None


class OnOff(Section):
    """Writes chunks at an interval in on periods, and nothing in off periods."""

    chunk: str
    interval: str
    on: str
    off: str
    lengths: str | None = None
    bytes: str | None = None


class Optimise(Section):
    """Objective of an optimisation: a metric, and the constraints of the result."""

    metric: str
    goal: str
    flow: str | None = None
    where: str | Mapping[str, str] | None = None
    over: str | None = None
    subject_to: str | Sequence[str | Constraint] | None = None


class Rewrite(Section):
    """Change of the headers of packets that enter a link."""

    flow: str | None = None
    nth: str | int | Sequence[str | int] | None = None
    ecn: str | None = None
    clear_flags: str | Sequence[str] | None = None
    set_flags: str | Sequence[str] | None = None
    strip_option: str | None = None


class Sampling(Section):
    """Tables over time. `repeats`: number of first repeats that keep them."""

    interval: str | None = None
    keep: str | Sequence[str] | None = None
    packets: str | TimeRange | None = None
    hops: str | TimeRange | None = None
    capture: str | bool | Capture | None = None
    repeats: str | int | None = None


class StateLoss(FourStates):
    """Loss by four states: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a gap."""

    every: str | None = None


class Video(Section):
    """While on, video frames at an interval, split into datagrams; while off, nothing."""

    rate: str
    frame: str | None = None
    datagram: str | None = None
    on: str | None = None
    off: str | None = None
    lengths: str | None = None


class Attack(Section):
    """Objective of an attack: the worst value of a metric, and the share a simpler case keeps."""

    metric: str
    goal: str | None = None
    flow: str | None = None
    where: str | Mapping[str, str] | None = None
    over: str | None = None
    subject_to: str | Sequence[str | Constraint] | None = None
    tolerance: str | None = None


class Pie(Section):
    """PIE. Signals at random; the probability follows the queueing delay and its change."""

    limit: str | None = None
    target: str | None = None
    tupdate: str | None = None
    alpha: str | int | None = None
    beta: str | int | None = None
    ecn: str | bool | int | None = None
    bytemode: str | bool | int | None = None


class RateTrace(Section):
    """Rates over time: a CSV file beside the experiment, and its columns."""

    _names: ClassVar[dict[str, str]] = {"from_": "from"}
    file: str
    column: str
    unit: str | None = None
    time: str | None = None
    time_unit: str | None = None
    from_: str | None = None
    length: str | None = None


class RttFair(Section):
    """A flow up, a flow down and RTT probes for each of several servers."""

    client: str
    congestion_control: str | None = None
    before: str | None = None
    length: str | None = None
    interval: str | None = None
    start_jitter: str | None = None
    servers: str | Sequence[str]


class Search(Section):
    """A search: an optimum or a worst case in a space. `dumbbell.experiment.space` reads it."""

    optimise: str | Optimise | None = None
    attack: str | Attack | None = None
    space: (
        str
        | Mapping[
            str,
            Mapping[str, str | Sequence[Any]]
            | Mapping[str, str | float | Sequence[Any]]
            | Sequence[Any],
        ]
    )
    evaluations: str | int
    repeats: str | int | None = None
    seed: str | int | None = None
    batch: str | int | None = None


class Slots(Section):
    """Slots in which packets leave. Names and meaning as in netem's `slot`."""

    min: str | None = None
    max: str | None = None
    distribution: str | SlotDistribution | None = None
    packets: str | int | None = None
    bytes: str | None = None
    pause: str | None = None
    pause_every: str | None = None


class FqCodel(Section):
    """FQ-CoDel. A queue with CoDel for each flow, served in turn, new flows first."""

    limit: str | None = None
    flows: str | int | None = None
    quantum: str | None = None
    target: str | None = None
    interval: str | None = None
    ecn: str | bool | int | None = None
    ce_threshold: str | None = None
    ce_threshold_ect1: str | bool | int | None = None


class HtbClass(Section):
    """A class of HTB."""

    dscp: str | int | Sequence[str | int] | None = None
    queue: str | Queue | None = None
    rate: str
    ceil: str | None = None
    burst: str | None = None
    cburst: str | None = None
    prio: str | int | None = None
    quantum: str | None = None


class Program(Section):
    """A program on a host. `run`: a command line; `{d1}` is the address of the host d1."""

    name: str | None = None
    on: str
    run: str | Sequence[str]
    start: str | None = None
    stop: str | None = None
    environment: str | Mapping[str, str] | None = None
    input: str | None = None
    expect: str | Exit | None = None


class TcpDown(Section):
    """Flows to the client, and RTT probes by ICMP."""

    client: str
    congestion_control: str | None = None
    before: str | None = None
    length: str | None = None
    interval: str | None = None
    start_jitter: str | None = None
    server: str
    streams: str | int | None = None


class TcpUp(Section):
    """Flows from the client, and RTT probes by ICMP."""

    client: str
    congestion_control: str | None = None
    before: str | None = None
    length: str | None = None
    interval: str | None = None
    start_jitter: str | None = None
    server: str
    streams: str | int | None = None


class Netem(Section):
    """Linux's netem as the queue. `limit` counts delayed packets as well as queued ones."""

    delay: str | NetemDelay | None = None
    jitter: str | None = None
    limit: str
    loss: str | NetemLoss | None = None
    ecn: str | bool | int | None = None
    duplicate: str | Correlated | None = None
    corrupt: str | Correlated | None = None
    reorder: str | EarlyReorder | None = None
    seed: str | int | None = None


class Object(Section):
    """An object of a page. `count`: number of such objects; `{i}` in the name is 1, 2, …"""

    name: str
    count: str | int | None = None
    size: str
    request: str | None = None
    server: str | None = None
    after: str | Sequence[str] | None = None
    delay: str | None = None
    service: str | None = None
    group: str | None = None


class Cake(Section):
    """CAKE. A shaper with priority tins by DSCP, a queue with COBALT for each flow, and fairness among hosts."""

    bandwidth: str | None = None
    diffserv: str | None = None
    isolation: str | None = None
    rtt: str | None = None
    overhead: str | None = None
    mpu: str | None = None
    atm: str | None = None
    ack_filter: str | None = None
    ingress: str | bool | int | None = None
    memlimit: str | None = None


class FqPie(Pie):
    """FQ-PIE. A queue with PIE for each flow, served in turn, new flows first."""

    flows: str | int | None = None
    quantum: str | None = None
    ecn_prob: str | int | None = None


class Red(Section):
    """RED. Signals at random, the more often the longer the average queue."""

    limit: str | None = None
    min: str | None = None
    max: str | None = None
    avpkt: str | None = None
    burst: str | int | None = None
    probability: str | None = None
    ecn: str | bool | int | None = None
    harddrop: str | bool | int | None = None
    nodrop: str | bool | int | None = None
    adaptive: str | bool | int | None = None


class RrulBestEffort(Section):
    """RRUL without codepoints."""

    client: str
    congestion_control: str | None = None
    before: str | None = None
    length: str | None = None
    interval: str | None = None
    start_jitter: str | None = None
    server: str
    up: str | int | None = None
    down: str | int | None = None
    voice: str | bool | int | None = None


class Rrul(Section):
    """RRUL: simultaneous flows up and down, RTT probes by ICMP and UDP, optionally speech."""

    client: str
    congestion_control: str | None = None
    before: str | None = None
    length: str | None = None
    interval: str | None = None
    start_jitter: str | None = None
    server: str
    up: str | int | None = None
    down: str | int | None = None
    voice: str | bool | int | None = None


class Tcp(Section):
    """A TCP connection and its applications."""

    fq: str | bool | int | None = None
    bytes: str | None = None
    source: str | Source | None = None
    sink: str | Sink | None = None
    sender: str | TcpOptions | None = None
    receiver: str | TcpOptions | None = None
    congestion_control: str
    stack: str | None = None
    nodelay: str | bool | int | None = None
    notsent_lowat: str | None = None


class Arrivals(Section):
    """Poisson process of TCP flows, given by flows per second or by load."""

    _names: ClassVar[dict[str, str]] = {"from_": "from"}
    name: str
    group: str | None = None
    from_: str
    to: str
    start: str | None = None
    stop: str | None = None
    dscp: str | int | None = None
    per_second: str | float | None = None
    load: str | None = None
    size: str | Size
    tcp: str | Connection


class Mptcp(Section):
    """A Multipath TCP connection (RFC 8684) and its applications. `fullmesh`: a subflow for each pair of interfaces of both hosts with a path between them. `ndiffports`: `subflows` subflows between the first pair of interfaces."""

    fq: str | bool | int | None = None
    bytes: str | None = None
    source: str | Source | None = None
    sink: str | Sink | None = None
    sender: str | TcpOptions | None = None
    receiver: str | TcpOptions | None = None
    congestion_control: str
    scheduler: str | None = None
    path_manager: str | None = None
    subflows: str | int | Sequence[Subflow] | None = None
    opportunistic: str | bool | int | None = None


class Dualpi2(Section):
    """DualPI2. A queue of low latency for packets with ECT(1) or CE, and one for all others; their signals are coupled."""

    limit: str | None = None
    target: str | None = None
    tupdate: str | None = None
    alpha: str | int | None = None
    beta: str | int | None = None
    step_thresh: str | None = None
    min_qlen_step: str | int | None = None
    coupling_factor: str | int | None = None
    classic_protection: str | int | None = None
    drop_on_overload: str | bool | int | None = None
    drop_enqueue: str | bool | int | None = None
    any_ect: str | bool | int | None = None


class Page(Section):
    """A page and its client."""

    name: str
    client: str
    server: str
    start: str | None = None
    start_jitter: str | None = None
    protocol: str | None = None
    connections: str | int | None = None
    tls: str | None = None
    lookup: str | None = None
    congestion_control: str | None = None
    fq: str | bool | int | None = None
    notsent_lowat: str | None = None
    request: str | None = None
    page: str | None = None
    objects: str | Sequence[str | Object] | None = None


class Flow(Section):
    """Traffic from one host to another. `count`: number of such flows. With `count`, `{i}` in name, from and to stands for 1, 2, … count, and `{i+n}` for the number `n` further on; with n below count, 1 follows count."""

    _names: ClassVar[dict[str, str]] = {"from_": "from"}
    name: str | None = None
    group: str | None = None
    from_: str
    to: str
    start: str | None = None
    stop: str | None = None
    start_jitter: str | None = None
    dscp: str | int | None = None
    count: str | int | None = None
    tcp: str | Tcp | None = None
    mptcp: str | Mptcp | None = None
    udp: str | Udp | None = None
    ping: str | Ping | None = None
    video: str | Video | None = None
    quic: str | Quic | None = None
    voice: str | Voice | None = None


class Queue(Section):
    """A queue or a queue discipline, by its name in `tc`."""

    pfifo: str | Pfifo | None = None
    bfifo: str | Bfifo | None = None
    pfifo_head_drop: str | HeadDrop | None = None
    red: str | Red | None = None
    choke: str | Choke | None = None
    codel: str | Codel | None = None
    fq_codel: str | FqCodel | None = None
    pie: str | Pie | None = None
    fq_pie: str | FqPie | None = None
    sfq: str | Sfq | None = None
    fq: str | Fq | None = None
    dualpi2: str | Dualpi2 | None = None
    cake: str | Cake | None = None
    prio: str | Prio | None = None
    drr: str | Drr | None = None
    htb: str | Htb | None = None


class Pipe(Section):
    """One direction of a link, or the fields that both directions share."""

    rate: str | None = None
    rates: str | RateTrace | None = None
    trace: str | JointTrace | None = None
    shaper: str | Shaper | None = None
    buffer: str | Sequence[str] | None = None
    netem: str | Netem | None = None
    queue: str | Queue | None = None
    delay: str | None = None
    jitter: str | None = None
    loss: str | Loss | None = None
    corruption: str | None = None
    duplication: str | None = None
    policer: str | Policer | None = None
    reordering: str | Reordering | None = None
    ack_aggregation: str | AckAggregation | None = None
    slots: str | Slots | None = None
    rewrites: str | Sequence[str | Rewrite] | None = None
    overhead: str | None = None
    framing: str | Framing | None = None
    changes: str | Sequence[str | Change] | None = None


class Requests(Section):
    """A client that sends requests to a server over persistent connections."""

    name: str
    group: str | None = None
    client: str
    server: str
    connections: str | int | None = None
    start: str | None = None
    stop: str | None = None
    count: str | int | None = None
    think: str | None = None
    interval: str | None = None
    per_second: str | float | None = None
    times: str | None = None
    request: str | Size
    response: str | Size | None = None
    service: str | None = None
    request_writes: str | int | None = None
    response_writes: str | int | None = None
    nodelay: str | bool | int | None = None
    dscp: str | int | None = None
    congestion_control: str | None = None
    fq: str | bool | int | None = None


class BothDirections(Pipe):
    """A pipe in each direction: shared fields, and fields of one direction."""

    forward: str | Pipe | None = None
    backward: str | Pipe | None = None


class Path(BothDirections):
    """Fields of one of several parallel paths."""

    rtt: str | None = None


class FatTreeTemplate(BothDirections):
    """Hosts h1… – edge routers edge1… – aggregation routers agg1… – core routers core1…. A fat tree of routers with `k` ports (M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008): `k` pods with k/2 edge and k/2 aggregation routers each, (k/2)² core routers, k³/4 hosts. Fields of a pipe describe every link; forward is upwards."""

    k: str | int
    spray: str | Spray | None = None


class DumbbellTemplate(BothDirections):
    """Sources s1… – router r1 – link `bottleneck` – router r2 – destinations d1…. Fields of a pipe describe the bottleneck. The bottleneck has the smallest RTT of all pairs as its delay. The link of a destination adds the rest of its pair's RTT."""

    pairs: str | int | None = None
    rtt: str | Mapping[str, str] | Rtt | Sequence[str]
    access: str | BothDirections | None = None


class Link(BothDirections):
    """A link. Forward is from the first node of `between` to the second."""

    name: str | None = None
    between: str | Sequence[str] | None = None
    access: str | Access | None = None


class ParkingLotTemplate(BothDirections):
    """Routers r1 … r(hops+1) in a row; s0 → d0 passes all hops, s1 → d1 the first, and so on. Fields of a pipe describe every hop (links hop1, hop2 …). `rtt`: RTT of the path over all hops."""

    hops: str | int | None = None
    rtt: str
    access: str | BothDirections | None = None


class Fields(Section):
    """Fields of an experiment file."""

    dumbbell: int = 1
    name: str
    description: str | None = None
    template: str | Template | None = None
    hosts: str | Mapping[str, str | Host] | None = None
    routers: str | Mapping[str, str | Router] | None = None
    switches: str | Mapping[str, str | Router] | None = None
    links: str | Sequence[str | Link] | None = None
    routes: str | Sequence[str | Route] | None = None
    workload: str | Workload | None = None
    flows: str | Sequence[str | Flow] | None = None
    arrivals: str | Sequence[str | Arrivals] | None = None
    pages: str | Sequence[str | Page] | None = None
    requests: str | Sequence[str | Requests] | None = None
    programs: str | Sequence[str | Program] | None = None
    plugins: str | Mapping[str, str | Plugin] | None = None
    taps: str | Sequence[str | Tap] | None = None
    sampling: str | Sampling | None = None
    neighbour_discovery: str | bool | NeighbourDiscovery | None = None
    duration: str
    factors: (
        Mapping[
            str,
            Mapping[str, Mapping[str, str | Sequence[Any]] | Sequence[Any]]
            | Sequence[Mapping[str, Any]]
            | Sequence[Mapping[str, Mapping[str, str | Sequence[Any]] | Sequence[Any]]],
        ]
        | Mapping[str, Mapping[str, str | Sequence[Any]] | Sequence[Any]]
        | None
    ) = None
    expect: str | Sequence[str | Expect] | None = None
    search: Search | None = None
    repeats: int | Repeats | None = None
    seed: int | None = None


class LeafSpineTemplate(BothDirections):
    """Hosts h1… – leaf routers leaf1… – spine routers spine1…; every leaf is linked to every spine. Fields of a pipe describe every link, those of `uplinks` the links between leaves and spines. Forward is upwards."""

    leaves: str | int
    spines: str | int
    hosts_per_leaf: str | int
    uplinks: str | BothDirections | None = None
    spray: str | Spray | None = None


class ParallelPathsTemplate(BothDirections):
    """Sources s1… – router r1 – switches p1 ∥ p2 … – router r2 – destinations d1…. Fields of a pipe describe every path. `forward` applies where a switch sends to r2, `backward` where it sends to r1."""

    sources: str | int | None = None
    destinations: str | int | None = None
    paths: str | int | Paths | Sequence[Any] | None = None
    rtt: str
    access: str | BothDirections | None = None
    spray: str | Spray | None = None
    use: str | Sequence[int] | None = None


class TcpOptions(Section):
    """TCP options by their Linux sysctl names (without `net.ipv4.`), over a profile. Sysctls with a unit that Linux fixes (`tcp_rmem`, `tcp_limit_output_bytes`, `…_ns`) take a bare number in that unit, or a quantity."""

    profile: str | None = None
    hz: str | int | None = None
    mtu: str | None = None
    gso: str | bool | int | None = None
    initcwnd: str | int | None = None
    initrwnd: str | int | None = None
    ssthresh: str | int | None = None
    rto_min: str | None = None
    rto_initial: str | None = None
    delayed_ack: str | None = None
    tcp_sack: str | bool | int | None = None
    tcp_dsack: str | bool | int | None = None
    tcp_timestamps: str | bool | int | None = None
    tcp_window_scaling: str | bool | int | None = None
    tcp_ecn: str | int | None = None
    tcp_ecn_option: str | int | None = None
    tcp_ecn_option_beacon: str | int | None = None
    tcp_reordering: str | int | None = None
    tcp_max_reordering: str | int | None = None
    tcp_recovery: str | int | None = None
    tcp_fack: str | bool | int | None = None
    forward_retransmit: str | bool | int | None = None
    rate_halving: str | bool | int | None = None
    tcp_abc: str | int | None = None
    tcp_early_retrans: str | int | None = None
    tcp_frto: str | int | None = None
    tcp_comp_sack_nr: str | int | None = None
    tcp_comp_sack_delay_ns: str | int | None = None
    tcp_comp_sack_rtt_percent: str | int | None = None
    tcp_comp_sack_slack_ns: str | int | None = None
    tcp_rmem: str | Sequence[Any] | None = None
    tcp_wmem: str | Sequence[Any] | None = None
    tcp_moderate_rcvbuf: str | bool | int | None = None
    tcp_adv_win_scale: str | int | None = None
    scaling_ratio: str | bool | int | None = None
    skb_small_head: str | bool | int | None = None
    grow_skb: str | bool | int | None = None
    fin_beyond_cwnd: str | bool | int | None = None
    delack_from_rto_min: str | bool | int | None = None
    rcvbuf_grow: str | bool | int | None = None
    mptcp_sync_sndbuf: str | bool | int | None = None
    mptcp_set_rcvlowat: str | bool | int | None = None
    mptcp_last_snd: str | bool | int | None = None
    rack_always: str | bool | int | None = None
    rx_segment: str | None = None
    tcp_limit_output_bytes: str | int | None = None
    queue_at_interface: str | bool | int | None = None
    tcp_slow_start_after_idle: str | bool | int | None = None
    tcp_pacing_ss_ratio: str | int | None = None
    tcp_pacing_ca_ratio: str | int | None = None
    tcp_min_rtt_wlen: str | int | None = None
    tcp_min_tso_segs: str | int | None = None
    tcp_retries2: str | int | None = None
    tcp_syn_retries: str | int | None = None
    tcp_syn_linear_timeouts: str | int | None = None
    mptcp_enabled: str | bool | int | None = None
    cubic_hystart: str | bool | int | None = None
    cubic_fast_convergence: str | bool | int | None = None
    cubic_tcp_friendliness: str | bool | int | None = None
    hystart_plus_plus: str | bool | int | None = None
    search: str | None = None
    search_rollback: str | bool | int | None = None
    saved_cwnd: str | int | None = None
    saved_rtt: str | None = None
    rate_limited_increase: str | bool | int | None = None


class Host(TcpOptions):
    """A host: TCP options and processing jitter."""

    processing_jitter: str | None = None
