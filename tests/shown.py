"""Output of the experiments that README and `docs/explain.md` show."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

import dumbbell
from dumbbell.cli.app import app
from dumbbell.console.output import Output
from dumbbell.summary import overview
from dumbbell.summary.cells import cells
from tests.helpers import ROOT

README = ROOT / "README.md"
EXPLAIN = ROOT / "docs" / "explain.md"


def readme_parts(page: str) -> tuple[str, str]:
    """Experiment of the README and its output, with the command."""
    return re.findall(r"```yaml\n(.*?)```\n\n```console\n(.*?)```", page, re.DOTALL)[0]


def readme_table(experiment: str, folder: Path) -> str:
    """Table of the README's experiment."""
    file = folder / "two-flows.yaml"
    file.write_text(experiment, encoding="utf-8")
    console = Output()
    console.width = 100
    with console.capture() as found:
        results = dumbbell.run(file)
        console.print(overview.table(results, cells(results)))
    return "\n".join(line.rstrip() for line in found.get().rstrip().splitlines())


def explain_parts(page: str) -> tuple[str, str]:
    """Experiment of `docs/explain.md` and the output of `dumbbell explain` about it."""
    experiment, output = (
        part.partition("```")[0] for part in re.split("```yaml|```text", page)[1:]
    )
    return experiment, output


def explanation(experiment: str, folder: Path) -> str:
    """Output of `dumbbell explain` about the dip near 3.2 s."""
    file, store = folder / "dip.yaml", str(folder / "store")
    file.write_text(experiment, encoding="utf-8")
    assert CliRunner().invoke(app, ["run", str(file), "--store", store]).exit_code == 0
    found = CliRunner().invoke(app, ["explain", store, "--flow", "first", "--at", "3.2 s"])
    return found.stdout.strip()
