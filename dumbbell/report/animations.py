"""Links to pages on which packets move, where they were made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dumbbell.report.markup import Markup, tag
from dumbbell.studies.definition import Study

#: Folder beside the report.
FOLDER = "animations"


def page_name(study: str, animation: str, levels: Mapping[str, str]) -> str:
    """The file of an animation."""
    words = [study, animation, *levels.values()]
    return "-".join("".join(c if c.isalnum() else "_" for c in word) for word in words) + ".html"


def animations_section(study: Study, beside: Path | None) -> list[Markup]:
    """A part of the report that links what stands beside it; else the command that makes it."""
    if not study.animations:
        return []
    body = [tag("h2", "Animations", id="animations")]
    for name, animation in study.animations.items():
        rows: list[Markup] = []
        complete = True
        for levels in animation.cells():
            varied = ", ".join(f"{factor} {levels[factor]}" for factor in animation.each)
            path = Path(FOLDER) / page_name(study.study, name, levels)
            made = beside is not None and (beside / path).is_file()
            rows.append(tag("li", tag("a", varied, href=path.as_posix()) if made else varied))
            complete = complete and made
        body += [tag("h3", animation.title), tag("ul", *rows)]
        if not complete:
            command = f"dumbbell study animate {study.study} -o {FOLDER}"
            words = (
                "Pages that are made beside this report, and it is written again: ",
                tag("code", command),
            )
            body.append(tag("p", *words))
    return body
