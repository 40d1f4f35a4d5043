"""Answered questions: pages are current, and each claim holds in the simulator.

`python -m tests.write_questions`.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

import dumbbell
from docs.playground_links import address
from dumbbell.compare.expectations import check
from dumbbell.experiment import load
from tests.questions.measured import digest, kernel, rows
from tests.questions.page import INDEX, chosen, index, link, page
from tests.questions.source import PAGES, TOPICS, Question, questions, read

EVERY = questions()
RENEW = "python -m tests.write_questions"


def test_there_are_twenty_five_and_the_index_lists_them() -> None:
    assert len(EVERY) >= 25
    text = INDEX.read_text(encoding="utf-8")
    assert text == index(EVERY), RENEW
    assert {one.topic for one in EVERY} == set(TOPICS)
    assert {one.stem for one in PAGES.glob("*.md")} == {"index", *(one.name for one in EVERY)}


def test_threads_are_linked_by_their_names() -> None:
    assert link("a/b#12") == "[a/b#12](https://github.com/a/b/issues/12)"
    for one in EVERY:
        assert one.asked and all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", each) for each in one.asked)


def test_numbers_of_the_kernel_are_of_these_files() -> None:
    named = {row["question"]: row["file"] for row in rows()}
    assert named == {one.name: digest(one) for one in EVERY if one.kernel}, f"{RENEW} --kernel"


@pytest.mark.slow
@pytest.mark.parametrize("question", EVERY, ids=lambda one: one.name)
def test_the_page_is_current_and_its_claim_holds(question: Question) -> None:
    results = dumbbell.run(question.experiment)
    expected = load(question.experiment).expect
    failed = [one.words for one in check(results, expected) if not one.holds]
    assert failed == []
    written = question.page.read_text(encoding="utf-8")
    # Advice has its own tests; here it is taken as it stands.
    said = re.search(r"## The line of tc\n\n(.*?)\n\n## Experiment", written, re.DOTALL)
    assert page(question, results, advice=said[1] if said else "") == written, RENEW
    if question.figure:
        assert question.image.stat().st_size < 40_000


def test_a_wrong_sentence_key_or_topic_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no sentence has 'another'"):
        chosen(EVERY[0], ["a sentence"], "another")
    source = (PAGES / "netem-limit.yaml").read_text(encoding="utf-8")
    for old, new, why in (
        ("topic: netem and tc", "topic: weather", "unknown topic weather"),
        ("limits:", "bounds:", "unknown .'bounds'."),
        ("kernel: {repeats: 3}", "", "either `kernel` or"),
    ):
        assert old in source
        file = tmp_path / "e.yaml"
        file.write_text(source.replace(old, new), encoding="utf-8")
        with pytest.raises(ValueError, match=why):
            read(file)


def test_numbers_of_another_file_are_not_shown() -> None:
    one = next(each for each in EVERY if each.kernel)
    assert kernel(one) is not None
    assert kernel(replace(one, columns=one.columns[1:])) is None


def test_the_address_is_that_of_copy_link() -> None:
    text = EVERY[0].text
    packed = base64.urlsafe_b64decode(address(text) + "==")
    assert json.loads(zlib.decompress(packed, wbits=-15)) == {"text": text, "levels": {}}
