"""Contents of a result file: what a reader of a format returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, shortened

#: Name of a column → value; what is missing is unknown.
Row = dict[str, int | float | str]
#: Longest time of a file, ns: ten years.
MOST_NS = 10 * 366 * 86_400 * 10**9
#: Largest number of a column.
_MOST = 2**62
#: Rows of a table that a file may have.
MOST_ROWS = 2_000_000
#: Tables that files fill.
TABLES = ("flows", "samples", "probes", "transfers")
#: Notes that are kept of a file.
_MOST_NOTES = 20
#: Letters of a name that comes from a file.
_NAME = 120


class MeasuredError(DumbbellError):
    """File that cannot be read.

    Attributes:
        place: Where in the file: a line, a field; empty: the whole file.
        what: What is wrong.
    """

    code = Code.IMPORT

    def __init__(self, place: str, what: str, file: str = "") -> None:
        self.place, self.what = place, what
        super().__init__(": ".join(one for one in (file, place, what) if one))

    def of(self, file: str) -> MeasuredError:
        """The same error with the name of the file."""
        return MeasuredError(self.place, self.what, file)


@dataclass(slots=True)
class Measured:
    """Contents of a file.

    Attributes:
        flows: Rows of `flows`. Each has `flow`, `kind`, `start_ns`, `established_ns`, `end_ns`.
        samples: Rows of `samples`, in order of time.
        probes: Rows of `probes`.
        transfers: Rows of `transfers`.
        about: What the file says of its origin: tool, version, host, time, title.
        notes: What was left out, and where numbers of the file contradict each other.
    """

    flows: list[Row] = field(default_factory=list)
    samples: list[Row] = field(default_factory=list)
    probes: list[Row] = field(default_factory=list)
    transfers: list[Row] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Adds a note; beyond a number of notes, none."""
        if len(self.notes) < _MOST_NOTES and text not in self.notes:
            self.notes.append(text)

    def checked(self) -> Measured:
        """Itself. Raises `MeasuredError` if it has no flow, a flow twice, or too many rows."""
        if not self.flows:
            why = f"; {self.notes[0]}" if self.notes else ""
            raise MeasuredError("", f"nothing measured in it: no stream, flow or probe{why}")
        names = [one["flow"] for one in self.flows]
        if len(set(names)) < len(names):
            raise MeasuredError("", "two flows have one name")
        for name in TABLES:
            if len(getattr(self, name)) > MOST_ROWS:
                raise MeasuredError("", f"more than {MOST_ROWS} rows of {name}")
            for row in getattr(self, name):
                self._bound(row)
        return self

    def _bound(self, row: Row) -> None:
        """Leaves out values that no column has."""
        large = [key for key, value in row.items() if not isinstance(value, str) and value >= _MOST]
        for key in large:
            self.note(f"{row['flow']}: {key} is too large, left out")
            del row[key]

    @property
    def duration_ns(self) -> int:
        """Time of the last row."""
        ends = [int(one["end_ns"]) for one in self.flows]
        return max([*ends, *(int(one["time_ns"]) for one in self.samples)], default=0)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    Attributes:
        name: Name for `--as`.
        title: What it is, for people.
        version: Version of its reader. It changes whenever the same file gives another result.
        looks: Returns true if data look like this format.
        read: Reader of the data. Raises `MeasuredError`.
    """

    name: str
    title: str
    version: int
    looks: Callable[[bytes], bool]
    read: Callable[[bytes], Measured]


def life(start_ns: int, end_ns: int) -> Row:
    """Columns of a flow that lives from `start_ns` to `end_ns`."""
    return {"start_ns": start_ns, "established_ns": start_ns, "end_ns": end_ns}


def plain_name(text: str) -> str:
    """A name from a file, on one line and of bounded length."""
    return shortened(text, _NAME)
