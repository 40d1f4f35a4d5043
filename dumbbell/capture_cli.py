"""How the verb `capture` reads its command line; nothing heavy is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.core import TyperCommand

#: In place of a file or folder: to standard output.
PRINTED = "-"
#: pcap in either order, pcapng, gzip, zstd.
_BEGINNINGS = (
    b"\xa1\xb2",
    b"\xd4\xc3\xb2\xa1",
    b"\x4d\x3c\xb2\xa1",
    b"\n\r\r\n",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
)


class CaptureCommand(TyperCommand):
    """Lets `--json` and `--csv` stand alone, and several classes follow one `--class`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Writes out what was left out."""
        full: list[str] = []
        in_classes = False
        for number, word in enumerate(args):
            follows = args[number + 1] if number + 1 < len(args) else None
            if word.startswith("--"):
                in_classes = word == "--class"
            elif in_classes and full[-1] != "--class":
                if Path(word).exists():
                    in_classes = False
                else:
                    full.append("--class")
            full.append(word)
            alone = follows is None or follows.startswith("--") or _is_capture(Path(follows))
            if word in ("--json", "--csv") and alone:
                full.append(PRINTED)
        return super().parse_args(ctx, full)


def _is_capture(path: Path) -> bool:
    """Would something that is to be written replace a capture?"""
    try:
        with path.open("rb") as file:
            return file.read(4).startswith(_BEGINNINGS)
    except OSError:
        return False
