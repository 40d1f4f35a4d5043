"""Formats of other tools, and the files of an experiment in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.errors import DumbbellError
from dumbbell.export import flent
from dumbbell.export.run import OneRun
from dumbbell.files.names import distinct, run_words
from dumbbell.files.output import write_output
from dumbbell.store.store import Store


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    Attributes:
        suffix: End of the names of its files.
        encode: Writer of a run. Raises `DumbbellError` for a run that the format cannot have.
    """

    suffix: str
    encode: Callable[[OneRun], bytes]


FORMATS = {"flent": Format(flent.SUFFIX, flent.encode)}


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
    one = FORMATS[form]
    with Store(store, write=False) as opened:
        key, _ = opened.chosen(experiment)
        record = next(each for each in opened.experiments() if each.id == key)
        done = [planned for planned in record.runs if planned.run in opened]
        info = record.info
        words = {
            place: run_words(info, {**planned.levels, "repeat": planned.repeat})
            for place, planned in enumerate(done)
        }
        names = distinct(words, one.suffix)
        for place, planned in enumerate(done):
            results = opened.results(replace(record, runs=(planned,)))
            run = OneRun(", ".join(words[place]), results)
            try:
                data = one.encode(run)
            except DumbbellError as error:
                raise DumbbellError(f"{run.title}: {error}", code=error.code) from None
            write_output(folder / names[place], data)
            yield folder / names[place], run.notes
