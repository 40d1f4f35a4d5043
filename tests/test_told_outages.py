"""What is said of cells whose links fail, beside the numbers of their tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.metrics.cells import CellValues, Values
from dumbbell.report.experiment import experiment_page
from dumbbell.report.setup import setup
from dumbbell.results import Results
from dumbbell.summary.cells import cells
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.findings import findings
from dumbbell.summary.links import arrow, worst
from tests.helpers import ROOT


@pytest.fixture(scope="module")
def handover(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("handover")
    text = (ROOT / "examples" / "handover.yaml").read_text("utf-8")
    (folder / "e.yaml").write_text(text.replace("repeats: 5", "repeats: 1"), encoding="utf-8")
    return dumbbell.run(folder / "e.yaml")


def test_a_use_over_all_and_one_of_a_phase_are_told_apart(handover: Results) -> None:
    """`no link carries more than 70 % of what it could under load: use 0–10 s 99 %`."""
    (words,) = [one.sentence for one in findings(cells(handover)) if one.rule == "underused"]
    assert re.search(r"of what it could over the time of load: use of → phone-wifi by phase", words)


def test_an_idle_line_after_an_outage_names_the_time_out_that_ends_it(handover: Results) -> None:
    (words,) = [one.sentence for one in findings(cells(handover)) if one.rule == "underused"]
    resumed = METRICS["resume_s"].measure(handover)["value"].max()
    assert isinstance(resumed, float) and resumed > 5
    assert f"until {resumed:.2f} s after an outage: its RTO doubles with each time-out" in words


def test_each_path_of_a_flow_has_a_row(handover: Results) -> None:
    """Over both paths the one that was down carries 69 % of its rate, the other 97 %."""
    both = next(cell for cell in cells(handover) if cell.levels["upload"] == "both")
    assert {arrow(link.pipe) for link in both.links} == {"→ phone-wifi", "→ phone-lte"}


class Known(CellValues):
    """Queues of two repeats: in each another is the longer one."""

    def __init__(self) -> None:
        repeats = {
            "queue_delay_p50_ms": {0: {"a": 80.0, "b": 1.0}, 1: {"a": 1.0, "b": 70.0}},
            "queue_delay_p95_ms": {0: {"a": 100.0, "b": 10.0}, 1: {"a": 10.0, "b": 90.0}},
        }
        self._of = {name: {(): Values(own)} for name, own in repeats.items()}


def test_median_and_p95_of_a_cell_are_of_the_same_queues() -> None:
    """The mean p95 of the longest queues, 95 ms, stood beside a median of 40.5 ms: that of `a`."""
    found = worst(Known(), ())
    assert found["delay_p95_ms"] == 95 and found["delay_p50_ms"] == 75


def test_captions_name_only_what_stands_in_the_table(handover: Results) -> None:
    page = experiment_page(handover)
    captions = " ".join(re.findall(r'<p class="caption">(.*?)</p>', page))
    assert "Use and queueing delay of each link that changes." in captions
    assert "queueing delay under load" in captions
    for absent in ("Settled", "marked packets", "Jain", "datagrams"):
        assert absent not in captions


def test_rates_of_backups_are_told_as_such(handover: Results) -> None:
    assert "All paths of a flow, backups included, together carry 30 to 40 Mbit/s." in " ".join(
        contrasts(cells(handover), handover)
    )


BYTES = """\
dumbbell: 1
name: bytes
template: {dumbbell: {rate: 10 Mbit/s, rtt: 40 ms, buffer: 4 BDP}}
flows: [{name: f, from: s1, to: d1, tcp: cubic}]
duration: 20 s
"""


def test_a_queue_limit_has_one_unit_on_a_page(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(BYTES, encoding="utf-8")
    results = dumbbell.run(tmp_path / "e.yaml")
    assert "queue of 195.3 KiB" in setup(results)
    (words,) = [one.sentence for one in findings(cells(results)) if one.rule == "standing queue"]
    assert "the queue limit is 195.3 KiB" in words
