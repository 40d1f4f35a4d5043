"""First experiments on the templates of networks."""

from __future__ import annotations

from dumbbell.starter.answers import Answers, joined, time_text
from dumbbell.starter.layout import FIELDS, SENDERS, Contents, Row, of_each, pair_count, pairs

_RATE = "rate of the bottleneck, in each direction"
_RTT = "round-trip time without queues"
_BUFFER = "longest queue: rate × RTT; or 100 packets, 64 KiB, 50 ms"


def dumbbell(answers: Answers) -> Contents:
    """Flows with different congestion controls share one bottleneck."""
    count = pair_count(answers)
    names = joined(answers.controls)
    return Contents(
        about=f"{count} TCP flows share a bottleneck: {names}.",
        name=f"{names} share a bottleneck",
        network=[
            ("", "Sources s1, s2, ... - router r1 - bottleneck - router r2 - destinations d1, ..."),
            ("template:", ""),
            ("  dumbbell:", ""),
            (f"    pairs: {count}", "number of sources, and of destinations"),
            (f"    rate: {answers.rate}", _RATE),
            (f"    rtt: {answers.rtt}", _RTT),
            ("    buffer: 1 BDP", _BUFFER),
        ],
        traffic=[
            SENDERS,
            *FIELDS,
            ("flows:", ""),
            *pairs(answers),
        ],
        vary=("buffer", "[0.25 BDP, 1 BDP, 4 BDP]"),
    )


def parallel_paths(answers: Answers) -> Contents:
    """The packets of each flow take two paths in turn."""
    count = pair_count(answers)
    names = joined(answers.controls)
    return Contents(
        about=f"Routers spray the packets of {names} over two paths, so that some are reordered.",
        name=f"{names} over two paths",
        network=[
            (
                "",
                "Sources s1, ... - router r1 - switches p1, p2 - router r2 - destinations d1, ...",
            ),
            ("template:", ""),
            ("  parallel-paths:", ""),
            (f"    sources: {count}", "number of sources, and of destinations"),
            ("    paths: 2", "number of paths"),
            (f"    rate: {answers.rate}", "rate of each path"),
            (f"    rtt: {answers.rtt}", _RTT),
            ("    buffer: 1 BDP", _BUFFER),
            ("    spray: round_robin", "packets in turn; or random, per_flow"),
        ],
        traffic=[
            SENDERS,
            *FIELDS,
            ("flows:", ""),
            *pairs(answers),
        ],
        vary=("spray", "[round_robin, random, per_flow]"),
    )


def parking_lot(answers: Answers) -> Contents:
    """Long flows cross three bottlenecks, each shared with short flows."""
    names = joined(answers.controls)
    return Contents(
        about=f"Flows over three bottlenecks, and flows over one of them: {names}.",
        name="parking lot",
        network=[
            ("", "Routers r1 to r4 in a row. s0 to d0 passes all hops, s1 to d1 the first, ..."),
            ("template:", ""),
            ("  parking-lot:", ""),
            ("    hops: 3", "number of bottlenecks"),
            (f"    rate: {answers.rate}", "rate of each bottleneck, in each direction"),
            (f"    rtt: {answers.rtt}", "round-trip time over all hops, without queues"),
            ("    buffer: 1 BDP", _BUFFER),
        ],
        traffic=[
            ("", 'With count, {i} stands for 1, 2 and 3: "s{i}" for s1, s2 and s3.'),
            *FIELDS,
            ("flows:", ""),
            *of_each("long", ("s0", "d0"), answers),
            *of_each("short{i}", ("s{i}", "d{i}"), answers, 3),
        ],
        vary=("buffer", "[0.25 BDP, 1 BDP, 4 BDP]"),
    )


def fat_tree(answers: Answers) -> Contents:
    """Every host of a fat tree sends to a host of another pod."""
    return Contents(
        about=f"Each of 16 hosts of a fat tree sends to another pod: {joined(answers.controls)}.",
        name="permutation in a fat tree",
        network=[
            ("", "Hosts h1 to h16 - edge routers - aggregation routers - core routers."),
            ("template:", ""),
            ("  fat-tree:", ""),
            ("    k: 4", "ports of a router; there are k³/4 hosts"),
            *_fabric(answers, 6),
        ],
        traffic=[
            (
                "",
                "With count, {i} stands for 1, 2, ... and {i+8} for the number 8 further on, in a",
            ),
            ("", "circle: h1 sends to h9, h16 to h8."),
            *FIELDS,
            ("flows:", ""),
            *of_each("flow{i}", ("h{i}", "h{i+8}"), answers, 16),
        ],
        vary=("spray", "[per_flow, random, round_robin]"),
    )


def leaf_spine(answers: Answers) -> Contents:
    """Every host sends to a host at another leaf."""
    return Contents(
        about=f"Each of 16 hosts sends to a host at another leaf: {joined(answers.controls)}.",
        name="permutation over leaves and spines",
        network=[
            (
                "",
                "Hosts h1 to h16 - leaf routers - spine routers; a link from each leaf to each.",
            ),
            ("template:", ""),
            ("  leaf-spine:", ""),
            ("    leaves: 4", "number of leaf routers"),
            ("    spines: 2", "number of spine routers"),
            ("    hosts_per_leaf: 4", "h1 to h4 are those of the first leaf"),
            *_fabric(answers, 4),
        ],
        traffic=[
            (
                "",
                "With count, {i} stands for 1, 2, ... and {i+4} for the number 4 further on, in a",
            ),
            ("", "circle: h1 sends to h5, h16 to h4."),
            *FIELDS,
            ("flows:", ""),
            *of_each("flow{i}", ("h{i}", "h{i+4}"), answers, 16),
        ],
        vary=("spray", "[per_flow, random, round_robin]"),
    )


def _fabric(answers: Answers, links: int) -> list[Row]:
    """Lines of the links of a data centre, with `links` of them between two hosts."""
    delay_ns = max(1, round(answers.rtt_ns / (2 * links)))
    return [
        (f"    rate: {answers.rate}", "rate of every link, in each direction"),
        (f"    delay: {time_text(delay_ns)}", f"of every link; RTT: {2 * links} times this"),
        ("    buffer: 100 packets", "longest queue of every link"),
        ("    spray: per_flow", "a path per flow, by a hash; or random, round_robin: per packet"),
    ]
