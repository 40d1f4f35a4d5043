"""Writes `docs/tables.md` from the schema: `python -m tests.write_tables_page`."""

from __future__ import annotations

import json
from pathlib import Path

from dumbbell import _core
from dumbbell.catalogue import known_columns

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tables.md"
_HEAD = """\
# Result tables

The results of a run are these tables. Every engine fills them; an analysed capture or trace fills
what it knows. In Python they are frames of `results` (`results.flows`), in a store Parquet files,
where each row begins with its run, levels, repeat and seed.

- **Units** are the ends of names: `_ns`, `_bytes`, `_packets`, `_bps`. Times count from the start
  of the run.
- **Levels as numbers**: beside a factor whose levels are quantities of one kind, a column has them
  as numbers. The end of its name is the unit, which does not depend on the levels: `rtt_ms` for
  times, `rate_mbps`, `file_bytes`, `limit_packets`, `loss_percent`, `buffer_bdp` (multiples of the
  BDP), `start_rtt` (multiples of the RTT), `senders_number` for levels without a unit. It stands
  behind `seed`. There is none if a level is a word, if levels mix kinds (`1 BDP`, `100 packets`),
  or if a factor or a table has a column of that name.
- **Unknown**: -1 in columns of whole numbers (also *never*), NaN in others. No number is 0 because
  it is unknown. A column that does not apply is unknown too, as the window of UDP. A metric of
  unknown columns is NaN.
- **Known from** names what fills a column: the simulator (sim), the kernel (linux; netns fills the
  same), traces of ns-2 and ns-3 (trace), [files of other tools](import.md) (measured).
- **Over time**: `samples` and `queues` are kept by default, `drops`, `probes`, `packets` and `hops`
  if [`sampling`](experiment-file/sampling.md) asks for them.

TABLES

<!-- Written by `python -m tests.write_tables_page` from crates/model/src/tables.rs, catalogue. -->
"""


def _known_from(table: str, column: str) -> str:
    origins = known_columns()
    found = [origin for origin, tables in origins.items() if column in tables[table]]
    return "all" if len(found) == len(origins) else ", ".join(found)


def markdown() -> str:
    """The page."""
    tables = json.loads(_core.tables())
    names = ", ".join(f"[{table['name']}](#{table['name']})" for table in tables)
    parts = [_HEAD.replace("TABLES", f"Tables: {names}.")]
    for table in tables:
        parts.append(f"\n## {table['name']}\n\n{table['meaning']}\n\n")
        parts.append("| column | | known from | meaning |\n| --- | --- | --- | --- |\n")
        for column in table["columns"]:
            meaning = column["meaning"].replace("|", "\\|")
            known = _known_from(table["name"], column["name"])
            parts.append(f"| `{column['name']}` | {column['kind']} | {known} | {meaning} |\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
