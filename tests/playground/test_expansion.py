"""The playground's page and the command line share one expansion; a page refuses what it lacks."""

from __future__ import annotations

import json

from dumbbell.playground.subset import REFUSED, schema
from tests.write_playground_page import PAGE, renewed


def test_the_schema_of_a_page_has_all_fields_but_the_refused() -> None:
    found = schema()
    assert not set(REFUSED[""]) & set(found["properties"])
    assert {"arrivals", "pages", "workload"} <= set(found["properties"])
    below = json.dumps(found["$defs"])
    assert '"mptcp":' in below and '"access":' in below
    assert '"file":' not in below


def test_documented_refusals() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert renewed(written) == written
