"""Words of tables, drawings and messages that are no names of files."""

from __future__ import annotations

#: Word → its other forms, and a sentence or two.
WORDS: dict[str, tuple[tuple[str, ...], str]] = {
    "BDP": (
        ("bandwidth-delay product",),
        "Bandwidth-delay product: the rate of the bottleneck times the base RTT, what a path holds "
        "without a queue. `buffer: 1 BDP` is a queue limit of this size.",
    ),
    "bottleneck": (
        (),
        "A link that carried 90 % of what it could, or 90 % of what the fullest link did, or whose "
        "queue dropped a thousandth of its packets. `→` is its forward direction.",
    ),
    "cell": (
        ("cells",),
        "One combination of levels of the factors. It has as many runs as there are repeats.",
    ),
    "cwnd": (
        ("window", "congestion window"),
        "Congestion window: the number of packets that a sender may have in flight.",
    ),
    "factor": (
        ("level", "levels"),
        "What an experiment varies. `factors: {rtt: [10 ms, 40 ms]}` has the factor `rtt` with two "
        "levels, `$rtt` stands for its level elsewhere in the file.",
    ),
    "goodput": (
        ("mbit/s",),
        "Payload that reached the application of the receiver, per second: retransmissions and "
        "headers do not count. A link's Mbit/s counts frames. The metric: "
        "`dumbbell help goodput_mbps`.",
    ),
    "lost": (
        ("drops", "dropped"),
        "Of a link: share of the offered packets that its queue or an impairment dropped. Of UDP "
        "and ping: share that never arrived. TCP's losses are in the column *retransmitted*.",
    ),
    "p50": (
        ("p95", "percentile"),
        "Percentiles: half of the values are below p50, 95 % are below p95.",
    ),
    "pipe": (
        ("pipes",),
        "One direction of a link: `bottleneck/forward` and `bottleneck/backward`.",
    ),
    "plug-in": (
        ("plugin", "plugins", "plug-ins", "own congestion control"),
        "A congestion control of your own in Python, C or Rust: `dumbbell new congestion-control "
        "mine` writes one. `plugins: {mine: ./mine.py}` gives it a name. The page: `dumbbell help "
        "--page plugins`.",
    ),
    "probe": (
        ("probes", "idle rtt"),
        "Echo request of a ping. *Idle RTT* is the RTT of probes before the first TCP flow starts. "
        "`sampling: {keep: [probes]}` keeps the time of each.",
    ),
    "queue ms": (
        ("queueing delay", "ms p50"),
        "Queueing delay: time that packets wait in a queue, over the samples of a run. p50 is its "
        "median, p95 its 95th percentile. The metric: `dumbbell help queue_delay_p95_ms`.",
    ),
    "repeat": (
        ("run", "runs"),
        "A run of a cell with a seed of its own. `±` in tables is half of the 95 % interval over "
        "the repeats.",
    ),
    "retransmitted": (
        (),
        "Share of a flow's segments that were sent a second time, spurious ones included.",
    ),
    "RTT": (
        ("rtt ms", "ms", "round-trip time"),
        "Round-trip time. Tables of runs have the mean of the sender's smoothed RTT, milliseconds, "
        "and of ping the mean RTT of its requests. The metric: `dumbbell help srtt_mean_ms`.",
    ),
    "MOS": (
        (),
        "Mean opinion score, an estimate of the quality of speech: 4.4 is the best, and below 3.1 "
        "many users are dissatisfied. The metric: `dumbbell help voice_mos`.",
    ),
    "RTO": (
        ("time-out", "tlp"),
        "Retransmission time-out (RFC 6298). TLP is the tail loss probe before it (RFC 8985).",
    ),
    "store": (
        ("stores",),
        "Folder with the runs of experiments: `--store NAME`, by default `store`. Finished runs "
        "are not repeated. `dumbbell store ls` lists them.",
    ),
    "tap": (
        (),
        "Place where packets are captured, as tcpdump does: `dumbbell help taps`.",
    ),
    "warm-up": (
        ("warm up",),
        "Time until the goodput of a flow is steady, by MSER-5 over the samples. Near half of the "
        "run means that the run is too short. The metric: `dumbbell help warm_up_s`.",
    ),
}


def word(wanted: str) -> str | None:
    """Markdown about a word in lower case; None: it is none of these."""
    for name, (others, about) in WORDS.items():
        if wanted in (name.lower(), *others):
            return f"## {name}\n\n{about}"
    return None


def words() -> list[str]:
    """All words, without their other forms."""
    return list(WORDS)
