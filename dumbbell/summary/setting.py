"""Setting of a cell: its bottlenecks and flows as its scenario describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dumbbell.limits.flows import FRAME_BYTES, flow_limits, narrowest_pipes
from dumbbell.limits.pipes import rate_of
from dumbbell.scenario import Pipe, Scenario
from dumbbell.summary.pipe_words import change_words


def pipes_of(spec: Scenario) -> dict[str, Pipe]:
    """Both directions of each link by name, as `bottleneck/forward`."""
    found = {}
    for link in spec["links"]:
        found[f"{link['name']}/forward"] = link["forward"]
        found[f"{link['name']}/backward"] = link["backward"]
    return found


@dataclass(frozen=True)
class PipeSetting:
    """A direction of a link.

    Attributes:
        rate_bps: Rate at the beginning; None without one.
        discipline: Name of the queue's discipline, as `drop_tail`.
        limit_bytes: Queue limit in bytes of full frames; None without one.
        changes: Changes of the link: second, words.
    """

    rate_bps: float | None
    discipline: str
    limit_bytes: float | None
    changes: tuple[tuple[float, str], ...]

    @property
    def limit_packets(self) -> float | None:
        """Queue limit in full frames."""
        return None if self.limit_bytes is None else self.limit_bytes / FRAME_BYTES

    @property
    def limit_ms(self) -> float | None:
        """Time in which a full queue drains."""
        if self.limit_bytes is None or not self.rate_bps:
            return None
        return 8e3 * self.limit_bytes / self.rate_bps


@dataclass(frozen=True)
class FlowSetting:
    """A flow.

    Attributes:
        base_rtt_ms: Round trip without queues, over its longest path.
        bdp_packets: Rate of its narrowest links times that, in full frames.
        bottlenecks: Number of links that are the narrowest of its path.
    """

    base_rtt_ms: float
    bdp_packets: float
    bottlenecks: int


@dataclass(frozen=True)
class Setting:
    """Pipes and flows by name."""

    pipes: Mapping[str, PipeSetting]
    flows: Mapping[str, FlowSetting]


def setting(spec: Scenario, flows: Iterable[str]) -> Setting:
    """Setting of a scenario and some of its flows; flows of pages and arrivals are left out."""
    pipes = {name: _pipe(pipe) for name, pipe in pipes_of(spec).items()}
    found = {}
    for name in dict.fromkeys(flows):
        try:
            limits, narrow = flow_limits(spec, name), narrowest_pipes(spec, name)
        except (KeyError, ValueError):
            continue
        found[name] = FlowSetting(1e3 * limits.base_rtt_s, limits.bdp_packets, len(narrow))
    return Setting(pipes, found)


def _pipe(pipe: Pipe) -> PipeSetting:
    kind, options = next(iter(pipe["queue"].items()))
    if kind == "htb" and len(options["classes"]) == 1:
        kind, options = next(iter(options["classes"][0]["queue"].items()))
    packets, size = options.get("limit_packets"), options.get("limit_bytes")
    limits = [*([packets * FRAME_BYTES] if packets else []), *([size] if size else [])]
    changes = tuple((one["at_ns"] * 1e-9, change_words(one)) for one in pipe["changes"])
    return PipeSetting(rate_of(pipe), kind, min(limits, default=None), changes)
