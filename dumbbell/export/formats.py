"""Formats of other tools, and the files of an experiment in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.errors import DumbbellError
from dumbbell.export import flent, iperf3, latex, qlog, xplot
from dumbbell.export.run import OneRun
from dumbbell.files.names import distinct, run_words
from dumbbell.files.output import write_output
from dumbbell.store.store import Store


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    Attributes:
        suffix: End of the names of its files.
        encode: Writer of a run: name of a part of the run, or nothing → content. Raises
            `DumbbellError` for a run that the format cannot have.
    """

    suffix: str
    encode: Callable[[OneRun], Mapping[str, bytes]]


FORMATS = {
    "flent": Format(flent.SUFFIX, flent.encode),
    "iperf3": Format(iperf3.SUFFIX, iperf3.encode),
    "qlog": Format(qlog.SUFFIX, qlog.encode),
    "xplot": Format(xplot.SUFFIX, xplot.encode),
}
#: Format of a whole experiment.
LATEX = "latex"


def export_runs(
    store: Path, folder: Path, form: str, experiment: str | None = None
) -> Iterator[tuple[Path, list[str]]]:
    """Writes a file per run of an experiment.

    Args:
        store: Folder of the store.
        folder: Folder of the files, created if it is missing.
        form: Name of the format.
        experiment: Name or id of the experiment; None: the one run last.

    Yields:
        Path of each file, and what could not be written of the run.

    Raises:
        StoreError: The store cannot be read or is damaged.
        DumbbellError: The format cannot have a run.
        OutputError: A file cannot be written.
    """
    with Store(store, write=False) as opened:
        key, _ = opened.chosen(experiment)
        record = next(each for each in opened.experiments() if each.id == key)
        done = [planned for planned in record.runs if planned.run in opened]
        info = record.info
        if form == LATEX:
            path = folder / distinct({0: [info.name]}, latex.SUFFIX)[0]
            write_output(path, latex.table(opened.results(record)))
            yield path, []
            return
        one = FORMATS[form]
        words = {
            place: run_words(info, {**planned.levels, "repeat": planned.repeat})
            for place, planned in enumerate(done)
        }
        for place, planned in enumerate(done):
            results = opened.results(replace(record, runs=(planned,)))
            run = OneRun(", ".join(words[place]), results)
            try:
                parts = one.encode(run)
            except DumbbellError as error:
                raise DumbbellError(f"{run.title}: {error}", code=error.code) from None
            named = {part: [*words[place], *([part] if part else [])] for part in parts}
            notes = run.notes
            for part, name in _names(words, place, named, one.suffix).items():
                write_output(folder / name, parts[part])
                yield folder / name, notes
                notes = []


def _names(
    words: Mapping[int, list[str]], place: int, named: Mapping[str, list[str]], suffix: str
) -> dict[str, str]:
    """Names of the files of a run, each its own also among those of other runs."""
    if set(named) == {""}:
        return {"": distinct(words, suffix)[place]}
    own = distinct({(place, part): one for part, one in named.items()}, suffix)
    return {part: name for (_, part), name in own.items()}
