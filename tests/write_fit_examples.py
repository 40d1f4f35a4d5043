"""Writes docs/fit-examples.md: three captures, their fits, and pictures of capture and twin.

python -m tests.write_fit_examples
"""

from __future__ import annotations

import io
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from dumbbell import _core
from dumbbell.experiment.load import load_text
from dumbbell.fit.display import shown
from dumbbell.fit.fitting import fit
from dumbbell.fit.page import figure
from tests.helpers import ROOT
from tests.write_fit_page import write

PAGE = ROOT / "docs/fit-examples.md"
#: Example → experiment of the capture, and changes to try.
EXAMPLES = {
    "upload": (
        """\
dumbbell: 1
name: upload
hosts: {home: {}, server: {}}
routers: {modem: {}}
links:
  - {name: lan, between: [home, modem], rate: 1 Gbit/s, buffer: 1000 packets, delay: 1 ms}
  - name: line
    between: [modem, server]
    delay: 12 ms
    forward: {shaper: {tbf: {rate: 5 Mbit/s, burst: 100 KiB, initial: full}}, buffer: 250 packets}
    backward: {rate: 50 Mbit/s, buffer: 250 packets}
flows:
  - {from: home, to: server, tcp: {congestion_control: cubic, bytes: 15 MB}}
taps:
  - {at: home, link: lan}
sampling: {capture: true}
duration: 30 s
""",
        ("cc=bbr,vegas", "queue=fq_codel,cake", "buffer=20 packets"),
    ),
    "download": (
        """\
dumbbell: 1
name: download
hosts: {server: {}, home: {}}
routers: {isp: {}}
links:
  - {name: core, between: [server, isp], rate: 1 Gbit/s, buffer: 1000 packets, delay: 8 ms}
  - name: line
    between: [isp, home]
    delay: 7 ms
    forward:
      rate: 100 Mbit/s
      buffer: 500 packets
      policer: {rate: 20 Mbit/s, burst: 60 KiB}
    backward: {rate: 10 Mbit/s, buffer: 100 packets}
flows:
  - {from: server, to: home, tcp: {congestion_control: bbr, bytes: 30 MB}}
taps:
  - {at: home, link: line}
sampling: {capture: true}
duration: 30 s
""",
        ("cc=bbr3,cubic", "queue=fq_codel"),
    ),
    "wifi": (
        """\
dumbbell: 1
name: wifi
hosts: {server: {}, laptop: {}}
routers: {access: {}}
links:
  - {name: core, between: [server, access], rate: 1 Gbit/s, buffer: 1000 packets, delay: 6 ms}
  - {name: radio, between: [laptop, access], access: {type: wifi, down: 60 Mbit/s, up: 60 Mbit/s}}
flows:
  - {from: server, to: laptop, tcp: cubic}
taps:
  - {at: laptop, link: radio}
sampling: {capture: true}
duration: 15 s
""",
        ("cc=bbr,copa", "buffer=60 packets"),
    ),
}


def main() -> None:
    """Makes the captures, fits them, and writes page and pictures."""
    with TemporaryDirectory() as folder:
        for name, (text, wanted) in EXAMPLES.items():
            scenario = load_text(text, Path(f"{name}.yaml")).cells[0].scenario
            file = Path(folder) / f"{name}.pcapng"
            file.write_bytes(_core.run(scenario, 1).capture or b"")
            found = fit(file, what_if=wanted)
            (ROOT / f"docs/images/fit-{name}.svg").write_text(figure(found).svg(), encoding="utf-8")
            out = io.StringIO()
            Console(file=out, width=110, color_system=None).print(shown(found))
            options = " ".join(f'--what-if "{one}"' for one in wanted)
            said = out.getvalue().replace(f"{folder}/", "")
            command = f"$ dumbbell fit {name}.pcapng {options}"
            plain = "\n".join(line.rstrip() for line in said.splitlines())
            lines = ["```yaml", *text.splitlines(), "```", "", "```text", command, plain, "```"]
            write(PAGE, name, lines)


if __name__ == "__main__":
    main()
