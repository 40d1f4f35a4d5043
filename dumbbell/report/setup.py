"""Set-up of an experiment in one paragraph: traffic, base RTT, and what limits packets where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from dumbbell.console.words import many
from dumbbell.limits.flows import network_limits
from dumbbell.metrics.definition import Tables
from dumbbell.metrics.numbers import number
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.summary.flow_names import flow_title, fold_title, stem
from dumbbell.summary.pipe_words import change_words, pipe_words, rate_words, size_words

_SEARCH = re.compile(r"^search:", re.MULTILINE)
#: Most groups of flows, pipes, and changes of a pipe that are named.
_MOST = 5


def setup(results: Tables) -> str:
    """Sentences about the first run; empty without runs."""
    if results.runs.is_empty():
        return ""
    run, text = results.runs.select("run", "scenario").row(0)
    spec = read_scenario(text)
    flows = results.flows.filter(pl.col("run") == run)
    cells = len(set(results.runs["scenario"].to_list()))
    pipes = _listed(link_words(spec), "; ")
    links = f"Links: {pipes}" if pipes else ""
    sentences = [_listed(_traffic(flows)), _base_rtt(spec, flows), links]
    if _SEARCH.search(str(getattr(results.experiment, "yaml", ""))):
        sentences.append("These are the start values of a search, which dumbbell search makes")
    words = ". ".join(one for one in sentences if one)
    first = "First cell: " if cells > 1 and results.experiment.factors else ""
    return f"{first}{words}." if words else ""


def _listed(parts: Iterator[str], joint: str = ", ") -> str:
    found = list(parts)
    more = f"{joint}{len(found) - _MOST} more" if len(found) > _MOST else ""
    return joint.join(found[:_MOST]) + more


def _traffic(flows: pl.DataFrame) -> Iterator[str]:
    """`CUBIC s1→d1 from 0 s`, `12 × UDP from 0 s`."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    opened = flows.filter((pl.col("kind") != "mptcp") & (pl.col("start_ns") >= 0))
    for row in opened.iter_rows(named=True):
        key = (stem(row["flow"]), row["kind"], row["congestion_control"])
        groups.setdefault(key, []).append(row)
    for rows in groups.values():
        title = flow_title(rows[0]) if len(rows) == 1 else fold_title(rows[0], len(rows))
        begins = sorted(row["start_ns"] / 1e9 for row in rows)
        first, last = (f"{round(one, 2):g}" for one in (begins[0], begins[-1]))
        yield f"{title} from {first if first == last else f'{first}–{last}'} s"


def _base_rtt(spec: Scenario, flows: pl.DataFrame) -> str:
    rtts = []
    limits = network_limits(spec)
    for name in flows["flow"]:
        try:
            rtts.append(1e3 * limits.of(name).base_rtt_s)
        except (KeyError, ValueError):  # flows of arrivals and of several paths
            continue
    if not rtts:
        return ""
    least, most = min(rtts), max(rtts)
    alike = most - least < 0.01 * most
    shown = number(least) if alike else f"{number(least)}–{number(most)}"
    return f"Base RTT {shown} ms"


def link_words(spec: Scenario) -> Iterator[str]:
    """`bottleneck →: 10 Mbit/s, delay 5 ms`, …: directions that limit or lose packets."""
    groups: dict[str, list[str]] = {}
    for link in spec["links"]:
        ways = {"→": link["forward"], "←": link["backward"]}
        words = {arrow: _words(pipe) for arrow, pipe in ways.items()}
        if words["→"] == words["←"]:
            words = {"⇄": words["→"]}
        for arrow, text in words.items():
            if text:
                groups.setdefault(text, []).append(f"{link['name']} {arrow}")
    for text, names in groups.items():
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        yield f"{', '.join(names[:2])}{more}: {text}"


def _words(pipe: Any) -> str:
    """Words about a pipe that is more than a delay."""
    words = [_named(word) for word in pipe_words(pipe)]
    if limit := pipe["queue"].get("drop_tail", {}).get("limit_bytes"):
        words.append(f"queue of {size_words(limit)}")
    if pipe["policer"]:
        words.append(f"policer {rate_words(pipe['policer']['rate_bps'])}")
    if pipe["jitter_ns"]:
        words.append(f"jitter {pipe['jitter_ns'] / 1e6:g} ms")
    for change in pipe["changes"][:_MOST]:
        words.append(f"from {change['at_ns'] / 1e9:g} s {change_words(change)}")
    if (more := len(pipe["changes"]) - _MOST) > 0:
        words.append(f"then {many(more, 'more change')}")
    delay_alone = len(words) == 1 and words[0].startswith("delay ")
    return "" if delay_alone else ", ".join(words)


def _named(word: str) -> str:
    """A word of the drawing, where its place does not say what it is."""
    if word.endswith(" ms"):
        return f"delay {word}"
    return f"queue of {word}" if word.endswith(" packets") else word
