"""Prints the lines of the sources by room and kind: python scripts/size.py [REVISION]."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

#: Kinds of files that are counted, by the end of their names.
KINDS = {".rs": "Rust", ".py": "Python", ".pyi": "Python", ".md": "Markdown", ".js": "JavaScript"}
#: Folders whose parts are rooms of their own.
SPLIT = ("crates", "dumbbell", "tests", "docs")
#: Written by other programs.
LEFT_OUT = ("dumbbell/face/vendor/", "dumbbell/_")


def git(*arguments: str) -> str:
    """Output of git."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def room(name: str) -> str:
    """Room of a file: its folder, or the part of a folder that has rooms."""
    first, *rest = Path(name).parts
    return f"{first}/{rest[0]}" if first in SPLIT and len(rest) > 1 else first if rest else "."


def lines(revision: str) -> Counter[tuple[str, str]]:
    """Lines by room and kind of all files of a revision."""
    found: Counter[tuple[str, str]] = Counter()
    for line in git("grep", "-c", "", revision).splitlines():
        name, _, count = line.removeprefix(f"{revision}:").rpartition(":")
        kind = KINDS.get(Path(name).suffix)
        if kind is not None and not name.startswith(LEFT_OUT):
            found[room(name), kind] += int(count)
    return found


def main() -> None:
    """Prints a row per room, the largest first."""
    found = lines(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    kinds = list(dict.fromkeys(KINDS.values()))
    rooms = sorted({one for one, _ in found}, key=lambda one: -sum(found[one, k] for k in kinds))
    print(f"{'lines':28}" + "".join(f"{kind:>12}" for kind in kinds))
    for one in [*rooms, "all"]:
        counts = [
            sum(n for (_, k), n in found.items() if k == kind) if one == "all" else found[one, kind]
            for kind in kinds
        ]
        print(f"{one:28}" + "".join(f"{count or '':>12}" for count in counts))


if __name__ == "__main__":
    main()
