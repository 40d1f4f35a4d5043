"""Speed of the explorer: first view of 10 000 runs, zoom over 5 million points, 20 runs compared.

`python benchmarks/explorer.py` makes the stores in a temporary folder, asks a real server, and
prints a row for each quantity. With Chromium it also times the first view in the browser. It takes
about a minute.
"""

from __future__ import annotations

import http.client
import io
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import polars as pl

import dumbbell
from dumbbell.explore.serving import in_background
from dumbbell.runs import ExperimentInfo, Run, RunResult
from dumbbell.store import Store
from dumbbell.store.records import Planned

POINTS = 5_000_000
REPEATS = 9

MANY = """\
dumbbell: 1
name: many
template: {dumbbell: {pairs: 2, rate: $rate, rtt: $rtt, buffer: 20 packets}}
flows:
  - {from: s1, to: d1, tcp: $cc, start_jitter: 1 RTT}
  - {from: s2, to: d2, tcp: bbr, start_jitter: 1 RTT}
duration: 200 ms
sampling: none
factors:
  cc: [reno, cubic, bbr, vegas, bic]
  rtt: [5 ms, 10 ms, 20 ms, 40 ms]
  rate: [1 Mbit/s, 2 Mbit/s, 3 Mbit/s, 4 Mbit/s, 5 Mbit/s]
repeats: 100
"""
TWENTY = """\
dumbbell: 1
name: twenty
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: $rtt, buffer: 40 packets}}
flows:
  - {from: s1, to: d1, tcp: $cc, start_jitter: 1 RTT}
  - {from: s2, to: d2, tcp: bbr, start_jitter: 1 RTT}
duration: 60 s
sampling: {interval: 10 ms, keep: [samples, queues]}
factors:
  cc: [reno, cubic, bbr, vegas]
  rtt: [5 ms, 10 ms, 20 ms, 40 ms, 80 ms]
"""
EDITED = """\
dumbbell: 1
name: edited
template: {dumbbell: {pairs: 1, rate: 20 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {from: s1, to: d1, tcp: cubic}
duration: 10 s
"""


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    address: str
    port: int
    token: str

    def ask(self, path: str, **asked: str) -> bytes:
        """Body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        target = f"/api/{path}?{urlencode(asked)}"
        connection.request("GET", target, headers={"X-Dumbbell-Token": self.token})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{target}: {answer.status} {body[:200]!r}")
        return body


@contextmanager
def served(store: Path) -> Iterator[Served]:
    """The explorer of a store."""
    with in_background(store) as found:
        yield Served(found.url, found.port, found.token)


def took(what: Callable[[], object]) -> float:
    """Real time of a call, s."""
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def long_store(folder: Path) -> tuple[Path, str]:
    """A store of one run with 5 million samples of a flow, made up."""
    times = np.arange(POINTS, dtype=np.int64) * 100_000
    generator = np.random.default_rng(1)
    window = (50 + 30 * np.sin(times / 3e9) + generator.normal(0, 3, POINTS)).astype(np.int64)
    samples = pl.DataFrame(
        {
            "time_ns": times,
            "flow": pl.Series(["a"]).new_from_index(0, POINTS),
            "cwnd_packets": window,
            "delivered_bytes": np.cumsum(window) * 2,
            "srtt_ns": window * 400_000,
        }
    )
    stream = io.BytesIO()
    samples.write_ipc_stream(stream)
    file = folder / "one.yaml"
    file.write_text(EDITED, encoding="utf-8")
    made = dumbbell.run(file)
    row = made.runs.row(0, named=True)
    small = {}
    for name in ("flows", "pipes", "transfers", "connections"):
        data = io.BytesIO()
        getattr(made, name).drop("run", "repeat", "seed").write_ipc_stream(data)
        small[name] = data.getvalue()
    key = "f" * 32
    run = Run(key, row["scenario"], 1, int(times[-1]))
    result = RunResult({**small, "samples": stream.getvalue()}, "0" * 64, 1.0, 1, 1)
    info = ExperimentInfo("long", EDITED, {}, 1, 1)
    with Store(folder / "long", write=True) as store:
        store.record(info, "sim", {}, [Planned(key, {}, 0, 1)])
        store.add(run, "sim", str(row["engine_version"]), result)
    return folder / "long", key


def rows_of_many(folder: Path) -> Iterator[tuple[str, float]]:
    """First view and lists of 10 000 runs."""
    file = folder / "many.yaml"
    file.write_text(MANY, encoding="utf-8")
    dumbbell.run(file, store=folder / "many")
    firsts, opens = [], []
    for _ in range(3):
        begun = time.perf_counter()
        with served(folder / "many") as server:
            opens.append(time.perf_counter() - begun)
            firsts.append(took(lambda: (server.ask("state"), server.ask("list"))))
    yield "10 000 runs: server ready", min(opens)
    yield "10 000 runs: first list", min(firsts)
    with served(folder / "many") as server:
        server.ask("list")
        ask = server.ask
        yield (
            "10 000 runs: sorted, filtered",
            statistics.median(
                took(lambda: ask("list", sort="goodput_mbps", filter="cc = cubic or rtt > 10 ms"))
                for _ in range(REPEATS)
            ),
        )
        yield (
            "10 000 runs: cells",
            statistics.median(took(lambda: ask("list", by="cells")) for _ in range(REPEATS)),
        )
    yield from browser_rows(folder / "many")


def browser_rows(store: Path) -> Iterator[tuple[str, float]]:
    """First view in the browser, from the address to the rows; nothing without Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(3):
            with served(store) as server:
                page = browser.new_page()
                page.goto("about:blank")
                begun = time.perf_counter()
                page.goto(server.address, wait_until="commit")
                page.wait_for_selector("tbody tr")
                found.append(time.perf_counter() - begun)
                page.close()
        browser.close()
    yield "10 000 runs: first view in the browser", min(found)


def rows_of_long(folder: Path) -> Iterator[tuple[str, float]]:
    """Pan and zoom over 5 million points."""
    store, run = long_store(folder)
    with served(store) as server:
        asked = {"runs": run, "quantity": "cwnd", "pixels": "1200"}
        yield "5 million points: read and first shown", took(lambda: server.ask("series", **asked))
        places = random.Random(1)
        last = POINTS * 1e-4
        found = []
        for _ in range(4 * REPEATS):
            start = places.uniform(0, last * 0.9)
            length = last * 10 ** places.uniform(-4, -0.05)
            window = {"from": f"{start:.6f}", "to": f"{min(last, start + length):.6f}"}
            found.append(took(lambda w=window: server.ask("series", **asked, **w)))
        yield "5 million points: pan or zoom, median", statistics.median(found)
        yield "5 million points: pan or zoom, slowest", max(found)
        whole = [took(lambda: server.ask("series", **asked)) for _ in range(REPEATS)]
        yield "5 million points: all of them, slowest", max(whole)


def rows_of_twenty(folder: Path) -> Iterator[tuple[str, float]]:
    """Comparison of 20 runs: four charts."""
    file = folder / "twenty.yaml"
    file.write_text(TWENTY, encoding="utf-8")
    results = dumbbell.run(file, store=folder / "twenty")
    runs = ",".join(results.runs["run"])
    with served(folder / "twenty") as server:

        def compared() -> None:
            for quantity in ("cwnd", "goodput", "rtt", "queue"):
                server.ask("series", runs=runs, quantity=quantity, pixels="1200")

        yield "20 runs compared, four charts", took(compared)
        yield "20 runs compared, again", statistics.median(took(compared) for _ in range(REPEATS))


def row_of_edited() -> Iterator[tuple[str, float]]:
    """A run of 10 s at 20 Mbit/s, checked, run and ready to be drawn."""
    from dumbbell.explore.editing import Editing

    editing = Editing()
    editing.answer(EDITED, run=True)
    times = []
    for number in range(REPEATS):
        text = EDITED.replace("20 ms", f"{20 + number} ms")
        times.append(took(lambda t=text: editing.answer(t, run=True)))
    yield "edited run of 10 s at 20 Mbit/s", statistics.median(times)


def main() -> None:
    """Prints the rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in (rows_of_long, rows_of_twenty, rows_of_many):
            for what, seconds in rows(folder):
                print(f"{what:<46} {1e3 * seconds:8.1f} ms", flush=True)
        for what, seconds in row_of_edited():
            print(f"{what:<46} {1e3 * seconds:8.1f} ms", flush=True)


if __name__ == "__main__":
    main()
