"""`dumbbell help`: codes, verbs, words of files, pages; codes of errors of usage."""

from __future__ import annotations

import ast
import shlex
from collections import Counter

import pytest
import typer
from typer.testing import CliRunner

from dumbbell.catalogue import congestion_controls, disciplines, impairments, tcp_options
from dumbbell.cli import app
from dumbbell.cli.app import EXAMPLES
from dumbbell.help import PAGES
from dumbbell.help.subjects import SUBJECTS
from dumbbell.help.topics import _all_fields, page_names, page_text, topic, topic_names
from dumbbell.help.words import words as words_of_tables
from dumbbell.metrics import METRICS
from dumbbell.starter.examples import example_names
from tests.helpers import ROOT


def called(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return done.stderr if code else done.stdout


@pytest.mark.slow
def test_every_entry_of_the_catalogue_and_every_name_is_explained() -> None:
    for name, queue in disciplines().items():
        text = topic(name)
        assert queue.about.rstrip(".")[1:] in text
        assert all(f"- `{one.name}`" in text for one in queue.parameters)
    for name, control in congestion_controls().items():
        assert control.about.rstrip(".")[1:] in topic(name)
    for name in tcp_options():
        assert "a TCP option of a host" in topic(name)
    for name in ("udp", "loss", "duration", "rate", "jain", "target"):
        assert topic(name), name
    assert not [name for name in topic_names() if name[:1] == " "]
    assert topic("RED") == topic("red")
    assert topic("no such thing") == ""


@pytest.mark.parametrize("verb", [("run",), ("study", "run"), ("store",)])
def test_a_verb_is_explained_as_its_option_does(verb: tuple[str, ...]) -> None:
    assert called("help", *verb).strip().startswith(called(*verb, "--help").strip())


def test_a_word_that_is_verb_and_field_is_explained_as_both() -> None:
    text = called("help", "search")
    assert "Usage: dumbbell search" in text
    assert "a field of experiment files" in text


@pytest.mark.parametrize(
    ("word", "near"), [("reed", "red"), ("tcp_enc", "tcp_ecn"), ("duratoin", "duration")]
)
def test_a_misspelt_word_has_a_nearest_name(word: str, near: str) -> None:
    assert f"did you mean {near}?" in called("help", word, code=2)
    assert "[E015]" in called("help", word, code=2)


def test_pages_are_listed_and_printed() -> None:
    listed = called("help", "--page")
    names = page_names()
    assert "tutorial/01-first-experiment" in names
    assert all(f"- {name}: " in listed for name in names)
    for name in (
        "experiment-file",
        "docs/experiment-file/index.md",
        "experiment-file/index.md#start",
    ):
        assert called("help", "--page", name) == page_text("experiment-file")
    assert page_text("01-first-experiment") == page_text("tutorial/01-first-experiment")
    assert "did you mean captures?" in called("help", "--page", "capturs", code=2)


def test_lists_of_a_site_and_folds_are_words_on_a_terminal() -> None:
    assert "toctree" not in called("help", "--page", "tutorial")
    assert page_text("tutorial") == page_text("tutorial/index")
    index = called("help", "--page", "index")
    assert "**Start**\n\n- tutorial/index\n- features\n" in index
    assert "- how-to/queue\n" in index
    assert "*" not in index.replace("**", "")
    exercise = called("help", "--page", "course/01-window-and-buffer")
    assert "## Solution\n" in exercise
    assert "details>" not in exercise


def test_words_of_tables_are_explained() -> None:
    for word in words_of_tables():
        assert called("help", word).strip()
    assert "rate of the bottleneck times the base RTT" in called("help", "bdp")
    assert called("help", "congestion window") == called("help", "cwnd")


def test_subjects_lead_to_what_exists() -> None:
    fields = {path[-1] for path, _ in _all_fields()}
    names: list[str] = []
    for one in SUBJECTS:
        assert one.pages and one.fields and one.metrics, one.name
        assert set(one.fields) <= fields | set(impairments()), one.name
        assert set(one.metrics) <= {*METRICS}, one.name
        assert set(one.pages) <= set(page_names()), one.name
        assert set(one.examples) <= set(example_names()), one.name
        names += [one.name, *one.words]
    assert len(names) == len(set(names)) and all(name == name.lower() for name in names)


@pytest.mark.parametrize(
    "word",
    ["incast", "outage", "handover", "bufferbloat", "wifi", "multipath", "latency", "jitter",
     "pacing", "link down",
     "QoE", "5G", "fct"],
)  # fmt: skip
def test_words_of_the_field_are_found(word: str) -> None:
    text = called("help", *word.split())
    assert "- fields: `" in text and "- metrics: `" in text
    assert "- page: `dumbbell help --page " in text


def test_an_outage_leads_to_its_field_and_its_metrics() -> None:
    text = topic("outage")
    fields = "`changes` of the link with `state: down`, then `state: up`"
    for words in (fields, "`state`", "`outage_s`", "`stall_s`", "`resume_s`", "`recover_s`"):
        assert words in text


@pytest.mark.slow
def test_every_suggested_name_is_explained() -> None:
    """`help multipath` once said that nothing has this name, and suggested it."""
    assert not [name for name in topic_names() if not topic(name)]
    assert "Read it with `dumbbell help --page tutorial`" in called("help", "tutorial")


def test_help_alone_lists_subjects_before_codes() -> None:
    text = called("help")
    assert text.index("# Subjects") < text.index("- incast, ") < text.index("# Codes of errors")
    assert "- E203: " in text


def test_a_field_is_named_once_for_each_part_of_a_file() -> None:
    assert "`links.buffer`, `template.dumbbell.buffer`" in called("help", "buffer")


def test_pages_that_codes_name_are_there() -> None:
    for page in PAGES.values():
        assert page_text(page.see) is not None, page.code
    assert "More: `dumbbell help --page experiment-file/quantities`" in called("help", "E203")


@pytest.mark.parametrize(
    "words",
    [("rnu",), ("run",), ("run", "--foo"), ("--foo",), ("store", "sl"), ("run", "a", "b")],
)
def test_errors_of_usage_have_a_code(words: tuple[str, ...]) -> None:
    assert called(*words, code=2).rstrip().endswith("[E016]")


def test_what_is_missing_has_an_example() -> None:
    said = called("report", code=2)
    assert "For example: dumbbell report store -o report.html [E016]" in said
    assert "For example" not in called("study", "run", code=2)


def test_examples_of_verbs_name_what_they_need() -> None:
    group = typer.main.get_command(app)
    for verb, words in EXAMPLES.items():
        group.commands[verb].make_context(verb, shlex.split(words))  # type: ignore[attr-defined]


def test_help_texts_are_no_errors() -> None:
    for words in ((), ("store",)):
        assert "[E016]" not in CliRunner().invoke(app, words).output


def test_no_two_verbs_declare_the_same_option() -> None:
    """Options of several verbs are declared once (`dumbbell/cli/options.py`)."""
    declared = Counter(
        ast.unparse(node)
        for file in (ROOT / "dumbbell/cli").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated"
    )
    assert [text for text, count in declared.items() if count > 1] == []
