"""First experiments on usual situations: a slow line at home, a line of changing rate."""

from __future__ import annotations

from dumbbell.starter.answers import Answers, joined, rate_text, time_text
from dumbbell.starter.layout import FIELDS, SENDERS, Contents, Row, pair_count, pairs

#: Rate downstream over rate upstream of a line at home.
_ASYMMETRY = 5
_DISCIPLINES: list[Row] = [
    ("", "What is varied: each level of each factor is run, and stands for $name above."),
    ("factors:", ""),
    ("  queue:", "queue disciplines have the names and parameters of tc"),
    ("    - {label: drop-tail, value: {pfifo: {limit: 1000 packets}}}", ""),
    ("    - codel", ""),
    ("    - fq_codel", ""),
]


def bufferbloat(answers: Answers) -> Contents:
    """Downloads over a slow line with a large buffer, and the RTT of a ping beside them."""
    count = pair_count(answers)
    return Contents(
        about=f"Downloads ({joined(answers.controls)}) over a slow line, and the RTT beside them.",
        name="bufferbloat",
        network=[
            ("", "Sources s1, s2, ... - router r1 - the line - router r2 - destinations d1, ..."),
            ("template:", ""),
            ("  dumbbell:", ""),
            (f"    pairs: {count + 1}", "number of sources, and of destinations"),
            (f"    rate: {answers.rate}", "rate of the line, in each direction"),
            (f"    rtt: {answers.rtt}", "round-trip time without queues"),
            ("    queue: $queue", "queue discipline: a level of the factor below"),
        ],
        traffic=[
            ("", "Downloads send as much as they can. The ping measures the RTT beside them."),
            *FIELDS,
            ("flows:", ""),
            *pairs(answers),
            (f"  - {{name: ping, from: s{count + 1}, to: d{count + 1}, ping: 100 ms}}", ""),
        ],
        factors=_DISCIPLINES,
    )


def cellular(answers: Answers) -> Contents:
    """A line with a deep queue whose rate falls and rises."""
    part_ns = max(answers.duration_ns // 5, 1)
    slow, middle = (rate_text(max(answers.rate_bps // by, 1)) for by in (5, 2))
    changes = [
        (part_ns, f"rate: {slow}", "the rate falls"),
        (2 * part_ns, f"rate: {answers.rate}", "and comes back"),
        (3 * part_ns, f"rate: {middle}", ""),
        (4 * part_ns, "loss: 1 %", "some packets are lost"),
    ]
    return Contents(
        about=f"A mobile line whose rate changes, with a deep queue: {joined(answers.controls)}.",
        name="cellular",
        network=[
            ("", "Sources s1, s2, ... - router r1 - the line - router r2 - destinations d1, ..."),
            ("template:", ""),
            ("  dumbbell:", ""),
            (f"    pairs: {pair_count(answers)}", "number of sources, and of destinations"),
            (f"    rate: {answers.rate}", "rate of the line at the start"),
            (f"    rtt: {answers.rtt}", "round-trip time without queues"),
            ("    buffer: 500 packets", "longest queue; or 1 BDP, 64 KiB, 50 ms"),
            ("    forward:", "the direction from sources to destinations"),
            ("      changes:", "what changes, from which time on"),
            *(
                (f"        - {{at: {time_text(at)}, {change}}}", comment)
                for at, change, comment in changes
            ),
        ],
        traffic=[
            SENDERS,
            *FIELDS,
            ("flows:", ""),
            *pairs(answers),
        ],
        vary=("buffer", "[50 packets, 500 packets]"),
    )


def rrul(answers: Answers) -> Contents:
    """RRUL over a line at home: four flows each way, probes of the RTT, and speech."""
    there_ns = answers.rtt_ns // 2
    idle_ns = answers.duration_ns // 10
    length = time_text(answers.duration_ns - 2 * idle_ns)
    controls = answers.controls
    factor: list[Row] = [(f"  cc: [{', '.join(controls)}]", "congestion control of all flows")]
    return Contents(
        about="RRUL (realtime response under load) over a line at home: how late are packets?",
        name="rrul",
        network=[
            ("", "A home behind a modem, and a server."),
            ("hosts: {home: {}, server: {}}", ""),
            ("routers: {modem: {}}", ""),
            ("links:", ""),
            ("  - name: line", ""),
            ("    between: [home, modem]", "forward is from home to modem: upstream"),
            (
                f"    forward: {{rate: {rate_text(max(answers.rate_bps // _ASYMMETRY, 1))},"
                " queue: $queue}",
                "",
            ),
            (f"    backward: {{rate: {answers.rate}, queue: $queue}}", ""),
            (
                f"  - {{between: [modem, server], forward: {{delay: {time_text(there_ns)}}},"
                f" backward: {{delay: {time_text(answers.rtt_ns - there_ns)}}}}}",
                "",
            ),
        ],
        traffic=[
            ("", "Four TCP flows each way, RTT probes by ICMP and UDP, speech both ways."),
            ("workload:", ""),
            ("  rrul_be:", "all packets in one class"),
            ("    client: home", ""),
            ("    server: server", ""),
            (f"    congestion_control: {'$cc' if len(controls) > 1 else controls[0]}", ""),
            ("    voice: true", "calls, judged by their mean opinion score (MOS)"),
            (f"    before: {time_text(idle_ns)}", "only probes: the idle RTT"),
            (f"    length: {length}", "load; then idle again"),
        ],
        factors=[*_DISCIPLINES, *(factor if len(controls) > 1 else [])],
    )
