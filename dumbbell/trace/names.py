"""Names for the numbers in a run's trace: a small file beside it, `<trace>.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.files.input import read_file
from dumbbell.files.output import json_text, write_output
from dumbbell.scenario import Scenario

#: Maximum size of a file of names.
_MOST_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a run.

    Attributes:
        nodes: Names by number.
        links: Name, and the numbers of both nodes.
        flows: Names by number, from 1.
        scenario: The whole scenario.
    """

    nodes: list[str]
    links: list[tuple[str, int, int]]
    flows: list[str]
    scenario: Scenario


def names_of(scenario: Scenario) -> Names:
    """Names of a scenario, in the order of its numbers."""
    nodes = [node["name"] for node in scenario["nodes"]]
    number = {name: place for place, name in enumerate(nodes)}
    links = [(one["name"], number[one["a"]], number[one["b"]]) for one in scenario["links"]]
    return Names(nodes, links, [flow["name"] for flow in scenario["flows"]], scenario)


def write_names(path: Path, names: Names) -> None:
    """Writes the names beside the trace `path`."""
    text = json_text({"dumbbell_trace": 1, "scenario": names.scenario}) + "\n"
    write_output(path.with_name(path.name + ".json"), text)


def read_names(trace: str | Path, path: Path | None) -> Names | None:
    """Names beside a trace, or from a given file.

    Raises `DumbbellError` if the given file is unusable, or the file beside the trace claims to be
    one and is unusable.
    """
    beside = Path(f"{trace}.json")
    if path is None and (str(trace) == "-" or not beside.is_file()):
        return None
    chosen = path or beside
    try:
        found = json.loads(read_file(chosen, _MOST_BYTES))
        if path is None and not (isinstance(found, dict) and "dumbbell_trace" in found):
            return None
        return names_of(found["scenario"])
    except OSError as error:
        raise DumbbellError(
            f"{chosen}: cannot be read: {error.strerror or error}", code=Code.UNREADABLE
        ) from None
    except (ValueError, KeyError, TypeError):
        if path is None:
            return None
        message = "no names of a trace, as `dumbbell run --traces` writes them"
        raise DumbbellError(f"{chosen}: {message}", code=Code.TRACE) from None


def renamed(
    names: Names, about: dict[str, Any], tables: dict[str, pl.DataFrame]
) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """Trace with the names of the run for known numbers."""
    pipes = _pipes(names, about["links"])
    flows = {
        one["flow"]: names.flows[one["fid"] - 1]
        for one in about["flows"]
        if 1 <= one["fid"] <= len(names.flows)
    }
    nodes = {str(number): name for number, name in enumerate(names.nodes)}
    told = {
        **about,
        "nodes": [nodes.get(node, node) for node in about["nodes"]],
        "links": [
            {
                "pipe": pipes[one["pipe"]],
                "from": nodes.get(one["from"], one["from"]),
                "to": nodes.get(one["to"], one["to"]),
            }
            for one in about["links"]
        ],
        "flows": [{**one, "flow": flows.get(one["flow"], one["flow"])} for one in about["flows"]],
    }
    for part, key, by in (("delays", "pipe", pipes), ("streams", "flow", flows)):
        if part in told:
            told[part] = [{**one, key: by.get(one[key], one[key])} for one in told[part]]
    columns = {"pipe": pipes, "flow": flows, "from_host": nodes, "to_host": nodes}
    return told, {
        name: frame.with_columns(
            pl.col(column).replace(by) for column, by in columns.items() if column in frame.columns
        )
        for name, frame in tables.items()
    }


def _pipes(names: Names, links: list[dict[str, Any]]) -> dict[str, str]:
    """Name of each pipe in the run; of parallel links, the first."""
    known: dict[tuple[str, str], str] = {}
    for link, a, b in names.links:
        known.setdefault((str(a), str(b)), f"{link}/forward")
        known.setdefault((str(b), str(a)), f"{link}/backward")
    return {one["pipe"]: known.get((one["from"], str(one["to"])), one["pipe"]) for one in links}
