"""An experiment that a program writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dumbbell.experiment.mapping import written
from dumbbell.experiment.source import parse, read
from dumbbell.files.output import write_output
from dumbbell.sections.fields import Fields


@dataclass(kw_only=True, eq=False, repr=False)
class Experiment(Fields):
    """An experiment. Its arguments are the fields of an experiment file.

    It is a mapping, too: `dumbbell.run(experiment)` runs it. Its parts are classes of
    `dumbbell.sections`, or mappings. Values are checked when it runs; errors have the path of the
    field, as `flows[0].tcp`.
    """

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Reads an experiment file. Its comments are lost.

        Raises:
            ExperimentError: It cannot be read, or has an unknown field.
        """
        return cls.of(parse(read(Path(path)), str(path)).plain())

    def yaml(self) -> str:
        """Text of the experiment file. Raises `ExperimentError`: a value has no form in a file."""
        return written(self)

    def write(self, path: str | Path) -> None:
        """Writes the experiment file.

        Raises:
            ExperimentError: A value has no form in a file.
            DumbbellError: The file cannot be written.
        """
        write_output(Path(path), self.yaml())
