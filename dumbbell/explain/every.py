"""Explanations of the incidents of all TCP flows in a stretch of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.explain.chain import chain_of
from dumbbell.explain.explanation import Explanation
from dumbbell.explain.incident import Incident, episodes, lost_acks
from dumbbell.explain.observed import Observed, observe
from dumbbell.scenario import Scenario

#: Kinds of flows that can be explained.
TCP = ("tcp", "subflow")


@dataclass(frozen=True, slots=True)
class ExplainedIncident:
    """Incident of a flow, and its explanation.

    Attributes:
        start_ns: Start of the incident.
        end_ns: End of its repair.
        sent: Numbers of the sender's packets in it: dropped ones and retransmissions.
        answered: Numbers of the receiver's packets in it.
        explanation: Chain of causes.
    """

    start_ns: int
    end_ns: int
    sent: Sequence[int]
    answered: Sequence[int]
    explanation: Explanation


def explained_incidents(
    scenario: Scenario, tables: Mapping[str, pl.DataFrame], stretch: tuple[int, int], most: int
) -> list[ExplainedIncident]:
    """Losses, time-outs, spurious retransmissions and reductions, explained, in order of time.

    Args:
        scenario: Scenario of the run.
        tables: `flows`, `hops`, `packets`, `samples` and `queues` of the run.
        stretch: Start and end of the time in which the packets were kept, ns.
        most: Number of incidents; of more, the first are explained.
    """
    flows = tables["flows"].filter(pl.col("kind").is_in(TCP) & (pl.col("start_ns") >= 0))
    found: list[tuple[Observed, Incident]] = []
    for flow in flows["flow"]:
        seen = observe(scenario, flow, tables, stretch)
        found += [(seen, one) for one in (*episodes(seen), *lost_acks(seen))]
    found.sort(key=lambda one: one[1].start_ns)
    return [_explained(seen, incident) for seen, incident in found[:most]]


def _explained(seen: Observed, incident: Incident) -> ExplainedIncident:
    own = [*incident.drops, *incident.retransmissions]
    own += [incident.packet] if incident.packet is not None else []
    sent, answered = (
        sorted({one.number for one in own if one.out is out}) for out in (True, False)
    )
    chain = chain_of(seen, incident, incident.start_ns)
    return ExplainedIncident(incident.start_ns, incident.end_ns, sent, answered, chain)
