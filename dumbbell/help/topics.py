"""Explanations of a word: of the catalogue, of experiment files, a metric, a word of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from dumbbell.catalogue import (
    InLinux,
    Parameter,
    congestion_controls,
    disciplines,
    impairments,
    tcp_options,
    traffic_kinds,
)
from dumbbell.experiment.schema import json_schema
from dumbbell.files.shipped import shipped
from dumbbell.help.subjects import subject, subject_words
from dumbbell.help.words import word as word_of_tables
from dumbbell.help.words import words as words_of_tables
from dumbbell.metrics import METRICS

#: Maximum number of places of a field, and of models inside each other.
_PLACES, _DEEP = 12, 12
#: Lists of pages, which a site makes of them; a fold with its title.
_LIST = re.compile(r"^```\{toctree\}\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
_FOLD = re.compile(r"^<details><summary>(.*?)</summary>|^</details>", re.MULTILINE)


def topic(word: str) -> str:
    """Markdown about a word; empty if nothing has this name. Letter case does not matter."""
    wanted = word.strip().lower()
    entries = list(_entries(wanted))
    about = word_of_tables(wanted)
    parts = [] if about is None else [about]
    parts += [*entries, *_fields(wanted, sections=bool(entries)), *_metric(wanted)]
    parts += [*_subject(wanted)] or [*_named_page(wanted)]
    return "\n\n".join(parts) + "\n" if parts else ""


def topic_names() -> set[str]:
    """All words that `topic` knows."""
    catalogue = (congestion_controls(), disciplines(), impairments(), tcp_options())
    names = {name for entries in (*catalogue, traffic_kinds()) for name in entries}
    names |= set(METRICS) | set(words_of_tables()) | subject_words() | set(page_names())
    return names | {path[-1] for path, _ in _all_fields()}


def page_names() -> list[str]:
    """Names of all pages of the documentation."""
    folder = shipped("_docs")
    found = [str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.md")]
    return sorted(found, key=lambda name: (name.count("/"), name))


def page_text(name: str) -> str | None:
    """Text of a page as a terminal shows it; None: there is no such page.

    The last part of its name is enough, and of a page `index` the folder.
    """
    wanted = name.strip().removeprefix("docs/").partition("#")[0].removesuffix(".md")
    names = page_names()
    found = [one for one in names if one in (wanted, f"{wanted.rstrip('/')}/index")] or [
        one for one in names if one.endswith(f"/{wanted}")
    ]
    if not found:
        return None
    text = (shipped("_docs") / f"{found[0]}.md").read_text(encoding="utf-8")
    return _FOLD.sub(_heading, _LIST.sub(_listed, text)).rstrip("\n") + "\n"


def _listed(block: re.Match[str]) -> str:
    """A list of pages as Markdown; nothing where it is hidden."""
    lines = [line for line in block[1].splitlines() if line]
    options = dict(line[1:].partition(":")[::2] for line in lines if line.startswith(":"))
    if "hidden" in options:
        return ""
    listed = [line for line in lines if not line.startswith(":")]
    # A page that is not in the package, as of a study, has no name for `--page`.
    found = [name for one in listed for name in page_names() if fnmatchcase(name, one)]
    pages = [f"- {name}" for name in dict.fromkeys(found)]
    return "\n".join((f"**{options.get('caption', 'Pages').strip()}**", "", *pages, ""))


def _heading(fold: re.Match[str]) -> str:
    return "" if fold[1] is None else f"## {fold[1]}"


def _entries(wanted: str) -> Iterator[str]:
    for control in congestion_controls().values():
        if wanted in (control.name, control.title.lower()):
            kind = "a congestion control" + (" of Multipath TCP" if control.coupled else "")
            field = "mptcp" if control.coupled else "tcp"
            yield _entry(control, f"{kind}, `{field}: {control.name}`", _linux(control.linux))
    for queue in disciplines().values():
        if wanted in (queue.name, queue.title.lower()):
            linux = _linux(queue.linux) if queue.linux else queue.not_in_linux
            text = _entry(queue, f"a queue discipline, `queue: {queue.name}`", linux)
            yield text + _parameters(queue.parameters)
    for traffic in traffic_kinds().values():
        if wanted in (traffic.name, traffic.title.lower()):
            text = _entry(traffic, f"a kind of traffic, `{traffic.name}:` of a flow", traffic.linux)
            yield text + _parameters(traffic.written)
    for one in impairments().values():
        if wanted in (one.name, one.name.partition(".")[0]):
            text = _entry(one, f"an impairment, `{one.name}:` of a link", one.linux or "refused")
            yield text + _parameters(one.parameters)
    option = tcp_options().get(wanted)
    if option is not None:
        about = _sentence(option.parameter.about)
        linux = (
            "no such setting" if option.place == "absent" else f"{option.place} {option.setting}"
        )
        lines = [
            f"## `{option.parameter.name}`: a TCP option of a host",
            f"{about} A value is {_value(option.parameter)}.",
            "Below `hosts` for all flows of a host, below `tcp.sender` or `tcp.receiver` for one "
            "flow. Defaults are those of the profile: `dumbbell help --page profiles`.",
            f"Linux: {linux.strip()}." + (f" Source: {option.source}." if option.source else ""),
        ]
        yield "\n\n".join(lines)


def _entry(one: Any, what: str, linux: str) -> str:
    source = f" Source: {one.source}." if one.source else ""
    lines = [f"## {one.title}: {what}", _sentence(one.about), f"Linux: {linux}.{source}"]
    if page_text(f"models/{one.name}") is not None:
        lines.append(f"More: `dumbbell help --page models/{one.name}`.")
    return "\n\n".join(lines)


def _linux(linux: InLinux | None) -> str:
    return "not in it" if linux is None else f"`{linux.name}`, since {linux.since}"


def _parameters(parameters: tuple[Parameter, ...]) -> str:
    lines = []
    for one in parameters:
        default = "required" if one.default is None else f"default {_written(one)}"
        default = f"default: {one.rule}" if one.rule is not None else default
        lines.append(f"- `{one.name}`: {one.about.removesuffix('.')}; {_value(one)}; {default}")
    return "\n\n" + "\n".join(lines) if lines else ""


def _written(one: Parameter) -> str:
    """Default of a parameter, with its unit."""
    if one.unit == "time":
        return f"`{int(one.default or 0) / 1e6:g} ms`"
    return f"`{one.default} bytes`" if one.unit == "bytes" else f"`{one.default}`".lower()


def _value(one: Parameter) -> str:
    """Values of a parameter, as `0 to 255`."""
    if one.unit == "choice":
        return "one of " + ", ".join(f"`{name}`" for name in one.choices)
    if one.unit in ("number", "signed") and one.most < 2**32 - 1:
        return f"{-one.most if one.unit == 'signed' else one.least} to {one.most}"
    words = {"flag": "true or false", "number": "a whole number", "bytes": "a size with its unit"}
    words |= {"time": "a time with its unit", "sizes": "three sizes, ascending"}
    words |= {"buffer": "`pages`, `copied` or a size"}
    return words.get(one.unit, f"a {one.unit}")


def _fields(wanted: str, *, sections: bool) -> Iterator[str]:
    """Places of the field in a file, with what it means there. `sections`: only at the top."""
    found: dict[str, list[str]] = {}
    for path, about in _all_fields():
        if path[-1].lower() == wanted and about and (len(path) == 1 or not sections):
            found.setdefault(about, []).append(".".join(path))
    if found:
        lines = [f"## `{wanted}`: a field of experiment files", ""]
        for about, places in list(found.items())[:_PLACES]:
            parts: dict[str, str] = {}
            for place in sorted(places, key=len):
                parts.setdefault(place.partition(".")[0], place)
            shortest = [*parts.values(), *sorted(set(places) - set(parts.values()), key=len)][:3]
            lines.append(f"- {', '.join(f'`{place}`' for place in shortest)}: {about}")
        lines += ["", "All fields, with units: `dumbbell help --page experiment-file`."]
        yield "\n".join(lines)


@cache
def _all_fields() -> tuple[tuple[tuple[str, ...], str], ...]:
    """Path of each field, as `links`, `rate`, and its description; each model once per place."""
    schema = json_schema()
    return tuple(_below(schema, schema, (), frozenset()))


def _below(
    part: Any, schema: Mapping[str, Any], path: tuple[str, ...], inside: frozenset[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(part, list):
        for one in part:
            yield from _below(one, schema, path, inside)
    if not isinstance(part, dict) or len(path) > _DEEP:
        return
    name = str(part.get("$ref", "")).rpartition("/")[2]
    if name:
        if name not in inside:
            yield from _below(schema["$defs"].get(name), schema, path, inside | {name})
        return
    for field, below in part.get("properties", {}).items():
        yield (*path, field), below.get("description", "")
        yield from _below(below, schema, (*path, field), inside)
    for key in ("anyOf", "allOf", "oneOf", "items", "additionalProperties"):
        yield from _below(part.get(key), schema, path, inside)


def _metric(wanted: str) -> Iterator[str]:
    if wanted in METRICS:
        metric = METRICS[wanted]
        lines = [
            f"## `{metric.name}`: a metric, {metric.axis}",
            f"Formula: {metric.formula}",
            f"Place: {metric.place}. Window: {metric.window}. Source: {metric.source}.",
            "All metrics: `dumbbell help --page metrics`.",
        ]
        yield "\n\n".join(lines)


def _subject(wanted: str) -> Iterator[str]:
    """Places that treat a subject of networking."""
    found = subject(wanted)
    if found is None:
        return
    lines = [f"## {found.name[:1].upper()}{found.name[1:]}", "", found.about, ""]
    if found.words:
        lines.append(f"- also: {', '.join(found.words)}")
    for what, names in (("fields", found.fields), ("metrics", found.metrics)):
        if names:
            lines.append(f"- {what}: {', '.join(f'`{name}`' for name in names)}")
    lines += [f"- page: `dumbbell help --page {name}`" for name in found.pages]
    lines += [f"- example: `dumbbell init {name}.yaml --example {name}`" for name in found.examples]
    yield "\n".join(lines)


def _named_page(wanted: str) -> Iterator[str]:
    """Pointer to the page of this name."""
    text = page_text(wanted)
    if text is not None:
        title = text.partition("\n")[0].lstrip("# ")
        yield f"## {title}: a page\n\nRead it with `dumbbell help --page {wanted}`."


def _sentence(about: str) -> str:
    text = about.strip()
    return text[:1].upper() + text[1:].removesuffix(".") + "."
