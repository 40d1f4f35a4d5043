"""Scoreboard of a suite of packetdrill scripts: verdicts by folder and engine, causes of failures.

    python scripts/packetdrill_scoreboard.py SUITE --engine sim:linux-7.3 --engine linux:7.3

Prints Markdown; `docs/packetdrill.md` has the output. The suite is the user's, not the project's.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dumbbell.packetdrill.engine import player_named
from dumbbell.packetdrill.plan import Plan, Played, Verdict
from dumbbell.packetdrill.playing import play_all
from dumbbell.packetdrill.suite import Script, find_scripts


def main() -> None:
    """Plays the suite and prints its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--commit", default="unknown", help="which state of the suite this is")
    parser.add_argument("--engine", action="append", required=True, help="linux:NAME, sim:PROFILE")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    scripts = find_scripts([given.suite])
    results = {name: _played(name, scripts, given.workers) for name in given.engine}
    print(f"{len(scripts)} scripts, {given.commit}.\n")
    for line in (*table(scripts, results), "", *causes(results)):
        print(line)


def _played(engine: str, scripts: Sequence[Script], workers: int) -> list[Played]:
    name, _, profile = engine.partition(":")
    player = player_named("sim", profile or None) if name == "sim" else player_named(engine)
    return play_all(player, scripts, Plan(), workers=workers)


def group(script: Script) -> str:
    """Folder of a script; where all lie in one folder, the first words of its name."""
    parts = Path(script.name).parts
    return parts[0] if len(parts) > 1 else "_".join(script.path.stem.split("_")[:2])


def table(scripts: Sequence[Script], results: dict[str, list[Played]]) -> Iterator[str]:
    """A row per group: scripts, then passed, failed and not modelled on each engine."""
    yield f"| scripts of | number | {' | '.join(results)} |"
    yield f"| --- | ---: | {' | '.join('---' for _ in results)} |"
    for name in sorted({group(script) for script in scripts}):
        cells = [_cell([p for p in found if group(p.script) == name]) for found in results.values()]
        number = sum(group(script) == name for script in scripts)
        yield f"| {name} | {number} | {' | '.join(cells)} |"
    cells = [_cell(found) for found in results.values()]
    yield f"| **all** | {len(scripts)} | {' | '.join(cells)} |"


def _cell(found: Sequence[Played]) -> str:
    counts = Counter(one.verdict for one in found)
    parts = [f"{counts[Verdict.PASSED]} passed"]
    parts += [f"{counts[Verdict.FAILED]} failed"] if counts[Verdict.FAILED] else []
    parts += [f"{counts[Verdict.NOT_MODELLED]} not"] if counts[Verdict.NOT_MODELLED] else []
    return ", ".join(parts)


def causes(results: dict[str, list[Played]]) -> Iterator[str]:
    """A row per script that failed somewhere: line and message on each engine."""
    failed = sorted({p.script.name for found in results.values() for p in found if p.failed})
    if not failed:
        return
    yield "| script | engine | line | what differs |"
    yield "| --- | --- | ---: | --- |"
    for name in failed:
        for engine, found in results.items():
            one = next(p for p in found if p.script.name == name)
            if one.failed:
                message = one.message.replace("|", "\\|").replace("\n", " ")
                yield f"| `{name}` | {engine} | {one.line or ''} | {message[:160]} |"


if __name__ == "__main__":
    main()
