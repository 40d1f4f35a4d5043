"""Every model has a page with its limits and its agreement, and no page is old."""

from __future__ import annotations

import re

import pytest

from dumbbell.catalogue import (
    congestion_controls,
    disciplines,
    impairments,
    tcp_options,
    traffic_kinds,
)
from tests.helpers import ROOT
from tests.model_figures import MOST_BYTES, is_current, pictures
from tests.model_pages import (
    FOLDER,
    SCHEDULERS,
    SECTIONS,
    Page,
    impairment_page,
    pages,
    traffic_page,
)
from tests.write_model_pages import INDEX, index, renewed

PAGES = pages()
RUST = (ROOT / "crates" / "model" / "src" / "multipath.rs").read_text(encoding="utf-8")


def sections(page: Page) -> dict[str, str]:
    """Text of a page by section."""
    text = page.path.read_text(encoding="utf-8")
    return dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_all_sections_and_is_current(page: Page) -> None:
    assert page.path.is_file(), f"write docs/models/{page.name}.md, as the pages beside it"
    text = page.path.read_text(encoding="utf-8")
    assert text.startswith(f"# {page.title}\n")
    assert tuple(sections(page)) == SECTIONS
    for name, found in sections(page).items():
        assert re.sub(r"<!--.*?-->", "", found).strip(), f"{page.name}: {name} is empty"
    assert renewed(page, text) == text, "write it anew: python -m tests.write_model_pages"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_its_agreement_from_a_generated_table(page: Page) -> None:
    if page.name == "metrics":  # formulas, not a model
        return
    found = re.search(
        r"<!-- agreement -->\n(.*?)<!-- end agreement -->", sections(page)["Validation"], re.DOTALL
    )
    assert found is not None, page.name
    said = ("\n| --- |", "nothing to compare with", "packets are the same as on the kernel")
    assert any(words in found[1] for words in said), page.name


def test_the_index_is_that_of_the_pages() -> None:
    assert INDEX.read_text(encoding="utf-8") == index(), "python -m tests.write_model_pages"
    known = {page.path for page in PAGES} | {INDEX}
    assert set(FOLDER.glob("*.md")) == known


def test_every_entry_of_the_catalogue_has_a_page() -> None:
    by_name = {name: page for page in PAGES for name in page.names}
    for name in (*congestion_controls(), *disciplines()):
        blocks = ("facts", "parameters", "figure", "agreement")
        text = by_name[name].path.read_text(encoding="utf-8")
        assert all(f"<!-- {one} -->" in text for one in blocks), name
    for name in impairments():
        assert by_name[name].name == impairment_page(name)
    for name in traffic_kinds():
        assert by_name[name].name == traffic_page(name)
    variants = re.search(r"pub enum Scheduler \{(.*?)\n\}", RUST, re.DOTALL)
    assert variants is not None
    found = re.findall(r"^    (\w+),", variants[1], re.MULTILINE)
    assert len(found) == len(SCHEDULERS)
    listed = next(page for page in PAGES if page.name == "schedulers")
    text = listed.path.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in SCHEDULERS)


def test_every_tcp_option_is_on_a_page() -> None:
    listed = {name for page in PAGES for name in page.options}
    assert listed == set(tcp_options()), "tests/model_pages.py says which page lists an option"


@pytest.mark.parametrize("name", pictures())
def test_a_figure_is_drawn_from_its_values(name: str) -> None:
    one = pictures()[name]
    assert one.data.is_file(), f"python -m tests.model_figures {name}"
    assert is_current(one), "python -m tests.model_figures --draw"
    assert one.image.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        if file.startswith("http"):
            continue
        path = (FOLDER / file).resolve() if file else page.path
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {_anchor(one) for one in headings}, target


def _anchor(heading: str) -> str:
    """Anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
