"""Writes the tables of `docs/gym.md`: `python -m tests.write_gym_page`."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.gym import ACTIONS, OBSERVATIONS, REWARDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gym.md"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def blocks() -> dict[str, str]:
    """Generated tables by the name of their block."""
    actions = [
        (f"`{name}`", one.unit, f"{one.low:g} to {one.high:g}", one.about)
        for name, one in ACTIONS.items()
    ]
    observations = [
        (f"`{name}`", one.unit, "{:g} to {:g}".format(*one.bounds[1]), one.about)
        for name, one in OBSERVATIONS.items()
    ]
    rewards = [(f"`{name}`", one.formula, one.source) for name, one in REWARDS.items()]
    return {
        "actions": _table(("action", "unit", "range", "meaning"), actions),
        "observations": _table(
            ("observation", "unit", "range if normalised", "meaning"), observations
        ),
        "rewards": _table(("reward", "formula", "source"), rewards),
    }


def page() -> str:
    """The page with its tables renewed."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in blocks().items():
        block = re.compile(rf"<!-- {name} -->\n.*?<!-- end {name} -->", re.DOTALL)
        new = f"<!-- {name} -->\n{table}\n<!-- end {name} -->"
        text, found = block.subn(lambda _, new=new: new, text)
        assert found == 1, name
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
