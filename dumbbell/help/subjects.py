"""Words of the field that are no names of files: where Dumbbell has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of networking.

    Attributes:
        name: Its usual name.
        words: Other words for it.
        about: How an experiment has it, in a sentence or two.
        fields: Fields of experiment files.
        metrics: Names of metrics.
        pages: Pages of the documentation.
        examples: Names of examples, as for `dumbbell init --example`.
    """

    name: str
    words: tuple[str, ...]
    about: str
    fields: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


SUBJECTS = (
    Subject(
        "bufferbloat",
        ("latency under load", "working latency", "responsiveness", "rpm"),
        "Delay that a full buffer adds. A ping beside bulk flows measures it, `rrul` does so as "
        "Flent does, and `queue` chooses what keeps the buffer short.",
        ("rrul", "ping", "buffer", "queue"),
        ("latency_p95_ms", "latency_idle_ms", "queue_delay_p95_ms", "rpm"),
        ("course/05-bufferbloat", "disciplines", "how-to/from-flent"),
        ("bufferbloat", "rrul", "cake"),
    ),
    Subject(
        "incast",
        ("fan-in", "partition-aggregate", "data centre", "data center", "datacenter"),
        "Many senders answer one receiver at once and overflow the buffer before it. Flows of a "
        "`group` are requests in turn, and the template `fat-tree` is a network of switches.",
        ("group", "count", "fat-tree", "leaf-spine", "rto_min"),
        ("group_completion_s", "group_timeouts", "groups_completion_s", "timeouts"),
        ("models/dctcp", "experiment-file/flows"),
        ("data-centre", "fat-tree"),
    ),
    Subject(
        "outage",
        ("link failure", "link down", "failure", "failover", "blackout", "disconnection"),
        "A link that carries no packets for a time: `changes` of the link with `state: down`, then "
        "`state: up`. It loses the packets inside. Multipath TCP moves to its other subflows.",
        ("changes", "state", "backup", "subflows"),
        ("outage_s", "stall_s", "resume_s", "recover_s", "timeouts", "blocked_ms"),
        ("experiment-file/impairments", "multipath"),
        ("handover", "multipath"),
    ),
    Subject(
        "handover",
        ("handoff", "roaming", "mobility", "satellite", "starlink"),
        "The path changes while flows run: `changes` sets delay, rate and loss at given times, "
        "`access` has models of Starlink and of cellular links with their handovers.",
        ("changes", "access", "rates"),
        ("latency_p99_ms", "blocked_ms"),
        ("access-links", "models/rate-traces", "multipath"),
        ("starlink", "cellular", "changing-rate"),
    ),
    Subject(
        "wifi",
        ("wi-fi", "wlan", "wireless", "802.11"),
        "Links with slots, aggregates and a rate that varies. `access` has models; `slots`, "
        "`jitter` and `rates` make one by hand.",
        ("access", "slots", "jitter", "ack_aggregation", "rates"),
        ("latency_p95_ms", "delay_variation_ms"),
        ("access-links", "models/access-links", "models/slots"),
        ("cellular",),
    ),
    Subject(
        "cellular",
        ("lte", "4g", "5g", "mobile", "mahimahi"),
        "A rate that varies within milliseconds, with deep buffers. `rates` reads traces of "
        "Mahimahi, `access` has models.",
        ("rates", "trace", "access"),
        ("goodput_mbps", "latency_p95_ms"),
        ("models/rate-traces", "access-links"),
        ("cellular",),
    ),
    Subject(
        "access link",
        ("cable", "docsis", "dsl", "fibre", "fiber", "pon", "home router", "last mile"),
        "Links of homes. `access` has models with their rates, waits and buffers; `framing` "
        "counts the overhead of DSL and DOCSIS.",
        ("access", "framing", "atm"),
        ("upload_mbps", "download_mbps", "latency_p95_ms"),
        ("access-links", "models/access-links"),
        ("asymmetric", "cake"),
    ),
    Subject(
        "multipath",
        ("mptcp", "multipath tcp", "several paths"),
        "Multipath TCP: a flow with `mptcp` and `subflows`, each with its path.",
        ("mptcp", "subflows", "scheduler", "path_manager", "backup"),
        ("goodput_mbps", "duplicate_share", "blocked_ms"),
        ("multipath", "models/multipath-tcp", "models/schedulers"),
        ("multipath",),
    ),
    Subject(
        "latency",
        ("delay", "rtt", "ping time", "lag"),
        "Time on the way. `delay` and `rtt` set it; pings, voice and the packets of TCP measure "
        "it.",
        ("delay", "rtt", "ping"),
        ("rtt_mean_ms", "ping_rtt_ms", "latency_p95_ms", "queue_delay_p95_ms"),
        ("metrics", "models/ping", "models/links"),
        ("bufferbloat",),
    ),
    Subject(
        "jitter",
        ("delay variation", "packet delay variation", "pdv"),
        "Variation of the delay. `jitter` of a link adds it, `processing_jitter` of a host too.",
        ("jitter", "processing_jitter", "start_jitter"),
        ("delay_variation_ms", "reordered_ratio"),
        ("models/jitter-and-reordering",),
    ),
    Subject(
        "pacing",
        ("paced", "departure time", "bursts of a sender"),
        "Spreading of packets over an RTT. BBR and `fq` pace; the ratios are TCP options.",
        ("fq", "tcp_pacing_ss_ratio", "tcp_pacing_ca_ratio", "gso"),
        ("sending_rate_mbps",),
        ("models/fq", "models/tcp-sender", "models/bbr"),
        ("two-flows",),
    ),
    Subject(
        "fairness",
        ("unfairness", "coexistence", "competition", "starvation"),
        "How flows share a link.",
        ("flows", "start"),
        ("jain", "share", "fair_share"),
        ("course/04-rtt-unfairness", "course/07-bbr-and-cubic", "metrics"),
        ("two-flows", "search-fairness"),
    ),
    Subject(
        "packet loss",
        ("loss rate", "random loss", "bursty loss", "drop rate"),
        "Losses of a link beside those of its queue: independent, in bursts (Gilbert and "
        "Elliott), or of chosen packets (`scripted`).",
        ("loss", "gilbert_elliott", "scripted", "corruption"),
        ("loss_ratio", "flow_loss_ratio", "retransmissions"),
        ("models/loss", "course/06-loss-and-throughput", "models/loss-recovery"),
        ("bursty-loss", "one-loss"),
    ),
    Subject(
        "reordering",
        ("out of order", "out-of-order", "packet spraying", "ecmp"),
        "Packets that overtake others.",
        ("reordering", "spray", "tcp_reordering"),
        ("reordered_ratio", "reordering_degree", "spurious_retransmissions"),
        ("models/jitter-and-reordering", "course/09-reordering"),
        ("spraying",),
    ),
    Subject(
        "slow start",
        ("initial window", "hystart", "startup", "short flows", "flow completion time", "fct"),
        "The begin of a connection, which short flows never leave.",
        ("initcwnd", "cubic_hystart", "hystart_plus_plus", "bytes", "arrivals"),
        ("fct_mean_ms", "fct_p99_ms", "slow_start_exit_bdp", "rise_s"),
        ("course/02-slow-start", "models/arrivals"),
        ("short-flows", "careful-resume"),
    ),
    Subject(
        "aqm",
        ("active queue management", "queue management", "qdisc", "sqm", "fair queueing"),
        "Queue disciplines that drop or mark before the buffer is full, or that serve flows in "
        "turn.",
        ("queue", "codel", "fq_codel", "cake", "pie", "red"),
        ("queue_delay_p95_ms", "loss_ratio", "utilisation"),
        ("disciplines", "tutorial/02-buffers-and-queues", "how-to/queue"),
        ("cake", "bufferbloat"),
    ),
    Subject(
        "l4s",
        ("low latency", "scalable congestion control", "accecn", "accurate ecn", "dual queue"),
        "Low latency with Accurate ECN, Prague and DualPI2.",
        ("dualpi2", "tcp_ecn", "ce_threshold"),
        ("queue_delay_p95_ms", "goodput_mbps"),
        ("l4s", "models/prague", "models/dualpi2", "models/ecn"),
        ("l4s",),
    ),
    Subject(
        "quality of experience",
        ("qoe", "voip", "voice call", "call", "video call", "mos", "web browsing", "streaming"),
        "What users notice: page loads, calls and video.",
        ("pages", "voice", "video"),
        ("page_load_s", "voice_mos", "ttfb_ms"),
        ("pages", "models/voice", "models/video", "models/web-pages"),
        ("web-page", "web-server"),
    ),
    Subject(
        "transport stacks",
        (
            "quinn",
            "s2n",
            "s2n-quic",
            "smoltcp",
            "http/3",
            "http3",
            "sans-io",
            "user-space transport",
            "own stack",
            "quic stack",
        ),
        "QUIC stacks and a user-space TCP beside Linux's; a stack of your own.",
        ("quic", "stack", "streams"),
        ("goodput_mbps", "joint_share", "retransmitted_share"),
        ("models/quic", "models/smoltcp", "how-to/own-stack"),
        ("quic-beside-tcp",),
    ),
    Subject(
        "shaping",
        ("token bucket", "policing", "rate limit", "throttling", "shaper"),
        "Limits of a rate by a provider: a `policer` drops, `tbf` delays.",
        ("tbf", "policer", "htb", "shaper"),
        ("goodput_mbps", "loss_ratio"),
        ("models/token-buckets", "models/htb"),
    ),
    Subject(
        "background traffic",
        ("cross traffic", "poisson", "load", "heavy tail", "many users"),
        "Flows that come and go: `arrivals` draws sizes and times, `on_off` sends in bursts.",
        ("arrivals", "load", "on_off", "count"),
        ("fct_mean_ms", "fct_slowdown", "utilisation"),
        ("models/arrivals", "workloads"),
        ("many-flows", "udp-bursts"),
    ),
    Subject(
        "requests",
        ("rpc", "request response", "nagle", "write-write-read", "closed loop", "open loop"),
        "Requests and responses over persistent connections: `requests`, also as messages that are "
        "not answered. `nodelay` switches Nagle's algorithm off.",
        ("requests", "nodelay", "request_writes", "notsent_lowat"),
        ("request_median_ms", "request_p99_ms", "request_unfinished"),
        ("models/tcp-applications", "experiment-file/requests"),
        ("requests", "web-page"),
    ),
    Subject(
        "scorecard",
        (
            "rfc 9743",
            "rfc9743",
            "rfc 7928",
            "rfc7928",
            "rfc 8867",
            "rfc8867",
            "bbr-draft",
            "harm",
            "evaluation",
        ),
        "What an RFC asks of a new congestion control or queue discipline, measured beside the one "
        "in use: `dumbbell study run rfc9743 --cc bbr`, `dumbbell study run rfc7928 --aqm codel`. "
        "`bbr-draft` has the cases of the draft of BBR, `rfc8867` those of interactive media.",
        ("congestion_control", "queue"),
        ("goodput_mbps", "queue_delay_p95_ms", "min_max_ratio"),
        ("scorecards/index", "gate"),
        ("two-flows",),
    ),
    Subject(
        "measurement",
        ("iperf3", "flent", "irtt", "ss", "qlog", "flowmonitor", "xplot", "latex", "csv"),
        "Results of other tools: `dumbbell import` puts their files beside runs, and `dumbbell "
        "store export --format` writes such files.",
        ("sampling", "keep"),
        ("goodput_mbps", "rtt_ms"),
        ("import",),
    ),
    Subject(
        "agreement",
        ("validation", "accuracy", "drawn", "random experiments"),
        "How closely the simulator agrees with a kernel over experiments that a seed draws: "
        "`dumbbell study run agreement --cells 90 --against linux:7.3`.",
        ("profile",),
        ("goodput_mbps", "rtt_mean_ms", "retransmissions_at_tap"),
        ("agreement-drawn", "agreement"),
        ("two-flows",),
    ),
)


def subject(word: str) -> Subject | None:
    """Subject with this name or word, in lower case; None: there is none."""
    for one in SUBJECTS:
        if word == one.name or word in one.words:
            return one
    return None


def subject_words() -> set[str]:
    """All words of subjects."""
    return {word for one in SUBJECTS for word in (one.name, *one.words)}
