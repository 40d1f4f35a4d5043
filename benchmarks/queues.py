"""Cost of a packet per queue discipline: `make bench-queues`.

A thousand flows of datagrams fill 98 % of 1 Gbit/s for two seconds of simulated time; the same
packets pass in every run. Prints processor time per packet, best of five, and its ratio to
drop-tail. Target: CoDel and FQ-CoDel at most 1.5 times drop-tail.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from dumbbell import _core
from dumbbell.catalogue import disciplines
from dumbbell.experiment import load

#: Those without classes; a limit in bytes costs what one in packets does.
DISCIPLINES = tuple(
    one.name for one in disciplines().values() if one.parameters and one.name != "bfifo"
)
TIMES = 5
#: All runs have a token bucket, so that only the disciplines differ.
TEXT = """\
dumbbell: 1
name: queues
template:
  dumbbell:
    pairs: 1
    rtt: 10 ms
    forward:
      shaper: {tbf: {rate: 1 Gbit/s, burst: 1 MiB, initial: full}}
      queue: $queue
    backward: {rate: 1 Gbit/s, buffer: 1000 packets}
flows:
  - {name: "u{i}", from: s1, to: d1, count: 1000, start_jitter: 10 ms,
     udp: {rate: 0.94 Mbit/s, datagram: 1400 bytes}}
duration: 2 s
sampling: none
factors: {queue: QUEUES}
"""


def seconds_and_packets(scenario: str) -> tuple[float, int]:
    """Processor time of the fastest run, and packets that left the bottleneck."""
    best, packets = float("inf"), 0
    for _ in range(TIMES):
        begin = time.process_time()
        output = _core.run(scenario, 1)
        best = min(best, time.process_time() - begin)
        packets = output.packets
    return best, packets


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "queues.yaml"
        file.write_text(TEXT.replace("QUEUES", json.dumps(DISCIPLINES)), encoding="utf-8")
        base = None
        for cell in load(file).cells:
            seconds, packets = seconds_and_packets(cell.scenario)
            each_ns = seconds / packets * 1e9
            base = base or each_ns
            name = cell.levels["queue"]
            print(f"{name:16} {each_ns:7.0f} ns per packet  {each_ns / base:5.2f} × drop-tail")


if __name__ == "__main__":
    main()
