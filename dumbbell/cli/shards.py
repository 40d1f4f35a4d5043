"""Messages of verbs about shards."""

from __future__ import annotations

import shlex
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.console import say
from dumbbell.errors import DumbbellError
from dumbbell.execution.shard import Shard


def refuse_json(json_file: Path | None) -> None:
    """Refuses `--json` beside `--shard`: a shard has no tables."""
    if json_file is not None:
        raise DumbbellError(
            f"--json {json_file}: not with --shard: tables are made of all shards. Merge them "
            "(`dumbbell store merge`), then run the same command without --shard",
            code=Code.EXCLUSIVE,
        )


def say_done(shard: Shard, store: Path) -> None:
    """Says that a shard is done, and what to do with it."""
    name = shlex.quote(str(store))
    say(f"Shard {shard} is done. Its runs are kept in {store}.")
    if shard.of > 1:
        say(
            f"All {shard.of} shards together: dumbbell store merge {name} OTHERS… -o ALL, then "
            "this command with --store ALL and without --shard"
        )
