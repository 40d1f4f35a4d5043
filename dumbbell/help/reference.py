"""docs/errors.md, and the page of one code as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.help import GROUPS, Page, Sections

_HEAD = """# Errors

Every message about a mistake ends with a code in brackets. `dumbbell help CODE` prints the entry
of this page, `dumbbell help` lists the codes. In Python an error has its code as `error.code`.

An entry has the cause, an example that is refused, what to do, and the corrected example.
`python -m tests.write_errors_page` writes this page, and a test runs each example. Examples of
experiment files show the sections that differ from

```yaml
{base}```

Groups: {groups}.
"""


def lines(page: Page) -> Iterator[str]:
    """Page of one code as Markdown, without the page that has more."""
    yield page.cause
    yield ""
    if isinstance(page.example, Sections):
        yield from _fenced("yaml", page.example.wrong)
        yield f"{page.fix}"
        yield ""
        yield from _fenced("yaml", page.example.right)
    else:
        for name, text in page.example.files.items():
            yield f"With `{name}`:"
            yield ""
            yield from _fenced("yaml" if name.endswith(".yaml") else "text", text.rstrip("\n"))
        yield from _fenced("text", page.example.wrong)
        yield f"{page.fix}"
        yield ""
        yield from _fenced("text", page.example.right)


def _fenced(language: str, text: str) -> Iterator[str]:
    yield f"```{language}"
    yield text
    yield "```"
    yield ""


def markdown() -> str:
    """The whole page."""
    from dumbbell.help.page import BASE

    groups = ", ".join(
        f"[{one.title}](#{one.title.lower().replace(' ', '-').replace(',', '')})" for one in GROUPS
    )
    parts = [_HEAD.format(base="\n".join(BASE.values()) + "\n", groups=groups)]
    for group in GROUPS:
        parts.append(f"## {group.title}\n")
        for page in group.pages:
            parts.append(f"### {page.code}: {page.title}\n")
            parts.append("\n".join((*lines(page), f"More: [{page.see}]({page.see})")) + "\n")
    return "\n".join(parts)
