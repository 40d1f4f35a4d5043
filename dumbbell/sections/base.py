"""What sections of an experiment file share: each is a mapping of the fields that were given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, dataclass_transform

from dumbbell.codes import Code
from dumbbell.errors import MAPPING, ExperimentError, nearest_name


@dataclass_transform(kw_only_default=True, eq_default=False)
class Section(Mapping[str, Any]):
    """A section of an experiment file: a mapping from names of fields to values.

    Every subclass is a dataclass. An attribute that is None was not given. Attributes whose field
    is no name in Python are spelled otherwise: `from_` is `from`, `parallel_paths` is
    `parallel-paths`.
    """

    __slots__ = ()
    #: Attribute → field, where the names differ.
    _names: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    def __getitem__(self, name: str) -> Any:
        attribute = self._attributes().get(name)
        value = None if attribute is None else getattr(self, attribute)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        given = self._attributes().items()
        return (name for name, attribute in given if getattr(self, attribute) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        attributes = {attribute: name for name, attribute in self._attributes().items()}
        shown = (f"{one}={self[name]!r}" for one, name in attributes.items() if name in self)
        return f"{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def _attributes(cls) -> dict[str, str]:
        """Field → attribute."""
        own: Any = cls
        return {cls._names.get(one.name, one.name): one.name for one in fields(own)}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The section with the fields of a mapping, whose parts become sections, too.

        Raises:
            ExperimentError: There is no such field. Values are checked when the experiment runs.
        """
        known = cls._attributes()
        for name in given:
            if name not in known:
                raise ExperimentError(
                    f"no field of {cls.__name__}",
                    file=MAPPING,
                    field=name,
                    nearest=nearest_name(name, known),
                    code=Code.FIELD_KIND,
                )
        return cls(**{one: cls._part(one, given.get(name)) for name, one in known.items()})

    @classmethod
    def _part(cls, attribute: str, value: Any) -> Any:
        """A value of a field, of which the annotation names the sections that it may be."""
        own: Any = cls
        (annotation,) = (str(one.type) for one in fields(own) if one.name == attribute)
        words = set(re.findall(r"\w+", annotation))
        kinds = [kind for name, kind in sorted(_sections(Section).items()) if name in words]
        if "Mapping" in words and isinstance(value, Mapping):
            return {name: _read(one, kinds) for name, one in value.items()}
        return _read(value, kinds)


def _sections(kind: type[Section]) -> dict[str, type[Section]]:
    """Classes below one, by name."""
    below = {one.__name__: one for one in kind.__subclasses__()}
    return below | {name: one for of in below.values() for name, one in _sections(of).items()}


def _read(value: Any, kinds: list[type[Section]]) -> Any:
    """A value, with sections in the place of mappings that fit one."""
    if isinstance(value, list | tuple):
        return [_read(one, kinds) for one in value]
    if isinstance(value, Mapping) and not isinstance(value, Section):
        for kind in kinds:
            if value.keys() <= kind._attributes().keys():
                return kind.of(value)
    return value
