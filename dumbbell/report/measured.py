"""Files behind the measured runs of an experiment."""

from __future__ import annotations

from dumbbell.face.markup import Markup, table, tag
from dumbbell.metrics import Tables
from dumbbell.runs import MEASURED, measured_from

#: Files of a table.
_MOST = 200


def measured_files(results: Tables) -> list[Markup]:
    """Table of files, their origin, and notes of the import; nothing without any."""
    own = results.runs.filter(results.runs["engine"].str.starts_with(MEASURED))
    rows = []
    for scenario in own["scenario"].unique(maintain_order=True).head(_MOST):
        found = measured_from(scenario)
        about = "; ".join(found["about"].values())
        rows.append([found["file"], found["format"], about, "; ".join(found["notes"])])
    if not rows:
        return []
    words = "These runs were measured elsewhere. What their files do not have is unknown."
    more = own["scenario"].n_unique() - len(rows)
    note = f"{words} {more} more files: dumbbell store export." if more > 0 else words
    return [
        table(["file", "format", "origin", "notes"], rows, left=4),
        tag("p", note, class_="caption"),
    ]
