"""Writes `docs/cli.md` and `docs/python.md`: `python -m tests.write_reference_pages`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import typer
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from tests.helpers import ROOT

CLI = ROOT / "docs" / "cli.md"
PYTHON = ROOT / "docs" / "python.md"
#: Width of the help.
_WIDTH = {"COLUMNS": "96", "TERMINAL_WIDTH": "96"}
_SECTIONS = re.compile(r"^(Args|Attributes|Returns|Raises):$", re.MULTILINE)


def cli_page() -> str:
    """The help of every verb."""
    lines = [
        "# Verbs and options",
        "",
        "This page is generated: it shows what `dumbbell VERB --help` prints.",
        "[The command line](command-line.md) says what the verbs do, with examples.",
        "",
    ]
    for names in _verbs(app, ()):
        lines += [f"## `dumbbell {' '.join(names)}`", "", "```text", *_help(names), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _verbs(group: typer.Typer, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Verbs of the program, those of families too."""
    found = [
        (*names, one.name or one.callback.__name__.replace("_", "-"))
        for one in group.registered_commands
        if one.callback and not one.hidden
    ]
    families = [
        verb
        for one in group.registered_groups
        if one.typer_instance is not None
        for verb in _verbs(one.typer_instance, (*names, str(one.name)))
    ]
    yield from sorted([*found, *families])


def _help(names: tuple[str, ...]) -> list[str]:
    shown = CliRunner().invoke(app, [*names, "--help"], prog_name="dumbbell", env=_WIDTH)
    assert shown.exit_code == 0, shown.output
    return [line.rstrip() for line in shown.stdout.strip().splitlines()]


def python_page() -> str:
    """Public names of the package, from their docstrings."""
    lines = [
        "# Python",
        "",
        "This page is generated from docstrings. All public names are in the package `dumbbell`.",
        "For Rust, `cargo doc --workspace --no-deps --open` shows the crates.",
        "",
        "```python",
        "import dumbbell",
        "",
        'results = dumbbell.run("two-flows.yaml", store="store")',
        'results.flows.select("rtt", "rtt_ms", "flow", "delivered_bytes")',
        "```",
        "",
        "A mapping may stand for the file. Its errors name the path of the key in place of a line:",
        "",
        "```python",
        "dumbbell.run(",
        "    {",
        '        "dumbbell": 1,',
        '        "name": "one flow",',
        '        "template": {"dumbbell": {"rate": "10 Mbit/s", "rtt": "40 ms"}},',
        '        "flows": [{"from": "s1", "to": "d1", "tcp": "cubix"}],',
        '        "duration": "10 s",',
        "    }",
        ")",
        "```",
        "",
        "```text",
        "ExperimentError: <mapping>: flows[0].tcp: unknown congestion control; found cubix; "
        "did you mean cubic? …",
        "```",
        "",
        "`dumbbell.sections` has a class for each section of the [experiment file]"
        "(experiment-file/index.md), so that an",
        "editor completes names of fields, and a type checker finds wrong ones:",
        "",
        "```python",
        "from dumbbell.sections import DumbbellTemplate, Experiment, Flow, Template",
        "",
        "experiment = Experiment(",
        '    name="two flows",',
        "    template=Template(",
        '        dumbbell=DumbbellTemplate(pairs=2, rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP")',
        "    ),",
        '    flows=[Flow(from_=f"s{n}", to=f"d{n}", tcp="$cc") for n in (1, 2)],',
        '    duration="10 s",',
        '    factors={"cc": ["cubic", "bbr"]},',
        ")",
        "dumbbell.run(experiment)",
        'experiment.write("two-flows.yaml")  # and Experiment.read reads it',
        "```",
        "",
    ]
    for name in dumbbell.__all__:
        if name != "__version__":
            lines += _public(name, getattr(dumbbell, name))
    return "\n".join(lines).rstrip() + "\n"


def _public(name: str, value: object) -> list[str]:
    lines = [f"## `{name}`", "", *_signature(name, value), *_doc(inspect.getdoc(value) or "")]
    if inspect.isclass(value):
        for member, one in sorted(vars(value).items()):
            if member.startswith("_") or not inspect.getdoc(one):
                continue
            function = one.func if hasattr(one, "func") else getattr(one, "fget", None) or one
            if inspect.isfunction(function):
                kind = "" if function is one else " (attribute)"
                lines += [f"### `{name}.{member}`{kind}", ""]
                lines += _signature(member, one) if function is one else []
                lines += _doc(inspect.getdoc(function) or "")
    return lines


def _signature(name: str, value: object) -> list[str]:
    if not inspect.isfunction(value):
        return []
    signature = inspect.signature(value)
    parameters = [one.replace(annotation=_short(one)) for one in signature.parameters.values()]
    result = signature.return_annotation
    shown = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    arrow = "" if result is inspect.Signature.empty else f" -> {result}"
    return ["```python", f"{name}{shown}{arrow}".replace("'", ""), "```", ""]


def _short(one: inspect.Parameter) -> object:
    return one.annotation


def _doc(text: str) -> list[str]:
    """A docstring as Markdown: its sections become lists."""
    parts = _SECTIONS.split(text)
    lines = [parts[0].strip(), ""]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        lines += [f"*{title}*", ""]
        entries = re.split(r"\n(?=    \S)", "\n" + body.strip("\n"))
        for entry in filter(None, (" ".join(one.split()) for one in entries)):
            head, colon, rest = entry.partition(": ")
            named = colon and re.fullmatch(r"[\w*]+", head)
            lines.append(f"- `{head}`: {rest}" if named else f"- {entry}")
        lines.append("")
    return lines


def main() -> None:
    """Writes both pages."""
    CLI.write_text(cli_page(), encoding="utf-8")
    PYTHON.write_text(python_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
