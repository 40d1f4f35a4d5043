"""Cost of a packet per congestion control: `make bench-controls`.

One flow over 100 Mbit/s and 20 ms for twenty seconds, through DualPI2 or a drop-tail queue of a
BDP. The controls take turns, so that a slower machine slows all of them. Prints processor time per
packet, best of nine, and ratios. Target: BBR v3 at most 1.2 times BBR, Prague at most 1.2 times
CUBIC.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from dumbbell import _core
from dumbbell.experiment import load

TIMES = 9
DROP_TAIL, DUALPI2 = "{pfifo: {limit: 166 packets}}", "dualpi2"
#: What is run: name, congestion control, `tcp_ecn` of the hosts, queue.
RUNS = (
    ("CUBIC", "cubic", 2, DROP_TAIL),
    ("BBR", "bbr", 2, DROP_TAIL),
    ("BBR v3", "bbr3", 2, DROP_TAIL),
    ("CUBIC, DualPI2", "cubic", 1, DUALPI2),
    ("BBR, DualPI2", "bbr", 1, DUALPI2),
    ("CUBIC, DualPI2, Accurate ECN", "cubic", 3, DUALPI2),
    ("Prague, DualPI2", "prague", 3, DUALPI2),
)
#: What is compared with what.
RATIOS = (
    ("BBR v3", "BBR"),
    ("Prague, DualPI2", "CUBIC, DualPI2"),
    ("Prague, DualPI2", "CUBIC, DualPI2, Accurate ECN"),
    ("Prague, DualPI2", "BBR, DualPI2"),
)
TEXT = """\
dumbbell: 1
name: controls
template:
  dumbbell:
    rate: 100 Mbit/s
    rtt: 20 ms
    forward: {queue: QUEUE}
    backward: {buffer: 1000 packets}
hosts: {defaults: {profile: linux-7.3, tcp_ecn: ECN}}
flows: [{from: s1, to: d1, tcp: CC}]
duration: 20 s
sampling: none
"""


def main() -> None:
    """Prints the table."""
    scenarios = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "controls.yaml"
        for name, cc, ecn, queue in RUNS:
            text = TEXT.replace("QUEUE", queue).replace("ECN", str(ecn)).replace("CC", cc)
            file.write_text(text, encoding="utf-8")
            (cell,) = load(file).cells
            scenarios[name] = cell.scenario
    each_ns = dict.fromkeys(scenarios, float("inf"))
    for _ in range(TIMES):
        for name, scenario in scenarios.items():
            begin = time.process_time()
            output = _core.run(scenario, 1)
            took_s = time.process_time() - begin
            each_ns[name] = min(each_ns[name], took_s / output.packets * 1e9)
    for name, cost in each_ns.items():
        print(f"{name:30} {cost:5.0f} ns per packet")
    for name, other in RATIOS:
        print(f"{name} / {other}: {each_ns[name] / each_ns[other]:.2f}")


if __name__ == "__main__":
    main()
