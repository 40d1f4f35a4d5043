"""Writes `docs/tables.md` from the schema: `python -m tests.write_tables_page`."""

from __future__ import annotations

import json
from pathlib import Path

from dumbbell import _core
from dumbbell.catalogue import known_columns

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tables.md"
_HEAD = """\
# Result tables

What every engine fills, and an analysed capture or trace as far as it can know. In Python they are
frames of `results` (`results.flows`), in a store Parquet files; there each row begins with its run,
levels, repeat and seed. Units are the ends of names. In columns of whole numbers -1 means never or
unknown, in others NaN does; no number is 0 because it is unknown. *Known from* names what fills a
column: the simulator (sim), the kernel (linux, and netns likewise), traces of ns-2 and ns-3. A
column that does not apply is unknown too: a window of UDP, or what a tap saw of a flow that passed
none. A metric of unknown columns is NaN. `queues`, `samples`, `drops`, `probes`, `packets` and
`hops` are kept where [`sampling`](experiment-file.md#sampling) says so.

<!-- Written by `python -m tests.write_tables_page` from crates/model/src/tables.rs, catalogue. -->
"""


def _known_from(table: str, column: str) -> str:
    origins = known_columns()
    found = [origin for origin, tables in origins.items() if column in tables[table]]
    return "all" if len(found) == len(origins) else ", ".join(found)


def markdown() -> str:
    """The page."""
    parts = [_HEAD]
    for table in json.loads(_core.tables()):
        parts.append(f"\n## {table['name']}\n\n{table['meaning']}\n\n")
        parts.append("| column | | known from | meaning |\n| --- | --- | --- | --- |\n")
        for column in table["columns"]:
            meaning = column["meaning"].replace("|", "\\|")
            known = _known_from(table["name"], column["name"])
            parts.append(f"| `{column['name']}` | {column['kind']} | {known} | {meaning} |\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
