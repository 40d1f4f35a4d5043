"""Verb `help`: codes of errors, verbs, words of experiment files, pages of the documentation."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dumbbell.cli.guard import guarded
from dumbbell.codes import Code
from dumbbell.console import print_text
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened


class HelpCommand(TyperCommand):
    """Command that accepts `--page` without a name, which lists the pages."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Adds an empty name where the command line omits it."""
        return super().parse_args(ctx, [*args, ""] if args[-1:] == ["--page"] else args)


def help(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]",
            help="Code of an error (E203), verb (run, study run), field (duration), algorithm or "
            "discipline (red), TCP option (tcp_ecn), metric (jain), word of a table (BDP), subject "
            "(incast).",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Print a page of the documentation; without NAME: list them."
        ),
    ] = None,
) -> None:
    """Explain a code of an error, a verb, or a word. Alone: list subjects and codes."""
    with guarded():
        if page is not None:
            _show(_page_text(page) if page else _pages())
        elif not words:
            _show(_listed())
        else:
            _explain(ctx, words)


def _explain(ctx: typer.Context, words: list[str]) -> None:
    """Prints what the words mean: a code, then a verb, then what else has this name."""
    text = " ".join(words)
    code = _code(text)
    if code is not None:
        _show(_page(code))
        return
    verb = _verb_text(ctx, words)
    if verb is not None:
        print_text(f"{verb}\n")
    from dumbbell.help.topics import topic

    about = topic(text)
    if about:
        _show(f"\n{about}" if verb is not None else about)
    elif verb is None:
        raise DumbbellError(_unknown(ctx, text), code=Code.SELECTION)


def _code(text: str) -> Code | None:
    """Code that was typed: letter case, brackets and the letter E do not matter."""
    wanted = text.strip().strip("[]").upper()
    wanted = f"E{wanted}" if wanted.isdecimal() else wanted
    return Code(wanted) if wanted in list(Code) else None


def _verb_text(ctx: typer.Context, words: list[str]) -> str | None:
    """Help text of a verb, as `dumbbell VERB --help` prints it; None: there is no such verb."""
    here: Any = ctx.find_root()
    for word in words:
        command = getattr(here.command, "commands", {}).get(word)
        if command is None:
            return None
        here = type(ctx)(command, info_name=word, parent=here)
    return str(here.get_help())


def _unknown(ctx: typer.Context, text: str) -> str:
    """Message that nothing has this name, with the nearest one."""
    from dumbbell.help.topics import page_names, topic_names

    wanted = text.strip().strip("[]")
    if wanted[:1] in "eE" and wanted[1:].isdecimal() and len(wanted) < 10:
        near: str | None = min(Code, key=lambda code: abs(int(code[1:]) - int(wanted[1:])))
    else:
        verbs = getattr(ctx.find_root().command, "commands", {})
        near = nearest_name(wanted, [*verbs, *sorted(topic_names()), *page_names(), *Code])
    what = f"did you mean {near}?" if near is not None else "no name is like it."
    return (
        f"nothing is called {shortened(text)!r}; {what} `dumbbell help` lists subjects and the "
        "codes of errors, `dumbbell --help` the verbs, `dumbbell help --page` the pages"
    )


def _page_text(name: str) -> str:
    from dumbbell.help.topics import page_names, page_text

    text = page_text(name)
    if text is None:
        near = nearest_name(name, page_names())
        hint = did_you_mean(near, ";")
        raise DumbbellError(
            f"no page {shortened(name)!r}{hint} `dumbbell help --page` lists them",
            code=Code.SELECTION,
        )
    return text


def _pages() -> str:
    from dumbbell.help.topics import page_names, page_text

    lines = ["# Pages of the documentation", ""]
    for name in page_names():
        title = (page_text(name) or "").partition("\n")[0].lstrip("# ")
        lines.append(f"- {name}: {title}")
    lines += ["", "`dumbbell help --page NAME` prints one."]
    return "\n".join(lines) + "\n"


def _page(code: Code) -> str:
    from dumbbell.help import PAGES
    from dumbbell.help.reference import lines

    page = PAGES[code]
    name = page.see.partition("#")[0].removesuffix(".md").removesuffix("/index")
    more = f"More: `dumbbell help --page {name}`"
    return "\n".join((f"# {code}: {page.title}", "", *lines(page), more)) + "\n"


def _listed() -> str:
    from dumbbell.help import GROUPS
    from dumbbell.help.subjects import SUBJECTS

    found = [
        "The tutorial: `dumbbell help --page tutorial`. The verbs: `dumbbell --help`. The pages: "
        "`dumbbell help --page`.",
        "",
        "# Subjects",
        "",
        "`dumbbell help SUBJECT` has fields, metrics, pages and examples.",
        "",
        *(f"- {', '.join((one.name, *one.words[:3]))}" for one in SUBJECTS),
        "",
        "# Codes of errors",
        "",
    ]
    for group in GROUPS:
        found += [f"## {group.title}", ""]
        found += [f"- {page.code}: {page.title}" for page in group.pages]
        found.append("")
    found.append(
        "`dumbbell help WORD` explains a code, a verb, a field, an algorithm, a discipline, a TCP "
        "option, a metric, a word of a table or a subject."
    )
    return "\n".join(found) + "\n"


def _show(text: str) -> None:
    """Prints Markdown: with styles on a terminal, as it is elsewhere."""
    from dumbbell import console

    if not console.out.is_terminal:
        print_text(text)
        return
    from rich.markdown import Markdown

    console.out.print(Markdown(text, hyperlinks=False))
