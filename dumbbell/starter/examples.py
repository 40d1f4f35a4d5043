"""Examples that ship with the package."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.files.shipped import shipped


def example_names() -> list[str]:
    """Names of all examples."""
    return sorted(path.stem for path in shipped("_examples").glob("*.yaml"))


def example_abouts() -> dict[str, str]:
    """First sentence about each example, by name."""
    folder = shipped("_examples")
    texts = {
        name: (folder / f"{name}.yaml").read_text(encoding="utf-8") for name in example_names()
    }
    return {name: _first_sentence(text) for name, text in texts.items()}


def _first_sentence(text: str) -> str:
    """First sentence of the comment at the top of a file, or of its description."""
    comment = [*takewhile(lambda line: line.startswith("#"), text.splitlines())]
    words = " ".join(line.removeprefix("#").strip() for line in comment)
    if not words:
        found = re.search(r"^description:(?: >-)?((?:.*\n  )*.*)", text, re.MULTILINE)
        words = " ".join(found[1].split()) if found else ""
    return re.split(r"(?<=[.?])\s", words)[0]


def example_named(name: str) -> tuple[str, list[Path]]:
    """Text of an example, and the files that it reads.

    Raises:
        ExperimentError: The name is unknown.
    """
    names = example_names()
    if name not in names:
        raise ExperimentError(
            "unknown example",
            found=shortened(name),
            allowed=names,
            nearest=nearest_name(name, names),
            code=Code.SELECTION,
        )
    folder = shipped("_examples")
    text = (folder / f"{name}.yaml").read_text(encoding="utf-8")
    others = [path for path in sorted(folder.iterdir()) if path.suffix in (".trace", ".csv")]
    return text, [path for path in others if path.name in text]
