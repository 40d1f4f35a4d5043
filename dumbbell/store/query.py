"""Questions in SQL to the tables of an experiment, answered by DuckDB from the files of a store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, StoreError, did_you_mean, nearest_name
from dumbbell.store.collector import collector_paused
from dumbbell.store.files import FileMark
from dumbbell.store.index import Kept
from dumbbell.store.records import design_of_rows, info_of
from dumbbell.store.segments import Segment
from dumbbell.store.store import Store
from dumbbell.store.tables import LARGE, SMALL, empty, frames_of

if TYPE_CHECKING:
    import duckdb

#: Tables that a query can name.
TABLES = ("runs", *SMALL, *LARGE)
#: Characters that DuckDB takes for patterns in names of files.
_PATTERN = re.compile(r"[*?\[\]{}]")
_HIDDEN = "hidden"
#: Words of queries that list tables.
_LISTING = {"show", "information_schema", "duckdb_views", "duckdb_tables"}


def query(store: Path, sql: str, experiment: str | None = None) -> pl.DataFrame:
    """Answer of a statement that reads.

    Args:
        store: Folder of the store.
        sql: One statement of DuckDB's SQL. The tables of the experiment are views with a column
            per factor.
        experiment: Name or id of the experiment; None: the one run last.

    Raises:
        StoreError: The store cannot be read, or a file that is needed is damaged.
        DumbbellError: DuckDB is not installed, or refuses the statement.
    """
    engine, store = _engine(), store.resolve()
    connection = engine.connect()
    try:
        with collector_paused(), Store(store, write=False) as opened:
            key, fields = opened.chosen(experiment)
            words = set(re.findall(r"\w+", sql.lower()))
            views = _Views(connection, opened, key, fields)
            for name in TABLES:
                if name in words or words & _LISTING:
                    views.make(name)
        connection.execute("SET allowed_directories = ?", [[str(store)]])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        statements = connection.extract_statements(sql)
        reads = (engine.StatementType.SELECT, engine.StatementType.EXPLAIN)
        if len(statements) != 1 or statements[0].type not in reads:
            raise DumbbellError(
                "a query is one statement that reads, as `select … from flows`", code=Code.QUERY
            )
        return _with_integers(pl.DataFrame(_Stream(connection.sql(sql))))
    except engine.CatalogException as error:
        raise DumbbellError(_unknown(str(error)), code=Code.QUERY) from None
    except engine.Error as error:
        raise DumbbellError(f"the query is refused: {error}", code=Code.QUERY) from None
    finally:
        connection.close()


def _with_integers(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with sums of whole numbers as such: they come as decimals without a fraction."""
    whole = [
        name
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Decimal) and kind.scale == 0
    ]
    return frame.with_columns(pl.col(whole).cast(pl.Int128))


def _unknown(error: str) -> str:
    """Message about something that is not there, mostly a table."""
    found = re.search(r"Table with name (\w+) does not exist", error)
    if found is None:
        return f"the query is refused: {error}"
    near = nearest_name(found[1], TABLES)
    hint = did_you_mean(near)
    return f"the query is refused: no table {found[1]!r}{hint}; there are {', '.join(TABLES)}"


class _Stream:
    """Rows in memory, for DuckDB or polars, both of which would import pyarrow for the other."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(schema)


def _engine() -> Any:
    try:
        import duckdb
    except ImportError:
        raise DumbbellError(
            "queries need DuckDB, which is not installed: pip install 'dumbbell-lab[query]'",
            code=Code.NOT_INSTALLED,
        ) from None
    return duckdb


class _Views:
    """Views of the tables of an experiment."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        store: Store,
        key: str,
        fields: Mapping[str, Any],
    ) -> None:
        self._connection = connection
        self._store = store
        self._key = key
        self._index, self._sound = store.index, store.sound
        self._design = design_of_rows(info_of(fields), fields["runs"])
        self._planned = set(self._design["run"])
        #: Damage of the tables of segments.
        self._bad = {
            segment.path: wrong[0]
            for segment in self._index.segments
            if (wrong := self._sound.of_segment(segment))
        }
        connection.execute(f"CREATE SCHEMA {_HIDDEN}")
        self._put("design", self._design)

    def make(self, name: str) -> None:
        """Makes a view. Raises `StoreError` if a file that it needs is damaged."""
        if _PATTERN.search(str(self._store.path)):
            self._put(name, getattr(self._store.results(self._key), name))
            self._connection.execute(f"CREATE VIEW {name} AS FROM {_HIDDEN}.{name}")
            return
        sources = self._large(name) if name in LARGE else self._small(name)
        rows = " UNION ALL BY NAME ".join(f"(FROM {source})" for source in sources)
        factors = self._design.columns
        taken = {one.lower() for one in factors}  # names of SQL have no case
        shown = [f"d.{_name(one)}" for one in factors]
        for column, *_ in self._connection.execute(f"DESCRIBE ({rows})").fetchall():
            if column != "run":
                alias = f"{column}_right" if column.lower() in taken else column
                shown.append(f"t.{_name(column)} AS {_name(alias)}")
        self._connection.execute(
            f"CREATE VIEW {name} AS SELECT {', '.join(shown)} "
            f"FROM {_HIDDEN}.design d JOIN ({rows}) t ON t.run = d.run"
        )

    def _small(self, name: str) -> list[str]:
        """Sources of a table in segments and journals."""
        segments: dict[Path, tuple[Segment, list[str]]] = {}
        entries = []
        for run in dict.fromkeys(self._design["run"].to_list()):
            copies = self._index.copies(run)
            kept = copies[0] if copies else None
            if kept is not None and kept.segment is not None and kept.segment.path in self._bad:
                kept = self._other(copies)
            if kept is None:
                continue
            if kept.entry is not None:
                entries.append(kept.entry)
            elif kept.segment is not None:
                segments.setdefault(kept.segment.path, (kept.segment, []))[1].append(run)
        frames = [frames_of(entries)[name]] if entries else []
        files = []
        for segment, own in segments.values():
            if name not in segment.tables:
                continue
            if self._is_doubled(segment, own):
                frames.append(segment.frame(name, own))
            else:
                files.append(segment.table(name))
        if frames or not files:
            self._put(name, pl.concat(frames) if frames else empty(name))
        sources = [f"{_HIDDEN}.{name}"] if frames or not files else []
        return sources + ([f"read_parquet({_list(files)}, union_by_name=true)"] if files else [])

    def _other(self, copies: Sequence[Kept]) -> Kept:
        """Copy of a run outside of damaged segments. Raises `StoreError` if there is none."""
        for one in copies:
            if one.segment is None or one.segment.path not in self._bad:
                return one
        path, what = self._bad[next(one.segment.path for one in copies if one.segment)]
        raise StoreError(f"{path}: {what}; `dumbbell store repair` repairs it", code=Code.DAMAGED)

    def _is_doubled(self, segment: Segment, own: Sequence[str]) -> bool:
        """Returns true if a segment has runs of the experiment that are read from elsewhere."""
        return len(set(segment.runs) & self._planned) != len(own)

    def _large(self, name: str) -> list[str]:
        """Sources of a table over time: a file per run."""
        marks: list[tuple[str, FileMark]] = []
        for run in dict.fromkeys(self._design["run"]):
            file = f"{run}.{name}.parquet"
            for kept in self._index.copies(run)[:1]:
                if file in (noted := kept.noted or {}):
                    marks.append((file, FileMark(*noted[file])))
        self._sound.examine(marks)
        for file, mark in marks:
            if (what := self._sound.problem(file, mark)) is not None:
                path = self._store.path / "runs" / file
                raise StoreError(
                    f"{path}: {what}; `dumbbell store repair` repairs it", code=Code.DAMAGED
                )
        if not marks:
            self._put(name, empty(name))
            return [f"{_HIDDEN}.{name}"]
        listed = _list(self._store.path / "runs" / file for file, _ in marks)
        run = "split_part(parse_filename(filename), '.', 1) AS run"
        return [f"(SELECT {run}, * EXCLUDE filename FROM read_parquet({listed}, filename=true))"]

    def _put(self, name: str, frame: pl.DataFrame) -> None:
        """Puts a frame where queries do not list it."""
        self._connection.register("given", _Stream(frame))
        self._connection.execute(f"CREATE TABLE {_HIDDEN}.{name} AS FROM given")
        self._connection.unregister("given")


def _name(column: str) -> str:
    doubled = column.replace('"', '""')
    return f'"{doubled}"'


def _list(paths: Iterable[Path]) -> str:
    quoted = (str(path).replace("'", "''") for path in paths)
    return "[" + ", ".join(f"'{path}'" for path in quoted) + "]"
