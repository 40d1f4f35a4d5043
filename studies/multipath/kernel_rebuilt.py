"""Makes kernel-rebuilt.csv anew: `python studies/multipath/kernel_rebuilt.py STORE`.

Runs the cells of study 1 on the engine linux, set up as the reference `kernel.csv` was: three seeds
of 134 cells, about 20 minutes on two cores. What the store holds is not run again.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from rich.console import Console

import dumbbell
from dumbbell.execution import use_progress
from dumbbell.execution.bar import progress_on
from dumbbell.metrics import METRICS
from dumbbell.studies.definition import load_study
from dumbbell.studies.reference import filled, plain

NAME = "kernel-rebuilt"


def main(store: Path) -> None:
    """Runs everything that the store lacks, and writes the file."""
    study = load_study("multipath")
    reference = study.references[NAME]
    layout = reference.layout
    columns = [criterion.column for criterion in layout.criteria]
    written: list[list[str]] = []
    for part, setup in reference.parts.items():
        with use_progress(progress_on(Console(stderr=True))):
            results = dumbbell.run(study.folder / setup.experiment, engine="linux", store=store)
        factors = list(results.experiment.factors)
        rows: dict[tuple[str, ...], dict[str, str]] = {}
        for criterion in layout.criteria:
            for row in METRICS[criterion.metric].measure(results).iter_rows(named=True):
                flow = reference.flows.get(row["flow"])
                if flow is None or row["value"] != row["value"]:
                    continue
                levels = {factor: plain(row[factor]) for factor in factors}
                cell = [filled(template, levels) for template in setup.cell.values()]
                cc = cell[layout.columns.index(layout.algorithms[flow]) - 1].split(":")[0]
                key = (part, *cell, str(row["seed"]), flow, cc)
                rows.setdefault(key, {})[criterion.column] = f"{row['value']:.6g}"
        written += [[*key, *(row.get(name, "") for name in columns)] for key, row in rows.items()]
    with (study.folder / reference.file).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*layout.columns, "seed", "flow", "cc", *columns])
        table.writerows(written)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
