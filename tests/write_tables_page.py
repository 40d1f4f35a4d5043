"""Writes `docs/tables.md` from the schema: `python -m tests.write_tables_page`."""

from __future__ import annotations

import json
from pathlib import Path

from dumbbell import _core

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tables.md"
_HEAD = """\
# Result tables

What every engine fills, and an analysed capture or trace as far as it can know. In Python they are
frames of `results` (`results.flows`), in a store Parquet files; there each row begins with its run,
levels, repeat and seed. Units are the ends of names. In columns of whole numbers -1 means never or
not known, in others NaN does. `queues`, `samples`, `drops`, `probes`, `packets` and `hops` are kept
where [`sampling`](experiment-file.md#sampling) says so.

<!-- Written by `python -m tests.write_tables_page` from crates/model/src/tables.rs. -->
"""


def markdown() -> str:
    """The page."""
    parts = [_HEAD]
    for table in json.loads(_core.tables()):
        parts.append(f"\n## {table['name']}\n\n{table['meaning']}\n\n")
        parts.append("| column | | meaning |\n| --- | --- | --- |\n")
        for column in table["columns"]:
            meaning = column["meaning"].replace("|", "\\|")
            parts.append(f"| `{column['name']}` | {column['kind']} | {meaning} |\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
