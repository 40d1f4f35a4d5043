"""Examples that ship with the package."""

from __future__ import annotations

from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.files.shipped import shipped


def example_names() -> list[str]:
    """Names of all examples."""
    return sorted(path.stem for path in shipped("_examples").glob("*.yaml"))


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
