"""Pages on which packets move: links to them, or the pages themselves in the report."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.face.markup import Markup, joined, tag
from dumbbell.face.page import module
from dumbbell.files.output import write_output

if TYPE_CHECKING:
    from dumbbell.studies.definition import Study

#: Folder beside the report.
FOLDER = "animations"
#: gzip, as browsers decompress it.
GZIP = 16 + zlib.MAX_WBITS
#: Compressed bytes of the pages that a report contains. Larger ones stand beside it.
MOST_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class RunAnimation:
    """Animation of a run.

    Attributes:
        words: Levels of its cell.
        note: Which run it is, and what of it is shown.
        packed: Its page, compressed with gzip.
    """

    words: str
    note: str
    packed: bytes


def run_animations(animations: Sequence[RunAnimation], report: Path | None) -> list[Markup]:
    """Links that open the animations: contained in the page, or files beside the report if large.

    `report`: Path of the report; None: the page contains them whatever their size.
    Raises `OutputError` if a file cannot be written.
    """
    within = report is None or sum(len(one.packed) for one in animations) <= MOST_BYTES
    rows, held = [], []
    for number, one in enumerate(animations, start=1):
        name = f"animation-{number}"
        if within or report is None:
            link = tag("a", one.words, href="#packets", data_page=name)
            text = Markup(base64.b64encode(one.packed).decode("ascii"))
            held.append(tag("script", text, type="text/plain", id=name))
        else:
            path = report.with_name(f"{report.stem}-{name}.html")
            write_output(path, zlib.decompress(one.packed, GZIP))
            link = tag("a", one.words, href=path.name)
        rows.append(tag("li", link, tag("span", f" ({one.note})", class_="faint")))
    words = "Every packet of a run, moving through the network."
    if within:
        code = files("dumbbell.report").joinpath("animations.js").read_text(encoding="utf-8")
        held.append(module(code))
        words += " The pages are in this file; each opens in a tab of its own."
    else:
        words += " The pages are files beside this one."
    return [tag("p", words), tag("ul", *rows), joined(held)]


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
