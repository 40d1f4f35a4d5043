"""Filter of rows: `COLUMN = VALUE`, joined by and, or, not, and brackets. It is no SQL.

```
filter  = all {"or" all}
all     = one {"and" one}
one     = "not" one | "(" filter ")" | column sign value
sign    = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~"
```
`~` asks whether a text contains another. Names and values with other signs than letters, digits and
`_ . : / % + -` stand in quotes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened
from dumbbell.levels import scale_of

#: Longest filter, and deepest nesting.
MOST_LETTERS, _DEEPEST = 500, 20

_TOKEN = re.compile(
    r"\s*(?:(?P<sign><=|>=|!=|[=<>~])|(?P<bracket>[()])"
    r"|\"(?P<quoted>[^\"]*)\"|'(?P<single>[^']*)'|(?P<word>[\w.:/%+µμ-]+))"
)
_NUMBER = re.compile(r"[-+]?\d[\d.eE+-]*")
_JOINS = ("and", "or", "not")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_HOW = "should be as cc = cubic and rtt >= 20 ms (signs = != < <= > >= ~, and, or, not, brackets)"


class FilterError(DumbbellError):
    """Filter that is not understood."""


class Filter:
    """A filter that was read.

    Attributes:
        names: Columns that it names.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MOST_LETTERS:
            raise FilterError(f"filter: longer than {MOST_LETTERS} letters")
        self._tokens = _tokens(text)
        self._place = 0
        self.names: list[str] = []
        self._tree: _Made | None = None
        if self._tokens:
            self._tree = self._any(0)
            if self._place < len(self._tokens):
                raise self._wrong()

    def expression(
        self, factors: Mapping[str, Sequence[str]], texts: Sequence[str], numbers: Sequence[str]
    ) -> pl.Expr | None:
        """Expression over rows with these columns; None: all rows.

        Raises `FilterError` for a column that is not there, or a value that does not fit it.
        """
        known = [*factors, *texts, *numbers]
        for name in self.names:
            if name not in known:
                near = nearest_name(name, known)
                hint = did_you_mean(near)
                raise FilterError(f"filter: no column {shortened(name)!r}{hint}")
        return None if self._tree is None else self._tree(_Columns(factors, texts))

    def _any(self, depth: int) -> _Made:
        parts = [self._all(depth)]
        while self._took("or"):
            parts.append(self._all(depth))
        return lambda columns: pl.any_horizontal(one(columns) for one in parts)

    def _all(self, depth: int) -> _Made:
        parts = [self._one(depth)]
        while self._took("and"):
            parts.append(self._one(depth))
        return lambda columns: pl.all_horizontal(one(columns) for one in parts)

    def _one(self, depth: int) -> _Made:
        if depth > _DEEPEST:
            raise self._wrong()
        if self._took("not"):
            inner = self._one(depth + 1)
            return lambda columns: ~inner(columns)
        if self._took("("):
            inner = self._any(depth + 1)
            if not self._took(")"):
                raise self._wrong()
            return inner
        name, sign, value = self._text(), self._sign(), self._value()
        self.names.append(name)
        return lambda columns: columns.compared(name, sign, value)

    def _took(self, word: str) -> bool:
        if self._place < len(self._tokens):
            kind, text = self._tokens[self._place]
            if text.lower() == word and kind in ("word", "bracket"):
                self._place += 1
                return True
        return False

    def _text(self) -> str:
        kind, text = self._here()
        joins = kind == "word" and text.lower() in _JOINS
        if kind not in ("word", "quoted") or joins:
            raise self._wrong()
        self._place += 1
        return text

    def _sign(self) -> str:
        kind, text = self._here()
        if kind != "sign":
            raise self._wrong()
        self._place += 1
        return text

    def _value(self) -> str:
        """A value: quoted, a word, or a number with its unit: `10 ms`."""
        quoted = self._here()[0] == "quoted"
        value = self._text()
        if quoted or self._place >= len(self._tokens) or not _NUMBER.fullmatch(value):
            return value
        kind, text = self._tokens[self._place]
        if kind == "word" and text.lower() not in _JOINS:
            self._place += 1
            return f"{value} {text}"
        return value

    def _here(self) -> tuple[str, str]:
        if self._place >= len(self._tokens):
            raise self._wrong()
        return self._tokens[self._place]

    def _wrong(self) -> FilterError:
        if self._place >= len(self._tokens):
            return FilterError(f"filter: something is missing at its end; {_HOW}")
        found = self._tokens[self._place][1]
        return FilterError(f"filter: not understood at {shortened(found, 30)!r}; {_HOW}")


class _Columns:
    """Columns that a filter is applied to."""

    def __init__(self, factors: Mapping[str, Sequence[str]], texts: Sequence[str]) -> None:
        self._factors = factors
        self._texts = texts

    def compared(self, name: str, sign: str, value: str) -> pl.Expr:
        """Rows in which a column compares so with a value."""
        if name in self._factors:
            levels = [one for one in self._factors[name] if self._fits(name, one, sign, value)]
            return pl.col(name).is_in(levels)
        column = pl.col(name)
        if name in self._texts:
            text = column.str.to_lowercase()
            if sign == "~":
                return text.str.contains(value.lower(), literal=True)
            if sign not in ("=", "!="):
                raise FilterError(f"filter: {name} is text, which has no order: = != ~")
            return text == value.lower() if sign == "=" else text != value.lower()
        try:
            number = float(value)
        except ValueError:
            raise FilterError(
                f"filter: {name} is compared with a number, not {shortened(value, 30)!r}"
            ) from None
        if sign == "~":
            raise FilterError(f"filter: {name} is a number: = != < <= > >=")
        column = column.cast(pl.Float64)
        compared = {
            "=": column == number,
            "!=": column != number,
            "<": column < number,
            "<=": column <= number,
            ">": column > number,
            ">=": column >= number,
        }
        return compared[sign] & column.is_not_nan()

    def _fits(self, name: str, level: str, sign: str, value: str) -> bool:
        """Returns true if a level compares so with a value."""
        folded, wanted = " ".join(level.split()).lower(), " ".join(value.split()).lower()
        if sign == "~":
            return wanted in folded
        scale = scale_of([level, value])
        if sign in _COMPARE:
            if scale is None:
                raise FilterError(
                    f"filter: {name} {sign} {shortened(value, 30)}: {shortened(level, 30)!r} and it"
                    " are no numbers in one unit"
                )
            return _COMPARE[sign](scale.values[level], scale.values[value])
        same = folded == wanted or (
            scale is not None and scale.values[level] == scale.values[value]
        )
        return same == (sign == "=")


_Made = Callable[[_Columns], pl.Expr]


def _tokens(text: str) -> list[tuple[str, str]]:
    found, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FilterError(f"filter: not understood at {shortened(text[place:], 30)!r}; {_HOW}")
        kind = str(match.lastgroup)
        found.append(("quoted" if kind == "single" else kind, match[kind]))
        place = match.end()
    return found
