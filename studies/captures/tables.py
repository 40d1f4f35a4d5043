"""How well `dumbbell capture` labels segments: `dumbbell study tables captures`.

Tables of docs/captures-accuracy.md, and their worst rows for docs/captures.md: a minute, with
tshark. Each scenario is run on the simulator, which writes into the comments of its captures why
every segment was sent and what happened to it. The analyser reads the same packets and never the
comments; its labels are compared with them, at every tap, beside those of tshark.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import struct
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import capture_variants as variants
from capture_variants import Frame, blocks, option

import dumbbell
from dumbbell import _core
from dumbbell.studies.definition import StudyError
from dumbbell.studies.pages import Made, Runs

PAGE = "../../docs/captures-accuracy.md"
SUMMARY = "../../docs/captures.md"

DUMBBELL = """\
dumbbell: 1
name: truth
template:
  dumbbell:
    pairs: 2
    rate: 20 Mbit/s
    rtt: 40 ms
    buffer: 60 packets
    forward: {forward}
    backward: {backward}
hosts: {{defaults: {{{options}}}}}
flows:
{flows}
taps:
  - {{name: sender, at: s1, link: s1-r1}}
  - {{name: middle, at: r2, link: bottleneck}}
  - {{name: receiver, at: d1, link: r2-d1}}
sampling: {{capture: true}}
duration: 20 s
seed: {seed}
"""
SPRAYING = """\
dumbbell: 1
name: truth
template:
  parallel-paths:
    paths: [{{{forward}}}, {{rtt: {second}, {forward}}}]
    rtt: 20 ms
    shaper: {{tbf: {{rate: 10 Mbit/s, burst: 5 KiB}}}}
    netem: {{limit: 100 packets}}
    access: {{delay: 0.05 ms}}
    spray: {{policy: round_robin, what: both}}
hosts: {{defaults: {{processing_jitter: 20 us, {options}}}}}
flows:
{flows}
taps:
  - {{name: sender, at: s1, link: s1-r1}}
  - {{name: receiver, at: d1, link: r2-d1}}
sampling: {{capture: true}}
duration: 20 s
seed: {seed}
"""
BULK = "  - {from: s1, to: d1, tcp: CC}\n  - {from: s2, to: d2, tcp: CC}"
ONE = "  - {from: s1, to: d1, tcp: CC}"
SHORT = (
    '  - {name: "f{i}", from: s1, to: d1, count: 60, start: 10 ms, start_jitter: 400 RTT,'
    " tcp: {congestion_control: CC, bytes: 40 KB}}"
)


@dataclass(frozen=True)
class Scenario:
    """What is run, and how it is called."""

    name: str
    template: str = DUMBBELL
    flows: str = BULK
    forward: str = "{}"
    backward: str = "{}"
    options: str = "profile: linux-6.1"
    second: str = "20 ms"
    seed: int = 1
    cc: str = "cubic"

    def text(self) -> str:
        """The experiment."""
        return self.template.format(
            flows=self.flows.replace("CC", self.cc),
            forward=self.forward,
            backward=self.backward,
            options=self.options,
            second=self.second,
            seed=self.seed,
        )


LOSS = "{loss: 1 %}"
SPIKES = (
    "{changes: [{at: 4 s, delay: 600 ms}, {at: 4.2 s, delay: 20 ms}, {at: 9.1 s, delay: 600 ms},"
    " {at: 9.3 s, delay: 20 ms}, {at: 14 s, delay: 500 ms}]}"
)
BURSTS = "{loss: {gilbert_elliott: {good_to_bad: 0.25 %, bad_to_good: 25 %}}}"
HELD = "reordering: {probability: 2 %, extra_delay: 8 ms}"
WRAPPING_SEED = 35
SCENARIOS = [
    Scenario("overflow", forward="{buffer: 20 packets}"),
    Scenario("loss 1 %", forward=LOSS),
    Scenario("loss 1 %, BBR", forward=LOSS, cc="bbr"),
    Scenario("loss 1 %, no SACK", forward=LOSS, options="tcp_sack: false", cc="reno"),
    Scenario("loss 1 %, no timestamps", forward=LOSS, options="tcp_timestamps: false"),
    Scenario("loss in bursts", forward=BURSTS),
    Scenario("loss of ACKs 20 %", backward="{loss: 20 %}"),
    Scenario("loss 5 % both ways", forward="{loss: 5 %}", backward="{loss: 5 %}"),
    Scenario("spurious time-outs", forward=SPIKES),
    Scenario("duplication 2 %, loss 0.5 %", forward="{duplication: 2 %, loss: 0.5 %}"),
    Scenario("reordering 2 %", forward=f"{{{HELD}}}"),
    Scenario("reordering 2 %, loss 1 %", forward=f"{{{HELD}, loss: 1 %}}"),
    Scenario("spraying", SPRAYING, ONE, forward=""),
    Scenario("spraying, unequal paths", SPRAYING, ONE, forward="", second="60 ms"),
    Scenario("spraying, loss 1 %", SPRAYING, ONE, forward="loss: 1 %"),
    Scenario("spraying, unequal, loss 1 %", SPRAYING, ONE, forward="loss: 1 %", second="60 ms"),
    Scenario("short transfers, loss 3 %", flows=SHORT, forward="{loss: 3 %}"),
    # With this seed the first flow's sequence numbers wrap after 4.6 MB.
    Scenario("sequence numbers wrap, loss 1 %", forward=LOSS, seed=WRAPPING_SEED),
]

LONGER_SPIKES = (
    "{changes: [{at: 3 s, delay: 900 ms}, {at: 3.5 s, delay: 20 ms}, {at: 9 s, delay: 900 ms},"
    " {at: 9.5 s, delay: 20 ms}, {at: 15 s, delay: 400 ms}, {at: 15.2 s, delay: 20 ms}]}"
)
#: Makes of the capture at the sender what turns those at any tap into a variant.
Change = Callable[[list[Frame]], Callable[[list[Frame]], list[Frame]]]
SHORT_LOSS = Scenario("short transfers, loss 3 %", flows=SHORT, forward="{loss: 3 %}")
BULK_LOSS = Scenario("loss 1 %", forward=LOSS)
LOSSY = Scenario("reordering 2 %, loss 1 %", forward=f"{{{HELD}, loss: 1 %}}")


def _plain(change: Callable[[list[Frame]], list[Frame]]) -> Change:
    return lambda _: change


def _filtered(sent: list[Frame]) -> Callable[[list[Frame]], list[Frame]]:
    renumbered = variants.one_counter(sent)
    return lambda frames: variants.every_second_connection(renumbered(frames))


#: What is met in the field: a scenario, and how its captures are changed.
VARIANTS: dict[str, tuple[Scenario, Change]] = {
    "every frame twice, IPv4": (LOSSY, _plain(variants.doubled)),
    "every frame twice, IPv6": (
        LOSSY,
        _plain(lambda frames: variants.in_ipv6(variants.doubled(frames))),
    ),
    "idle, then FIN": (BULK_LOSS, _plain(variants.closing_late)),
    "one counter per host": (SHORT_LOSS, variants.one_counter),
    "one counter per host, filtered": (SHORT_LOSS, _filtered),
    "offload": (LOSSY, _plain(variants.joined)),
    "delay spikes": (Scenario("delay spikes", forward=LONGER_SPIKES), _plain(list)),
}


@dataclass
class Score:
    """Labels against the truth."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, true: bool, said: bool) -> None:
        """One segment."""
        self.right += true and said
        self.wrong += said and not true
        self.missed += true and not said

    @property
    def precision(self) -> float:
        """Of what was said, how much is true; 1 if nothing was."""
        said = self.right + self.wrong
        return self.right / said if said else 1.0

    @property
    def recall(self) -> float:
        """Of what is true, how much was said; 1 if nothing is."""
        true = self.right + self.missed
        return self.right / true if true else 1.0


#: Scores by label.
Scores = dict[str, Score]
#: Scenario, tap, scores.
Row = tuple[str, str, Scores]


def split(path: Path, folder: Path, identified: bool) -> Iterator[tuple[str, Path, list[str]]]:
    """Name, file and comments of the frames of each tap; without IP's identification if asked."""
    everything = list(blocks(path.read_bytes()))
    names = [option(block, 16)[1].decode() for kind, block in everything if kind == 1]
    for tap, name in enumerate(names):
        written, comments = [], []
        for kind, block in everything:
            if kind != 6:
                written.append(block)
                continue
            number, _, _, kept = struct.unpack_from("<IIII", block, 8)
            if number != tap:
                continue
            if not identified and block[28 + 12 : 28 + 14] == b"\x08\x00":
                block = block[: 28 + 18] + b"\0\0" + block[28 + 20 :]
            written.append(block)
            end = 28 + (kept + 3) // 4 * 4
            comments.append(option(block, end)[1].decode() if end < len(block) - 4 else "")
        file = folder / f"{path.stem}-{tap}-{identified}.pcapng"
        file.write_bytes(b"".join(written))
        yield name, file, comments


def score(file: Path, comments: list[str], scores: Scores) -> None:
    """Adds what the analyser says of a file with one interface."""
    found = json.loads(_core.capture_packets(str(file), [], 1 << 40))
    for row, frame in enumerate(found["frame"]):
        comment, what = comments[frame - 1], found["what"][row]
        if found["payload_bytes"][row] == 0 and comment != variants.LATE:
            continue
        duplicated = "duplicated" in comment
        again = "retransmission" in comment and not duplicated
        said = what == "retransmitted"
        scores["retransmission"].add(again, said)
        reordered = "reordered" in comment and not again
        scores["reordering"].add(reordered, what == "reordered")
        scores["duplicate"].add(duplicated, what == "duplicate")
        if again and said:
            for kind in ("fast", "time-out", "tail loss probe"):
                scores[kind].add(kind in comment, found["kind"][row] == kind)
        scores["needless"].add("spurious" in comment and again, said and found["spurious"][row])


def score_tshark(file: Path, comments: list[str], scores: Scores) -> None:
    """Adds what tshark says of the same file."""
    labels = ["retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"]
    fields = ["frame.number", *(f"tcp.analysis.{label}" for label in labels)]
    command = ["tshark", "-r", str(file), "-Y", "tcp.len > 0", "-T", "fields", "-E", "separator=,"]
    for name in fields:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for number, *again, disordered in csv.reader(io.StringIO(done.stdout)):
        comment = comments[int(number) - 1]
        duplicated = "duplicated" in comment
        truth = "retransmission" in comment and not duplicated
        scores["tshark: retransmission"].add(truth, any(again))
        reordered = "reordered" in comment and not truth
        scores["tshark: reordering"].add(reordered, bool(disordered))


def captured(scenario: Scenario, folder: Path) -> Path:
    """Runs a scenario: its capture."""
    folder.mkdir(parents=True, exist_ok=True)
    experiment = folder / "e.yaml"
    experiment.write_text(scenario.text(), encoding="utf-8")
    dumbbell.run(experiment, captures=folder / "c")
    (capture,) = (folder / "c").iterdir()
    return capture


def run(
    scenario: Scenario, folder: Path, *, tshark: bool = False, identified: bool = True
) -> dict[str, Scores]:
    """Scores by tap."""
    capture = captured(scenario, folder)
    results: dict[str, Scores] = {}
    for name, file, comments in split(capture, folder, identified):
        results[name] = defaultdict(Score)
        score(file, comments, results[name])
        if tshark:
            score_tshark(file, comments, results[name])
    return results


def run_variant(
    scenario: Scenario, change: Change, folder: Path, *, tshark: bool = False
) -> dict[str, Scores]:
    """Scores by tap of captures that were changed."""
    capture = captured(scenario, folder)
    taps = {
        name: variants.read(blocks(file.read_bytes()), comments)
        for name, file, comments in split(capture, folder, identified=True)
    }
    changed = change(taps["sender"])
    results: dict[str, Scores] = {}
    for name, frames in taps.items():
        file = folder / f"{name}.pcap"
        comments = variants.write(file, changed(frames))
        results[name] = defaultdict(Score)
        score(file, comments, results[name])
        if tshark:
            score_tshark(file, comments, results[name])
    return results


def cell(one: Score | None) -> str:
    """Precision / recall; nothing where nothing was to be found or said."""
    if one is None or one.right + one.wrong + one.missed == 0:
        return "–"
    return f"{one.precision:.3f} / {one.recall:.3f}"


def table(labels: dict[str, str], rows: list[Row], counted: str) -> list[str]:
    """A table in Markdown: scenario, tap, how many there are, a column per label."""
    lines = [
        f"| scenario | tap | {counted} | " + " | ".join(labels.values()) + " |",
        "| --- | --- | ---: |" + " --- |" * len(labels),
    ]
    for name, tap, scores in rows:
        first = scores[next(iter(labels))]
        cells = " | ".join(cell(scores.get(label)) for label in labels)
        lines.append(f"| {name} | {tap} | {first.right + first.missed} | {cells} |")
    return lines


def summary(what: str, label: str, rows: list[Row], tshark: bool = True) -> str:
    """A row of the summary: in how many rows all labels are right, and the least of the others."""
    cells = [what]
    for one in (label, f"tshark: {label}") if tshark else (label,):
        scores = [row[2][one] for row in rows if cell(row[2].get(one)) != "–"]
        exact = sum(score.wrong + score.missed == 0 for score in scores)
        precision = min(score.precision for score in scores)
        recall = min(score.recall for score in scores)
        cells += [f"{exact} of {len(scores)}", f"{precision:.3f}", f"{recall:.3f}"]
    return "| " + " | ".join(cells + ["–"] * (7 - len(cells))) + " |"


def summaries(simulated: list[Row], unnumbered: list[Row], field: list[Row]) -> list[str]:
    """The table of the least accuracies."""
    reordered = [row for row in simulated if row[2]["reordering"].right]
    changed = [row for row in field if row[2]["reordering"].right]
    copied = [row for row in field if row[2]["duplicate"].right]
    return [
        "| labels | dumbbell: all right | precision, at least | recall, at least "
        "| tshark: all right | precision, at least | recall, at least |",
        "| --- | --- | ---: | ---: | --- | ---: | ---: |",
        summary("retransmissions", "retransmission", simulated),
        summary("reordered segments", "reordering", reordered),
        summary("retransmissions, no identification", "retransmission", unnumbered, tshark=False),
        summary("retransmissions, as met in the field", "retransmission", field),
        summary("reordered, as met in the field", "reordering", changed),
        summary("frames captured twice", "duplicate", copied, tshark=False),
    ]


def field_rows() -> list[Row]:
    """Scores of captures as they are met in the field."""
    rows: list[Row] = []
    for name, (scenario, change) in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = run_variant(scenario, change, Path(folder), tshark=True)
        rows += [(f"{name} ({scenario.name})", tap, scores) for tap, scores in found.items()]
    return rows


def field_table(rows: list[Row]) -> list[str]:
    """The table of captures as they are met in the field."""
    labels = {
        "retransmission": "retransmissions",
        "tshark: retransmission": "tshark",
        "reordering": "reordered",
        "tshark: reordering": "tshark",
        "duplicate": "duplicate frames",
    }
    about = "**As met in the field**: the same captures, changed as a file can be."
    return [about, "", *table(labels, rows, "retransmissions")]


def tables(_: Runs) -> Iterator[Made]:
    """The tables of the page, at one marker, and their summary."""
    if shutil.which("tshark") is None:
        raise StudyError("docs/captures.md: its tables have columns of tshark: install it")
    rows: dict[bool, list[Row]] = {True: [], False: []}
    for scenario in SCENARIOS:
        for identified in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                found = run(scenario, Path(folder), tshark=identified, identified=identified)
            for tap, scores in found.items():
                rows[identified].append((scenario.name, tap, scores))
    again = {"retransmission": "dumbbell", "tshark: retransmission": "tshark"}
    overtaken = {"reordering": "dumbbell", "tshark: reordering": "tshark"}
    disordered = [row for row in rows[True] if row[2]["reordering"].right]
    kinds = {
        "fast": "fast",
        "time-out": "time-out",
        "tail loss probe": "probe",
        "needless": "spurious",
    }
    lines = ["**Retransmissions**: precision / recall.", ""]
    lines += table(again, rows[True], "retransmissions")
    lines += ["", "**Reordered segments** (sent once, later ones came first):", ""]
    lines += table(overtaken, disordered, "reordered")
    lines += [
        "",
        "**Why** they were sent, and which are proved spurious (rows with more than fast",
    ]
    lines += ["retransmissions):", ""]
    others = list(kinds)[1:]
    told = [row for row in rows[True] if any(cell(row[2].get(one)) != "–" for one in others)]
    lines += table({"retransmission": "retransmission", **kinds}, told, "retransmissions")
    lines += [
        "",
        "**Without IP's identification**, as in IPv6, retransmissions in all other rows are",
    ]
    lines += ["found exactly, in these not:", ""]
    worse = [row for row in rows[False] if cell(row[2]["retransmission"]) != "1.000 / 1.000"]
    lines += table({"retransmission": "dumbbell"}, worse, "retransmissions")
    field = field_rows()
    lines += ["", *field_table(field)]
    yield PAGE, "truth", lines
    yield SUMMARY, "accuracy", summaries(rows[True], rows[False], field)
