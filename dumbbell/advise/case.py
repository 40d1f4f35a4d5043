"""A set-up that was run, and changed copies of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dumbbell
from dumbbell.advise import cell
from dumbbell.experiment import load
from dumbbell.limits.buckets import last_start_s
from dumbbell.limits.flows import FlowLimits, flow_limits
from dumbbell.limits.paths import paths_between
from dumbbell.limits.pipes import pipes_of, rate_of
from dumbbell.metrics import METRICS
from dumbbell.scenario import Pipe, Scenario, read_scenario
from dumbbell.translate.interface import Direct

#: Fields of a link that are none of its pipes.
_OF_LINKS = ("name", "between", "access", "forward", "backward")
#: A run lasts for this many bits of the slowest pipe, and for this many round trips, so that advice
#: takes few seconds; longest and shortest run.
_MOST_BITS, _RTTS = 4e9, 60
_MOST_S, _LEAST_S = 80.0, 0.5
#: Flows whose paths are followed.
_MOST_FLOWS = 50


@dataclass
class Case:
    """A set-up and its run.

    Attributes:
        contents: The experiment as a mapping.
        scenario: Scenario of the first cell.
        results: Results of one run.
        language: Language of the source's words; empty: an experiment file.
        direct: Direction of a link → HTB that sends all packets unshaped.
        allow: Limits of a run that are raised.
    """

    contents: dict[str, Any]
    scenario: Scenario
    results: dumbbell.Results
    language: str = ""
    direct: Mapping[str, Direct] = field(default_factory=dict)
    allow: Sequence[str] | None = None
    _values: dict[str, dict[str, float]] = field(default_factory=dict)
    _passed: dict[int, str] | None = None

    @classmethod
    def of(
        cls,
        contents: Mapping[str, Any],
        levels: Mapping[str, Sequence[str]] | None = None,
        allow: Sequence[str] | None = None,
    ) -> Case:
        """Runs the first cell of an experiment, with these levels. Raises `ExperimentError`.

        `allow`: Limits of a run that are raised.
        """
        made = {key: one for key, one in contents.items() if key != "expect"}
        first = load(made, set=levels).cells[0]
        own = {name: [level] for name, level in first.levels.items()}
        concrete = cell.alone(made, first.levels)
        if concrete is not None:
            made, own = concrete, {}
        scenario = read_scenario(first.scenario)
        made["duration"] = _short(scenario, first.duration_ns / 1e9, first.rtt_ns.values())
        results = dumbbell.run(made, set=own, repeats=1, workers=1, allow=allow)
        return cls(made, scenario, results, allow=allow)

    @property
    def pipes(self) -> dict[str, Pipe]:
        """Directions of links by name."""
        return pipes_of(self.scenario)

    def flow_of(self, pipe: str) -> str | None:
        """First bulk TCP flow whose data passes a pipe."""
        if self._passed is None:
            self._passed = {}
            flows = [one for one in self.scenario["flows"] if "tcp" in one["traffic"]]
            for flow in flows[:_MOST_FLOWS]:
                for path in paths_between(self.scenario, flow["from"], flow["to"]):
                    for one in path:
                        self._passed.setdefault(id(one), str(flow["name"]))
        return self._passed.get(id(self.pipes[pipe]))

    def limits_of(self, flow: str) -> FlowLimits:
        """Capacity and base RTT of a flow."""
        return flow_limits(self.scenario, flow)

    def rate_bps(self, pipe: str, flow: str) -> float | None:
        """Rate of a pipe, else that of the narrowest pipe of the flow; None: nothing limits."""
        own = rate_of(self.pipes[pipe])
        rate = self.limits_of(flow).rate_bps if own is None else own
        return None if math.isinf(rate) else rate

    def value(self, metric: str, of: str) -> float:
        """Value of a metric for a pipe or a flow; NaN: unknown."""
        if metric not in self._values:
            frame = METRICS[metric].measure(self.results)
            key = "flow" if "flow" in METRICS[metric].of else "pipe"
            rows = frame.select(key, "value").iter_rows()
            self._values[metric] = {str(name): float(value) for name, value in rows}
        return self._values[metric].get(of, math.nan)

    def again(
        self,
        pipe: str | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        flow: Mapping[str, Any] | None = None,
        hosts: Mapping[str, Any] | None = None,
        duration_s: float | None = None,
        seed: int | None = None,
    ) -> Case | None:
        """Runs a changed copy; None: the file says the part in a way that is not changed here.

        Args:
            pipe: Pipe that gets `fields`; None as a value removes a field.
            fields: Its new fields.
            flow: Fields of all TCP flows.
            hosts: Options of all hosts.
            duration_s: Duration.
            seed: Seed of the run.
        """
        contents = copy.deepcopy(self.contents)
        if pipe is not None and not _change_pipe(contents, pipe, fields or {}):
            return None
        if flow is not None and not _change_flows(contents, flow):
            return None
        if hosts is not None:
            _change_hosts(contents, hosts)
        if duration_s is not None:
            contents["duration"] = f"{math.ceil(duration_s * 1000)} ms"
        if seed is not None:
            contents["seed"] = seed
        try:
            return Case.of(contents, allow=self.allow)
        except dumbbell.DumbbellError:
            return None

    def alone(self, flow: str) -> Case | None:
        """Runs a copy with one flow, from the start."""
        contents = copy.deepcopy(self.contents)
        flows = contents.get("flows")
        if not isinstance(flows, list):
            return None
        for number, one in enumerate(flows, 1):
            if isinstance(one, dict) and one.get("name", f"flow{number}") == flow:
                kept = {key: value for key, value in one.items() if key not in ("start", "stop")}
                contents["flows"] = [{**kept, "name": flow}]
                return Case.of(contents, allow=self.allow)
        return None


def _short(scenario: Scenario, seconds: float, rtts_ns: Iterable[int]) -> str:
    """Duration of a run that takes little time."""
    rates = [rate for pipe in pipes_of(scenario).values() if (rate := rate_of(pipe)) is not None]
    trips_s = _RTTS * max(rtts_ns, default=0) / 1e9
    # Without a rate, windows alone limit the flows: bytes are in proportion to round trips.
    most = max(
        trips_s, _LEAST_S, _MOST_BITS / min(rates) if rates else 0, 2 * last_start_s(scenario)
    )
    return f"{math.ceil(min(seconds, most, _MOST_S) * 1000)} ms"


def _change_pipe(contents: dict[str, Any], pipe: str, fields: Mapping[str, Any]) -> bool:
    name, _, way = pipe.rpartition("/")
    links = contents.setdefault("links", [])
    for link in links if isinstance(links, list) else ():
        between = link.get("between") or ["", ""]
        if link.get("name", "-".join(map(str, between))) != name:
            continue
        shared = {key: link.pop(key) for key in list(link) if key not in _OF_LINKS}
        for one in ("forward", "backward"):
            own = link.get(one) or {}
            if not isinstance(own, dict):
                return False
            link[one] = {**shared, **own}
        changed = {**link[way], **fields}
        link[way] = {key: value for key, value in changed.items() if value is not None}
        return True
    if not isinstance(links, list):
        return False
    kept = {key: value for key, value in fields.items() if value is not None}
    links.append({"name": name, way: kept})  # of a template: its other queues give way
    return True


def _change_flows(contents: dict[str, Any], fields: Mapping[str, Any]) -> bool:
    flows = contents.get("flows")
    if not isinstance(flows, list) or not all(isinstance(one, dict) for one in flows):
        return False
    for one in flows:
        if "tcp" in one:
            one.update(fields)
    return True


def _change_hosts(contents: dict[str, Any], options: Mapping[str, Any]) -> None:
    hosts = contents.setdefault("hosts", {}) or {}
    contents["hosts"] = hosts
    for name in (*hosts, "defaults"):
        hosts[name] = {**(hosts.get(name) or {}), **options}
