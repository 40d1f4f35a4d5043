"""The page of a scene."""

from __future__ import annotations

from dumbbell.animation.pack import packed
from dumbbell.animation.scene import Scene
from dumbbell.face.markup import Markup
from dumbbell.face.page import application, json_data
from dumbbell.files.output import json_text

#: Parts of the page's program, in their order.
_SCRIPTS = ("data", "moments", "words", "surface", "draw", "why", "panel", "charts", "main")


def page(scene: Scene) -> str:
    """The page."""
    header, columns = packed(scene)
    return application(
        f"{scene.title}: packets moving",
        "Dumbbell animation",
        package="dumbbell.animation",
        scripts=_SCRIPTS,
        data=[
            json_data("header", json_text(header)),
            Markup(f'<script type="text/plain" id="packed">{columns}</script>\n'),
        ],
    )
