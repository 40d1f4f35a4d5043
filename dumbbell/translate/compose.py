"""Compose files of Docker: `tc` and pumba in `command` and `entrypoint`."""

from __future__ import annotations

from dumbbell.errors import ExperimentError
from dumbbell.experiment.source import Node, parse
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.network import Network, of_script
from dumbbell.translate.shell import Command, commands
from dumbbell.translate.tc import Script, read_commands

_PLACES = ("entrypoint", "command", "post_start", "test")


def read(text: str, file: str) -> Network:
    """Reads all services. Raises `TranslateError`."""
    try:
        tree = parse(text, file)
    except ExperimentError as error:
        raise TranslateError(
            f"a compose file: {error.message}", file=file, line=error.line
        ) from None
    services = tree.value.get("services") if isinstance(tree.value, dict) else None
    if services is None or not isinstance(services.value, dict):
        raise TranslateError("a compose file needs services", file=file, allowed=("services:",))
    made = Script(file)
    for name, service in services.value.items():
        if not isinstance(service.value, dict):
            continue
        own = Script(file)
        for place in _PLACES:
            node = service.value.get(place)
            if node is not None:
                read_commands(own, _commands(node))
        for device, interface in own.interfaces.items():
            interface.name = f"{name}-{device}"
            made.interfaces[interface.name] = interface
        made.notes.all += own.notes.all
    return of_script(made)


def _commands(node: Node) -> list[Command]:
    """Commands of a text, or of a list of words."""
    if isinstance(node.value, list):
        words = [
            (one.text if isinstance(one.value, str) else str(one.value)).replace("$$", "$")
            for one in node.value
        ]
        scripts = [word for word in words if " " in word]
        if not scripts:
            return [_of_pumba(node.line, tuple(words))]
        held = [one for word in scripts for one in commands(word, first=node.line)]
        return [*held, *([] if held else [Command(node.line, tuple(words))])]
    # Compose makes $ of $$.
    text = node.value.replace("$$", "$") if isinstance(node.value, str) else ""
    return [_of_pumba(one.line, one.words) for one in commands(text, first=node.line)]


def _of_pumba(line: int, words: tuple[str, ...]) -> Command:
    """The command; the image's entrypoint is in front of `netem` alone."""
    bare = "netem" in words and not {"tc", "pumba"} & {word.rpartition("/")[2] for word in words}
    return Command(line, ("pumba", *words) if bare else words)
