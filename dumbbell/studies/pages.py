"""Tables of pages, made from runs: what `studies/<name>/tables.py` writes between markers.

Such a file has one function, `tables(runs: Runs)`. For each table it yields the page (relative to
the study's folder), the name of the marker, and the lines. A marker is `<!-- NAME -->` on a line of
the page; the table ends at `<!-- end NAME -->`. Words around tables are written by hand.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from dumbbell.compare import Comparison, compare_engines
from dumbbell.experiment.load import Overrides
from dumbbell.files.output import json_text, write_output
from dumbbell.files.urls import below
from dumbbell.results import Results
from dumbbell.studies.definition import StudyError
from dumbbell.studies.names import study_folders
from dumbbell.studies.result import StudyResult
from dumbbell.studies.running import run_study

#: Page, marker, lines.
Made = tuple[str, str, list[str]]
FILE = "tables.py"
#: A verdict as it stands in tables.
SIGNS = {
    "reproduced": "✓ reproduced",
    "not reproduced": "✗ not reproduced",
    "within noise": "~ within noise",
    "inconsistent in the source": "! inconsistent",
}


@dataclass(frozen=True)
class Runs:
    """Runs for the tables of a study: what the store lacks is run.

    Attributes:
        folder: The study's.
        store: Folder in which runs are kept.
        engines: Engines that may be run. Tables that need another are left as they are.
        console: Where headings of parts go; None: nowhere.
    """

    folder: Path
    store: Path
    engines: Collection[str] = ("sim", "linux")
    console: Console | None = None

    def allows(self, *engines: str) -> bool:
        """Returns true if all of these engines may be run."""
        return set(engines) <= set(self.engines)

    def study(
        self,
        *,
        engine: str = "sim",
        parts: Sequence[str] | None = None,
        repeats: int | None = None,
        against: str | None = None,
    ) -> StudyResult:
        """The study, run. `parts`, `repeats`, `against`: as for `run_study`."""
        store = self.store if against is None else below(self.store, against)
        return run_study(
            self.folder,
            parts=parts,
            engine=engine,
            repeats=repeats,
            store=store,
            against=against,
            console=self.console,
        )

    def experiment(
        self, file: str, engine: str = "sim", chosen: Overrides | None = None
    ) -> Results:
        """An experiment file in the study's folder, run with overrides."""
        import dumbbell

        return dumbbell.run(self.folder / file, engine=engine, store=self.store, set=chosen or {})

    def compared(self, file: str, engines: Sequence[str] = ("sim", "linux")) -> Comparison:
        """An experiment file in the study's folder, run on two engines and compared."""
        return compare_engines(self.folder / file, engines, store=self.store)


def as_json(result: StudyResult | Comparison) -> dict[str, Any]:
    """A result as its `--json` has it: NaN is None."""
    found: dict[str, Any] = json.loads(json_text(result.to_json()))
    return found


def verdict_lines(
    ours: Sequence[Mapping[str, Any]],
    theirs: Sequence[Mapping[str, Any]] | None,
    number: Callable[[float | None], str],
    *,
    few: int | None = None,
) -> list[str]:
    """Table of the verdicts of both engines, with the intervals that decide.

    Args:
        ours: Claims of the simulator, as JSON.
        theirs: Claims of the kernel; None: it was not run.
        number: Writes a number.
        few: Repeats on the kernel, if they are too few for a verdict: its values stand alone.
    """
    heads = ["claim", "what", "simulator", "decided by (95 %)"]
    heads.append("kernel" if few is None else f"kernel, {few} repeats")
    kernel = {claim["id"]: claim for claim in theirs or ()}
    rows = []
    for claim in ours:
        low, high = (number(claim[one]) for one in ("low", "high"))
        decided = f"{number(claim['measured'])} [{low}, {high}]"
        other = kernel.get(claim["id"])
        found = "–" if other is None else number(other["measured"])
        if other is not None and few is None:
            found = f"{SIGNS[other['verdict']]}, {found}"
        rows.append([claim["id"], claim["text"], SIGNS[claim["verdict"]], decided, found])
    return markdown(heads, rows)


def number(value: float | None) -> str:
    """A value with three digits; without decimals from 100 on. None: a dash."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def tables_folder(name: str) -> Path:
    """The folder of a study with a `tables.py`. Raises `StudyError` if there is none."""
    known = {
        path.parent.name: path.parent
        for place in reversed(study_folders())
        for path in place.glob(f"*/{FILE}")
    }
    if name not in known:
        raise StudyError(f"no tables of {name!r}; there are those of {', '.join(sorted(known))}")
    return known[name]


def renew(runs: Runs, *, check: bool) -> Iterator[tuple[Path, str, bool]]:
    """Writes the tables of a study into its pages, or with `check` only compares them.

    Yields:
        Page, marker, and true if the table stood there as it was made.

    Raises:
        StudyError: A page lacks a marker.
        DumbbellError: Something cannot be run, or a page cannot be written.
    """
    with _module(runs.folder) as tables:
        for name, marker, lines in tables(runs):
            page = (runs.folder / name).resolve()
            if not page.is_file():
                raise StudyError(f"{page}: no such page; a checkout of the sources has the pages")
            before = page.read_text(encoding="utf-8")
            after = renewed(before, marker, lines, str(page))
            if after != before and not check:
                write_output(page, after)
            yield page, marker, after == before


def renewed(page: str, marker: str, lines: Sequence[str], name: str) -> str:
    """A page with other lines at a marker. Raises `StudyError` unless the marker stands there once.

    Args:
        page: Its text.
        marker: Which table.
        lines: What is to stand there.
        name: What the page is called in messages.
    """
    start, end = f"<!-- {marker} -->\n", f"<!-- end {marker} -->"
    if page.count(start) != 1 or page.count(end) != 1:
        raise StudyError(f"{name}: {start.strip()} and {end} should stand there once")
    before, rest = page.split(start)
    return before + start + "\n".join([*lines, end]) + rest.split(end)[1]


@contextlib.contextmanager
def _module(folder: Path) -> Iterator[Callable[[Runs], Iterator[Made]]]:
    """The function `tables` of a study; files beside it can be imported while it runs."""
    spec = importlib.util.spec_from_file_location(
        f"_tables_{folder.name.replace('-', '_')}", folder / FILE
    )
    if spec is None or spec.loader is None:
        raise StudyError(f"{folder / FILE}: no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
        yield module.tables
    finally:
        sys.path.remove(str(folder))
        del sys.modules[spec.name]
