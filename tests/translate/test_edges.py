"""Edges of tc's values: as tc takes them, or one message; a translation is always a valid file."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from dumbbell.cli.check import _plan
from dumbbell.errors import DumbbellError
from tests.translate.helpers import lost, of, pipes, refusal

ROOT = "tc qdisc add dev eth0 root"
#: A root, and what follows its words.
PLACES = (
    (f"{ROOT} ", ""),
    (f"{ROOT} handle 1: tbf rate 1mbit burst 5kb limit 9kb\ntc qdisc add dev eth0 parent 1: ", ""),
    (f"{ROOT} handle 1: red limit 400000 avpkt 1000\ntc qdisc add dev eth0 parent 1: ", ""),
    (f"{ROOT} handle 1: ", "\ntc qdisc add dev eth0 parent 1: pfifo limit 1"),
)  # fmt: skip
EDGES = (
    "netem limit 0", "netem limit 1", "netem limit 2147483647", "netem delay 0", "netem loss 0%",
    "netem delay 0 0", "netem delay 0 10ms", "netem loss 100%", "netem rate 0", "netem rate 8bit",
    "netem rate 99999tbit", "netem delay 274s", "netem slot 0", "netem reorder 0% delay 1ms",
    "netem slot 1ms 2ms packets 0", "pfifo limit 1", "bfifo limit 1", "codel target 0",
    "fq_codel limit 0", "pie alpha 0", "sfq limit 1", "red limit 1 avpkt 1", "choke limit 1",
    "tbf rate 8bit burst 1 limit 1", "tbf rate 100tbit burst 1 latency 1us", "cake rtt 0",
)  # fmt: skip


def test_no_edge_makes_a_file_that_validate_refuses(tmp_path: Path) -> None:
    made = 0
    for (before, behind), words in itertools.product(PLACES, EDGES):
        try:
            text = of(f"{before}{words}{behind}\n").text
        except DumbbellError:
            continue
        made += 1
        (tmp_path / "x.yaml").write_text(text)
        assert _plan(tmp_path / "x.yaml"), words
    assert made > len(EDGES)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("netem delay 10ms limit 0", "netem with limit 0 drops every packet"),
        ("pfifo limit 0", "pfifo with limit 0 drops every packet"),
        ("bfifo limit 0", "bfifo with limit 0 drops every packet"),
        ("fq flow_limit 0", "fq with flow_limit 0 drops every packet"),
        ("sfq limit 1", "sfq refuses limit 1; found 1; allowed: limit 2 or more"),
        ("choke limit 0 min 1 max 2", "choke refuses limit 0"),
        ("netem delay 300s", "delay is longer than tc takes; found 300s; allowed: 274s or less"),
        ("netem delay 1s 300s", "jitter of delay is longer than tc takes"),
        ("tbf rate 1mbit burst 10k latency 0", "tbf with latency 0: tc refuses it"),
        ("tbf rate 1mbit burst 10k limit 0", "tbf with limit 0: tc refuses it"),
        ("tbf rate 7bit burst 10k limit 10k", "rate is 0 bytes/s; found 7bit; allowed: 8bit or"),
    ],
)
def test_what_drops_everything_or_is_refused_by_tc_has_one_message(
    words: str, message: str
) -> None:
    assert message in refusal(f"{ROOT} {words}")


@pytest.mark.parametrize(
    ("words", "without"),
    [
        ("codel limit 0 target 0 interval 0", "codel"),
        ("fq_codel flows 0 quantum 0", "fq_codel"),
        ("pie alpha 0 beta 0 tupdate 0", "pie"),
        ("sfq quantum 0 depth 0", "sfq"),
        ("netem delay 10ms rate 0", "netem delay 10ms"),
        ("netem delay 10ms loss 0%", "netem delay 10ms"),
    ],
)
def test_a_zero_that_tc_takes_as_no_word_is_none(words: str, without: str) -> None:
    assert pipes(f"{ROOT} {words}") == pipes(f"{ROOT} {without}")


def test_a_limit_of_tbf_below_a_frame_is_said() -> None:
    (said,) = lost(f"{ROOT} tbf rate 1mbit burst 10k limit 1000")
    assert said.startswith("limit 1000: shorter than a frame of 1514 bytes, which tc drops")
