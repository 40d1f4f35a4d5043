"""The page of the explorer, and its files: no script or style stands in the page itself."""

from __future__ import annotations

from functools import lru_cache

from dumbbell.experiment.schema import json_schema
from dumbbell.explore.listing import DEFAULT_METRICS, metric_choices
from dumbbell.explore.series import QUANTITIES
from dumbbell.face.markup import tag
from dumbbell.face.page import (
    application_data,
    application_main,
    application_style,
    base_style,
    chart_library,
    editor_library,
    frame,
    json_data,
    program,
    theme_program,
)
from dumbbell.files.output import json_text

#: Parts of the page's program, in their order.
SCRIPTS = (
    "address",
    "server",
    "figure",
    "lines",
    "runs",
    "filters",
    "compare",
    "why",
    "packets",
    "run",
    "study",
    "editor",
    "edit",
    "main",
)


@lru_cache(maxsize=1)
def page() -> str:
    """The page."""
    facts = {
        "quantities": [
            {"name": name, "label": one.label, "table": one.table}
            for name, one in QUANTITIES.items()
        ],
        "metrics": metric_choices(),
        "shown": DEFAULT_METRICS,
    }
    head = [
        tag("link", rel="stylesheet", href="/style.css"),
        tag("link", rel="icon", href="data:,"),
    ]
    scripts = [
        application_data(),
        json_data("facts", json_text(facts)),
        tag("script", src="/charts.js"),
        tag("script", src="/editor.js"),
        tag("script", type="module", src="/theme.js"),
        tag("script", type="module", src="/explorer.js"),
    ]
    return frame("Dumbbell explorer", "Dumbbell explorer", application_main(), head, scripts)


@lru_cache(maxsize=1)
def files() -> dict[str, tuple[str, str]]:
    """Files of the page: path → media type and text."""
    package = "dumbbell.explore"
    script = "text/javascript"
    return {
        "/style.css": ("text/css", base_style() + application_style(package)),
        "/charts.js": (script, chart_library()),
        "/editor.js": (script, editor_library()),
        "/schema.json": ("application/json", json_text(json_schema())),
        "/theme.js": (script, theme_program()),
        "/explorer.js": (script, program(package, SCRIPTS)),
    }
