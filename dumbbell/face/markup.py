"""HTML without accidents: every text is escaped unless it is markup already (MarkupSafe)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

#: No-break space.
NO_BREAK = "\u00a0"
#: Letters of an enumeration that stays on one line.
_LONG = 24
__all__ = ["Markup", "details", "escape", "joined", "table", "tag"]


def joined(parts: Iterable[object]) -> Markup:
    """Parts one after the other, each escaped unless it is markup."""
    return Markup("").join(map(escape, parts))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. Attributes: `class_` for class, `_` for `-`; None leaves one out."""
    given = [(key.strip("_").replace("_", "-"), value) for key, value in attributes.items()]
    written = "".join(
        f" {key}" if value is True else f' {key}="{escape(value)}"'
        for key, value in given
        if value is not None and value is not False
    )
    if name in ("br", "hr", "img", "meta", "link"):
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def table(
    head: Sequence[object], rows: Iterable[Sequence[object]], *, left: int = 1, class_: str = ""
) -> Markup:
    """A table that scrolls sideways where it does not fit; the first `left` columns are text.

    A long enumeration in a cell has several lines.
    """

    def cells(name: str, row: Sequence[object]) -> Markup:
        return joined(
            tag(name, _unbroken(cell), class_=_class(cell, "" if place < left else "number"))
            for place, cell in enumerate(row)
        )

    header = tag("thead", tag("tr", cells("th", head)))
    body = tag("tbody", joined(tag("tr", cells("td", row)) for row in rows))
    inner = tag("table", header, body, class_=class_ or None)
    return tag("div", inner, class_="scroll", tabindex="0")


def _is_long(cell: object) -> bool:
    plain = isinstance(cell, str) and not isinstance(cell, Markup)
    return plain and len(str(cell)) > _LONG and ", " in str(cell)


def _class(cell: object, own: str) -> str | None:
    return f"{own} wraps".strip() if _is_long(cell) else own or None


def _unbroken(cell: object) -> object:
    """A long enumeration, whose items are not broken; another cell as it is."""
    if not _is_long(cell):
        return cell
    return ", ".join(item.replace(" ", NO_BREAK) for item in str(cell).split(", "))


def details(summary: object, *children: object, open_: bool = False) -> Markup:
    """A part of the page that opens on demand."""
    return tag("details", tag("summary", summary), *children, open=open_)
