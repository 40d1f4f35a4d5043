"""The small picture that `dumbbell run` prints: the windows of one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from dumbbell.console.output import Output
from dumbbell.errors import DumbbellError
from dumbbell.show.chart import Terminal
from dumbbell.show.chosen import choose
from dumbbell.show.drawing import windows

_ROWS = 9


def picture(store: Path, levels: Mapping[str, str], out: Output) -> list[Text]:
    """Lines of the drawing of a run with these levels; none if it kept no windows."""
    cell = ",".join(f"{name}={level}" for name, level in levels.items())
    try:
        chosen = choose(store, cell or None, None)
    except DumbbellError:
        return []
    if chosen.samples.filter(chosen.samples["cwnd_packets"] >= 0).is_empty():
        return []
    terminal = Terminal(out.width, out.options.ascii_only, out.color_system is not None)
    return [Text(chosen.title, style="bold"), *windows(chosen, terminal, _ROWS), Text()]
