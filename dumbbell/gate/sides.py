"""What a gate compares: a congestion control, plug-in, stack, TCP profile, or engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell.catalogue import congestion_controls
from dumbbell.codes import Code
from dumbbell.engines import ENGINES, engine_named
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened
from dumbbell.plugins.kept import KINDS
from dumbbell.plugins.run import facts_of
from dumbbell.plugins.unusable import UnusableError

#: Word in a suite in place of the congestion control under test.
SUBJECT = "subject"
#: Word beside it for the congestion control in use (RFC 9743): the side before.
INCUMBENT = "incumbent"
#: Sections of an experiment file with senders.
SECTIONS = ("flows", "arrivals")
#: Kinds of traffic that name a congestion control of Linux's TCP.
SENDERS = ("tcp", "mptcp")
#: Stacks from outside: the kind of traffic that names them, and their congestion controls.
STACKS = {
    "quinn": ("quic", ("cubic", "bbr", "new_reno")),
    "s2n": ("quic", ("cubic", "bbr")),
    "smoltcp": ("tcp", ("cubic", "reno")),
}
#: Congestion control of a side that names an engine or a profile.
DEFAULT_CONTROL = "cubic"
#: Name of a plug-in in the experiments, by the word that it stands for.
_PLUGINS = {SUBJECT: "under_test", INCUMBENT: "in_use"}


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a gate.

    Attributes:
        name: As given.
        engine: Engine that runs it.
        traffic: Kind of traffic of the sender, and its fields.
        plugin: File of a plug-in; None: there is none.
        profile: TCP profile of all hosts; None: as in the suite.
        names_engine: True if the side is an engine.
    """

    name: str
    engine: str
    traffic: tuple[str, Mapping[str, str]]
    plugin: str | None = None
    profile: str | None = None
    names_engine: bool = False

    @property
    def is_linux_tcp(self) -> bool:
        """True if flows of it can arrive, and be subflows of Multipath TCP."""
        kind, fields = self.traffic
        return kind == "tcp" and "stack" not in fields

    def fitted(self, contents: Mapping[str, Any], word: str = SUBJECT) -> dict[str, Any]:
        """An experiment of a suite with this side in place of a word."""
        made: dict[str, Any] = dict(contents)
        for section in SECTIONS:
            if contents.get(section):
                made[section] = [self._flow(one, word) for one in contents[section]]
        if self.plugin is not None and has_sender(contents, word):
            made["plugins"] = {**(contents.get("plugins") or {}), _PLUGINS[word]: self.plugin}
        if self.profile is not None:
            hosts = dict(contents.get("hosts") or {})
            hosts["defaults"] = {**(hosts.get("defaults") or {}), "profile": self.profile}
            made["hosts"] = hosts
        return made

    def _flow(self, flow: Mapping[str, Any], word: str) -> dict[str, Any]:
        kind, fields = sender_of(flow)
        if fields.get("congestion_control") != word:
            return dict(flow)
        own_kind, own = self.traffic
        if self.plugin is not None:
            own = {"congestion_control": _PLUGINS[word]}
        others = {name: value for name, value in flow.items() if name != kind}
        return {**others, (kind if own_kind == "tcp" else own_kind): {**fields, **own}}


@dataclass(frozen=True, slots=True)
class StoreSide:
    """Finished runs as a side.

    Attributes:
        name: Folder of the store, as given.
        engine: Engines of its runs, with their versions.
    """

    name: str
    engine: str


def sender_of(flow: object) -> tuple[str, Mapping[str, Any]]:
    """Kind of traffic and fields of a flow of Linux's TCP; of another one no fields."""
    if isinstance(flow, Mapping):
        for kind in SENDERS:
            if kind in flow:
                given = flow[kind]
                is_map = isinstance(given, Mapping)
                return kind, given if is_map else {"congestion_control": given}
    return "tcp", {}


def has_sender(contents: Mapping[str, Any], word: str, kind: str | None = None) -> bool:
    """True if a word stands for the congestion control of a flow, of this kind."""
    flows = [sender_of(one) for section in SECTIONS for one in contents.get(section) or []]
    return any(
        fields.get("congestion_control") == word and kind in (None, own) for own, fields in flows
    )


def read_side(text: str, engine: str, control: str = DEFAULT_CONTROL) -> Side:
    """Reads a side: `bbr`, `./mine.so`, `quinn:cubic`, `linux-6.1`, `linux:mine`, `sim`.

    Args:
        text: The side.
        engine: Engine of a side that names none.
        control: Congestion control of a side that names an engine or a profile.

    Raises:
        DumbbellError: It is none of these.
    """
    path, (stack, colon, of_stack) = Path(text), text.partition(":")
    if path.suffix in KINDS:
        if not path.is_file():
            raise DumbbellError(f"{text}: no such file", code=Code.GATE)
        _check_plugin(path, text)
        chosen = ("tcp", {"congestion_control": _PLUGINS[SUBJECT]})
        return Side(text, engine, chosen, str(path.absolute()))
    if stack in STACKS and colon:
        kind, controls = STACKS[stack]
        if of_stack not in controls:
            there = ", ".join(f"{stack}:{one}" for one in controls)
            raise DumbbellError(
                f"{shortened(text)} is no side of a gate; there are {there}", code=Code.GATE
            )
        fields = {"stack": stack, "congestion_control": of_stack}
        return Side(text, engine, (kind, fields))
    if text in _controls():
        return Side(text, engine, ("tcp", {"congestion_control": text}))
    if control not in _controls():
        near = nearest_name(control, _controls())
        hint = did_you_mean(near)
        raise DumbbellError(
            f"--control {shortened(control)}: no congestion control{hint}", code=Code.GATE
        )
    default = ("tcp", {"congestion_control": control})
    if text in _core.profiles():
        return Side(text, engine, default, profile=text)
    if stack in ENGINES:
        engine_named(text)
        return Side(text, text, default, names_engine=True)
    known = [*_controls(), *_core.profiles(), *ENGINES]
    near = nearest_name(text, known)
    hint = did_you_mean(near)
    raise DumbbellError(
        f"{shortened(text)} is no side of a gate{hint}; a side is a congestion control, the file "
        "of a plug-in, quinn:, s2n: or smoltcp: with a control, a TCP profile, or an engine",
        code=Code.GATE,
    )


def _check_plugin(path: Path, text: str) -> None:
    """Raises `DumbbellError` if a file is no plug-in."""
    try:
        facts_of(path.absolute(), _PLUGINS[SUBJECT])
    except UnusableError as error:
        raise DumbbellError(f"{text}: no plug-in: {error}", code=Code.PLUGIN) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise DumbbellError(f"{text}: {why}", code=Code.PLUGIN) from None


def _controls() -> list[str]:
    """Congestion controls of a connection with one path."""
    return [one.name for one in congestion_controls().values() if not one.coupled]
