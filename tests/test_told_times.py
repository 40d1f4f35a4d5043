"""Numbers say of which time, link and flows they are, where a reader could take them for others."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import dumbbell
from dumbbell.metrics.active import lives_differ, several_flows
from dumbbell.metrics.phases import Phase, _mean
from dumbbell.results import Results
from dumbbell.summary import changes, load, overview
from dumbbell.summary.cells import cells
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.findings import findings

HEAD = """\
dumbbell: 1
name: told
template: {dumbbell: {pairs: 2, rate: RATE, rtt: 20 ms, forward: FORWARD}}
"""
BULK = "- {name: long, from: s1, to: d1, tcp: CC}"


def ran(folder: Path, rest: str, rate: str = "10 Mbit/s", forward: str = "{}") -> Results:
    file = folder / "told.yaml"
    head = HEAD.replace("RATE", rate).replace("FORWARD", forward)
    file.write_text(f"{head}{rest}\nduration: 10 s\n", encoding="utf-8")
    return dumbbell.run(file)


def printed(shown: object, width: int = 100) -> str:
    out = StringIO()
    Console(file=out, width=width).print(shown)
    return out.getvalue()


def flows(*lines: str) -> str:
    own = "\n".join(f"  {line}" for line in lines).replace("CC", "$cc")
    return f"flows:\n{own}\nfactors: {{cc: [reno, bbr]}}"


LOSSY = "{changes: [{at: 3 s, rate: 4 Mbit/s, loss: 30 %}, {at: 3.2 s, loss: none}]}"


def test_a_loss_that_ends_within_a_phase_is_told_with_its_end(tmp_path: Path) -> None:
    """The phase from 3 to 10 s has no loss of 30 %, which lasts 0.2 s."""
    results = ran(tmp_path, flows(BULK), forward=LOSSY)
    _, rows = changes.rows(cells(results))
    told = [text for row in rows for text in row if "loss" in text]
    assert told == ["4 Mbit/s and 30 % loss, from 3.2 s no loss"] * 2
    sentences = " ".join(one.sentence for one in findings(cells(results)))
    assert sentences.count("30 % loss") == sentences.count("30 % loss, from 3.2 s no loss")


def test_numbers_of_a_narrow_table_are_whole(tmp_path: Path) -> None:
    every = cells(ran(tmp_path, flows(BULK), forward=LOSSY))
    _, rows = changes.rows(every)
    numbers = {text for row in rows for text in row[len(every[0].levels) + 2 :] if "%" in text}
    shown = printed(changes.table(every, 70), 70)
    assert "…" not in shown
    assert all(number in shown for number in numbers if "loss" not in number)
    assert "→ bottleneck" in printed(overview.table(ran(tmp_path, flows(BULK)), every))


def test_the_title_promises_intervals_only_where_they_are_shown(tmp_path: Path) -> None:
    results = ran(tmp_path, flows(BULK.replace("}", ", start_jitter: 1 s}")) + "\nrepeats: 3")
    every = cells(results)
    wide, narrow = (printed(overview.table(results, every, width), width) for width in (140, 50))
    assert "mean ± half the 95 % interval" in wide and wide.count("±") > 1
    assert "(3 repeats: mean)" in narrow and "±" not in narrow


def test_programs_alone_have_no_empty_table(tmp_path: Path) -> None:
    """Of an experiment without flows, whose links are quiet, the title alone is shown."""
    results = ran(tmp_path, flows(BULK))
    quiet = [replace(cell, flows=[], links=[]) for cell in cells(results)]
    assert printed(overview.table(results, quiet)).split("\n") == ["told (1 repeat)", "", ""]


def test_goodput_of_all_says_its_flows_and_its_time(tmp_path: Path) -> None:
    late = "- {name: late, from: s2, to: d2, start: 5 s, tcp: CC}"
    apart = ran(tmp_path, flows(BULK, late), forward="{loss: 2 %}")
    assert several_flows(apart) and lives_differ(apart)
    (sentence,) = contrasts(cells(apart), apart)
    assert "goodput of all flows while any is under way " in sentence
    assert overview.TIMES in printed(overview.table(apart, cells(apart)))
    together = ran(tmp_path, flows(BULK, late.replace("5 s", "0 s")), forward="{loss: 2 %}")
    assert several_flows(together) and not lives_differ(together)
    (sentence,) = contrasts(cells(together), together)
    assert "goodput of all flows " in sentence and "under way" not in sentence
    assert overview.TIMES not in printed(overview.table(together, cells(together)))
    one = ran(tmp_path, flows(BULK), forward="{loss: 2 %}")
    assert not several_flows(one) and not lives_differ(one)
    (sentence,) = contrasts(cells(one), one)
    assert "goodput " in sentence and "of all flows" not in sentence


def test_a_goodput_above_that_of_its_link_says_its_time(tmp_path: Path) -> None:
    """The handshake is no part of the flow's life, but of the time of its link."""
    tcp = "{congestion_control: CC, bytes: 20 KiB}"
    short = ran(tmp_path, flows(BULK.replace("CC", tcp)))
    every = cells(short)
    (flow,), (link,) = every[0].flows, every[0].links
    assert flow.goodput_mbps.mean > link.throughput_mbps
    assert not lives_differ(short)
    shown = printed(overview.table(short, every))
    assert overview.TIMES in " ".join(shown.split())


def test_a_number_of_one_of_several_links_names_it(tmp_path: Path) -> None:
    """Two bottlenecks, up and down: the delay is of the first."""
    back = "- {name: back, from: d2, to: s2, tcp: CC}"
    results = ran(tmp_path, flows(BULK, back))
    every = cells(results)
    assert len({link.pipe for cell in every for link in cell.links}) == 2
    sentences = " ".join(contrasts(every, results))
    assert "queueing delay (p95) of " in sentences
    worst = max(
        (link for cell in every for link in cell.links), key=lambda link: link.delay_p95_ms or 0.0
    )
    way = "→" if worst.pipe.endswith("forward") else "←"
    assert f"queueing delay (p95) of {way} bottleneck" in sentences
    alone = ran(tmp_path, flows(BULK))
    assert "queueing delay (p95) of" not in " ".join(contrasts(cells(alone), alone))


def test_probe_loss_has_its_unit(tmp_path: Path) -> None:
    ping = "- {name: echo, from: s2, to: d2, ping: {interval: 10 ms}}"
    results = ran(tmp_path, f"sampling: {{keep: [samples, queues, probes]}}\n{flows(BULK, ping)}",
                  forward="{loss: 5 %}")  # fmt: skip
    (row, _) = load.rows(results)
    assert 0.03 < row["lost_share"] < 0.07
    assert "%" in load.COLUMNS["lost_share"][0]
    assert float(load.text(row, "lost_share")) == pytest.approx(100 * row["lost_share"], rel=0.01)


def test_a_window_above_the_bdp_is_no_cause_of_an_idle_line(tmp_path: Path) -> None:
    (cell, _) = cells(ran(tmp_path, flows(BULK), forward="{loss: 3 %}"))
    (words,) = [one.sentence for one in findings([cell]) if one.rule == "underused"]
    assert "takes for congestion (mean window " in words
    wide = replace(cell.flows[0], window_packets=2 * (cell.flows[0].bdp_packets or 0))
    (words,) = [
        one.sentence for one in findings([replace(cell, flows=[wide])]) if one.rule == "underused"
    ]
    assert "takes for congestion" in words and "mean window" not in words


def test_a_phase_in_which_some_runs_settle_says_so() -> None:
    repeats = [Phase(3, 10, True, {}, {}, settled_s={"a/forward": one}) for one in (1.0, math.inf)]
    mixed, never = _mean(tuple(repeats)), _mean((repeats[1], repeats[1]))
    assert changes.settled(mixed, "a/forward") == "not in every run"
    assert changes.settled(never, "a/forward") == "not in this phase"
    assert changes.settled(_mean((repeats[0],)), "a/forward") == "1 s"
