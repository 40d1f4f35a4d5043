"""Instructions per data packet of a QUIC flow beside a TCP flow's: `benchmarks/stacks.py`.

cachegrind counts a run of 10 s and one of 20 s over 20 Mbit/s and 40 ms. The difference of the two
is divided by the difference of their data packets. The counts have the network, both ends and the
acknowledgements in them, and do not depend on what else the machine does.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "target" / "release" / "examples" / "line"
TITLES = {"cubic": "CUBIC", "new_reno": "NewReno", "bbr": "BBR"}


def quic(control: str, **settings: str) -> dict[str, object]:
    """A flow of the stack that is given to the program."""
    return {"quic": {"stack": "own", "congestion_control": control, **settings}}


#: Sender → stack and flow.
FLOWS = {
    "TCP, CUBIC": ("quinn", {"tcp": "cubic"}),
    **{f"quinn, {title}": ("quinn", quic(name)) for name, title in TITLES.items()},
    "quinn, CUBIC, TLS": ("quinn", quic("cubic", encryption="tls")),
    **{f"s2n, {TITLES[name]}": ("s2n", quic(name)) for name in ("cubic", "bbr")},
}
SECONDS = (10, 20)


def counted(seconds: int, stack: str, flow: object) -> tuple[int, float]:
    """Instructions and data packets of a run."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command += [str(PROGRAM), str(seconds), json.dumps(flow), stack]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"I +refs: +([0-9,]+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", "")), float(done.stdout)


def main() -> None:
    """Builds, counts, prints."""
    if shutil.which("valgrind") is None:
        print("left out: apt-get install valgrind")
        return
    cargo = ["cargo", "build", "--quiet", "--release", "-p", "dumbbell-lab", "--example", "line"]
    subprocess.run(cargo, check=True, cwd=ROOT)
    base = None
    for name, (stack, flow) in FLOWS.items():
        (less, few), (more, many) = (counted(seconds, stack, flow) for seconds in SECONDS)
        each = (more - less) / (many - few)
        base = base or each
        print(f"{name:18} {each:8.0f} instructions per data packet, {each / base:.1f} × TCP")


if __name__ == "__main__":
    main()
