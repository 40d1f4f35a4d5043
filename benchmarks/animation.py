"""Time to open an animation page in headless Chromium, and its frame rate.

Run from the project's root: `.venv/bin/python benchmarks/animation.py [PAGE]`. Without a page, it
first makes one of 200 000 packets, and also prints the times to make it and that of study 3.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

ROOT = Path(__file__).resolve().parent.parent
DUMBBELL = Path(sys.executable).with_name("dumbbell")
PACKETS = """\
dumbbell: 1
name: big
template: {dumbbell: {pairs: 3, rate: 80 Mbit/s, rtt: 40 ms, buffer: 200 packets}}
flows:
  - {name: a, from: s1, to: d1, tcp: cubic}
  - {name: b, from: s2, to: d2, start: 1 s, tcp: reno}
  - {name: c, from: s3, to: d3, start: 2 s, tcp: bbr}
duration: 21 s
"""
MEASURE = """
<script type="module">
const root = document.documentElement;
while (!root.dataset.ready) await new Promise((done) => setTimeout(done, 2));
const ready_ms = performance.now();
const told = [];
for (const speed of [0.01, 0.1, 1]) {
  animation.state.speed = speed;
  animation.at(10);
  animation.go(1);
  const began = performance.now();
  await new Promise((done) => setTimeout(done, 3000));
  told.push([speed, animation.shown.frames / ((performance.now() - began) / 1000)]);
  animation.go(0);
}
const found = { ready_ms, packets: animation.packets, hops: animation.hops, frames_per_s: told };
const text = encodeURIComponent(JSON.stringify(found));
fetch("http://127.0.0.1:PORT/?found=" + text, { mode: "no-cors" });
</script>
"""


def measured(page: Path) -> dict[str, Any]:
    """Measurements of the page by its own program."""
    found: list[dict[str, Any]] = []

    class Taker(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(json.loads(parse_qs(urlparse(self.path).query)["found"][0]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    with HTTPServer(("127.0.0.1", 0), Taker) as server, tempfile.TemporaryDirectory() as folder:
        server.timeout = 60
        looked_at = Path(folder) / "page.html"
        measure = MEASURE.replace("PORT", str(server.server_port))
        text = page.read_text(encoding="utf-8").replace("</body>", measure + "</body>")
        looked_at.write_text(text, encoding="utf-8")
        browser = subprocess.Popen(
            [
                shutil.which("chromium") or "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",  # or it ends when the page has loaded
                f"--user-data-dir={folder}/profile",
                "--window-size=1400,1000",
                looked_at.as_uri(),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            server.handle_request()
        finally:
            browser.terminate()
            browser.wait(timeout=10)
    if not found:
        raise SystemExit("the page told nothing in 60 s")
    return found[0]


def made(arguments: list[str], page: Path) -> float:
    """Makes a page and returns the seconds it took."""
    began = time.perf_counter()
    subprocess.run(
        [str(DUMBBELL), "animate", *arguments, "-o", str(page)], check=True, capture_output=True
    )
    return time.perf_counter() - began


def main() -> None:
    """Measures and prints the results."""
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 1:
            page = Path(sys.argv[1])
        else:
            study = [str(ROOT / "studies/mptcp/wired.yaml"), "--set", "scheduling=redundant"]
            study += ["--set", "coupling=reno", "--set", "delay=25 ms"]
            page = Path(folder) / "study.html"
            took = made(study, page)
            print(f"study 3, 100 s: page of {page.stat().st_size / 1e6:.1f} MB in {took:.1f} s")
            print(f"  {measured(page)}")
            experiment, page = Path(folder) / "big.yaml", Path(folder) / "big.html"
            experiment.write_text(PACKETS, encoding="utf-8")
            took = made([str(experiment)], page)
            print(f"three flows: page of {page.stat().st_size / 1e6:.1f} MB in {took:.1f} s")
        print(f"  {measured(page)}")


if __name__ == "__main__":
    main()
