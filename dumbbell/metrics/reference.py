"""The page `docs/metrics.md`, written from the definitions."""

from __future__ import annotations

from dumbbell.metrics import SUBJECTS, Metric
from dumbbell.metrics.engines import ENGINES, known_on

_HEAD = """# Metrics

Every number of a table, figure or report is one of these metrics. A metric is computed from the
stored [result tables](tables.md) alone (`dumbbell.metrics`), in the same way for every engine. Its
name is used in `expect`, `repeats`, `search`, `dumbbell figure` and, in Python,
`dumbbell.METRICS["name"].measure(results)`.

- Columns in formulas are those of the table `flows`, unless another table is named in brackets.
- -1 in an integer column and NaN in a float column mean "not known".
- A metric that does not apply to a flow (the RTT of UDP) is NaN and is left out of means.
- *Place* is where the number is measured, *window of time* when. Metrics without *known on* are
  known on every engine.
- The value of a cell is the mean over its repeats, for every metric.

By subject:

SUBJECTS

This page is written from the definitions in `dumbbell/metrics`; a test compares the two.

## Three rates that are easily confused

| | bytes counted | where | time |
| --- | --- | --- | --- |
| goodput | payload, each byte once, in order | receiver | established_ns to end_ns |
| throughput | frames without FCS, duplicates and control included | receiver | start_ns to end_ns |
| sending rate | the same, retransmissions included | sender | start_ns to end_ns |

A full segment carries 1448 bytes of payload in a frame of 1514 (14 Ethernet, 20 IPv4, 20 TCP, 12
timestamps), so goodput is at most 95.64 % of a bottleneck's rate.
"""

_STATISTICS = """## Statistics over repeats
- **Mean and interval.** A cell (one combination of levels) is run several times with different
  seeds. The value is the mean over repeats. The interval is the 95 % interval of Student's t: mean
  ± t · s / √n over n repeats with n − 1 degrees of freedom, within the bounds of the metric. With
  one repeat there is no interval. [How often it holds the true mean](models/metrics.md#model).
  Source: Student, Biometrika 6(1), 1908.
- **Claims of studies** combine several metrics, also as ratios and as the lowest of several. The
  true means are drawn 10 000 times from Student's t as the repeats leave them open, all metrics
  of the same repeats jointly (fixed seed, PCG64). The interval has the central 95 % of what the
  draws give. Means and their differences have the interval of every other mean. Source: Gelman et
  al., Bayesian Data Analysis, 3rd edition, section 3.2.
- **Unit.** The repeat. Several flows or pipes that fall into one cell are averaged
  within each run first.
- **Differences and ratios** between cells are paired by repeat, so what repeats have in common
  cancels.
- **An ordering** ("A is below B in every cell") is judged by the share of draws in which it
  holds in all its cases at once.
- **Verdicts.** *reproduced*: the published value lies in the measured interval, widened by the
  tolerance that the study file fixes beforehand, or the ordering holds in at least 95 % of
  draws. *not reproduced*: it does not (for an ordering: it holds in at most 5 %). *within
  noise*: the interval is too wide to tell the claim from its opposite. *inconsistent in the
  source*: the source contradicts itself; the verdict says how, with the measured value beside it.

## Bandwidth-delay product
`dumbbell.metrics.flow_limits(scenario, flow)` gives rate × base RTT.

- **Rate**: the rate of the narrowest pipe of a path, added up over the paths that the flow's
  packets may take. A router without spraying uses the first path.
- **Base RTT**: the sum of fixed delays (propagation and netem) over the longest path there and
  back, without serialisation and queues.
- **In packets**: divided by what a full frame of the flow's MTU takes on the narrowest link, cells
  and overhead included (1514 bytes where nothing else is said).

Source: RFC 6349 §3.3.1.

## Left out
- **Reordering density** (RFC 5236) needs the displacement of every packet; the tables keep the
  ratio, the mean and the largest extent of RFC 4737 instead, so density cannot be computed from
  them.
"""


def _contents() -> str:
    """A line per subject: its link, and the names of its metrics."""
    lines = []
    for subject, metrics in SUBJECTS.items():
        link = subject.lower().replace(" ", "-")
        lines.append(f"- [{subject}](#{link}): " + ", ".join(f"`{one.name}`" for one in metrics))
    return "\n".join(lines)


def _entry(metric: Metric) -> str:
    unit = metric.unit or "a number without unit"
    rows = [
        f"### {metric.label} · `{metric.name}`",
        f"- **Formula**: {metric.formula}",
        f"- **Unit**: {unit}",
        f"- **Place**: {metric.place}",
        f"- **Window of time**: {metric.window}",
        f"- **Source**: {metric.source}",
    ]
    if known_on(metric.name) != ENGINES:
        rows.append(f"- **Known on**: {', '.join(known_on(metric.name))} alone")
    return "\n".join(rows)


def markdown() -> str:
    """The whole page as Markdown."""
    parts = [_HEAD.strip().replace("SUBJECTS", _contents())]
    for subject, metrics in SUBJECTS.items():
        parts.append(f"## {subject}")
        parts.extend(_entry(metric) for metric in metrics)
    parts.append(_STATISTICS.strip())
    return "\n\n".join(parts) + "\n"
