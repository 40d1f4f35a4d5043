"""Results of `dumbbell check` as JUnit XML, which continuous integration displays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

#: Characters that XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """A test case: its group (`expect`, `baseline`), name, and message if it fails.

    Attributes:
        group: Group of the test case.
        name: Name within the group.
        failure: Message; None: it passes.
    """

    group: str
    name: str
    failure: str | None = None


def xml(suite: str, cases: Sequence[Case], properties: Sequence[tuple[str, str]]) -> str:
    """A test suite as text of XML.

    Args:
        suite: Name of the suite.
        cases: Its test cases.
        properties: Names and values that describe it.
    """
    failures = sum(case.failure is not None for case in cases)
    root = ElementTree.Element("testsuites")
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    element = ElementTree.SubElement(root, "testsuite", {"name": _text(suite), **counts})
    described = ElementTree.SubElement(element, "properties")
    for name, value in properties:
        ElementTree.SubElement(described, "property", {"name": name, "value": _text(value)})
    element.extend(_elements(suite, cases))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _elements(suite: str, cases: Sequence[Case]) -> Iterator[ElementTree.Element]:
    for case in cases:
        names = {"classname": _text(f"{suite}.{case.group}"), "name": _text(case.name)}
        element = ElementTree.Element("testcase", names)
        if case.failure is not None:
            ElementTree.SubElement(element, "failure", {"message": _text(case.failure)})
        yield element


def _text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
