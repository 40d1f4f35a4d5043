"""Which links a cell's table shows, and which of them its sentences compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.findings import findings, nothing_stands_out
from dumbbell.summary.links import MOST, LinkLine, shown
from dumbbell.summary.overview import lines
from tests.helpers import ROOT


def ran(folder: Path, text: str) -> Results:
    file = folder / "told.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file)


def texts(cell: CellLine, column: str) -> dict[str, str]:
    return {name: own[column] for name, own in lines(cell) if column in own}


@pytest.mark.slow
def test_the_lossiest_link_of_a_fat_tree_is_told_though_others_carry_more(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "fat-tree.yaml").read_text(encoding="utf-8")
    text = text.replace("100 ms", "30 ms").replace("repeats: 5", "repeats: 1")
    results = ran(tmp_path, text.replace("[per_flow, random, round_robin]", "[per_flow]"))
    (cell,) = cells(results)
    measured = METRICS["loss_ratio"].measure(results).sort("value", descending=True)
    worst = measured.filter(measured["value"].is_finite()).row(0, named=True)
    most = worst["value"]
    assert most > 0.01
    assert cell.worst["dropped"] == most
    drawn = [link.pipe for link in shown(cell.links)]
    assert worst["pipe"] in drawn
    assert len(drawn) == MOST < len(cell.links)
    # A link that drops more than 3 % is a finding, however little it carries.
    told = any(finding.rule == "lossy" for finding in findings([cell]))
    assert told == (most > 0.03)


def test_shown_links_are_those_with_the_numbers_of_sentences() -> None:
    line = LinkLine("full/forward", 1.0, 1.0, 1.0, None, 0.0, 1.0, 2.0, 3.0, None, {})
    several = [replace(line, pipe=f"full{i}/forward") for i in range(MOST + 1)]
    slow = replace(line, pipe="slow/forward", delay_p95_ms=9.0)
    lossy = replace(line, pipe="lossy/forward", dropped=0.5)
    drawn = [one.pipe for one in shown([*several, slow, lossy])]
    assert drawn == ["full0/forward", "full1/forward", "slow/forward", "lossy/forward"]


TWO_WAYS = """\
dumbbell: 1
name: two ways
hosts: {home: , server: }
routers: {modem: }
links:
  - {between: [home, modem], forward: $uplink, backward: {rate: 50 Mbit/s, queue: fq_codel}}
  - {between: [modem, server], delay: 10 ms}
flows:
  - {name: up, from: home, to: server, tcp: cubic}
  - {name: down, from: server, to: home, tcp: cubic}
duration: 5 s
factors:
  uplink:
    - {label: FIFO, value: {rate: 10 Mbit/s, buffer: 500 packets}}
    - {label: CAKE, value: {queue: {cake: {bandwidth: 10 Mbit/s}}}}
"""


@pytest.mark.slow
def test_cells_are_compared_at_one_link_and_by_what_differs(tmp_path: Path) -> None:
    results = ran(tmp_path, TWO_WAYS)
    every = cells(results)
    # The case: in one cell the uplink's queue is the longest, in the other the downlink's.
    longest = [max(cell.links, key=lambda link: link.delay_p95_ms or 0).pipe for cell in every]
    assert longest == ["home-modem/forward", "home-modem/backward"]
    told = " ".join(contrasts(every, results))
    shown_ms = [texts(cell, "p95")["→ home-modem"] for cell in every]
    assert f"queueing delay (p95) of → home-modem {' / '.join(shown_ms)} ms" in told
    # FQ-CoDel is in both cells: it explains nothing.
    assert "CAKE: " in told and "FQ-CoDel" not in told


def test_the_share_of_several_flows_is_marked_as_a_sum(tmp_path: Path) -> None:
    text = """\
dumbbell: 1
name: several
template: {dumbbell: {pairs: 5, rate: 10 Mbit/s, rtt: 20 ms, buffer: 50 packets}}
flows:
  - {name: "a{i}", from: "s{i}", to: "d{i}", count: 4, tcp: cubic, start_jitter: 1 RTT}
  - {name: other, from: s5, to: d5, tcp: reno}
duration: 5 s
"""
    (cell,) = cells(ran(tmp_path, text))
    shares = texts(cell, "joint") or texts(cell, "share")
    (several,) = [name for name in shares if name.startswith("4 × ")]
    (one,) = [name for name in shares if not name.startswith("4 × ")]
    assert shares[several].startswith("Σ") and not shares[one].startswith("Σ")
    whole = [float(text.strip("Σ %")) for text in shares.values()]
    assert abs(sum(whole) - 100) <= 1


def test_no_loss_is_said_of_links() -> None:
    line = LinkLine("full/forward", 1.0, 1.0, 1.0, None, 0.01, 1.0, 2.0, 3.0, None, {})
    assert "no link that drops more than 3 %" in nothing_stands_out(
        [CellLine(levels={}, flows=[], links=[line], bulk=False)]
    )


CLASSES = """\
dumbbell: 1
name: classes
template:
  dumbbell:
    pairs: 2
    rtt: 20 ms
    forward:
      queue:
        htb:
          rate: 10 Mbit/s
          classes:
            - {dscp: EF, rate: 5 Mbit/s, queue: $queue}
            - {rate: 5 Mbit/s, queue: $queue}
flows:
  - {name: a, from: s1, to: d1, dscp: EF, tcp: cubic}
  - {name: b, from: s2, to: d2, tcp: cubic}
duration: 5 s
factors:
  queue:
    - {label: deep, value: {pfifo: {limit: 300 packets}}}
    - {label: codel, value: codel}
    - {label: pie, value: pie}
"""


def test_disciplines_of_classes_are_told_by_their_own_names(tmp_path: Path) -> None:
    results = ran(tmp_path, CLASSES)
    told = " ".join(contrasts(cells(results), results))
    assert "CoDel: " in told and "PIE: " in told
    assert "HTB" not in told
