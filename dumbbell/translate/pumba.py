"""`pumba netem`: options → words of netem."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.translate.mistakes import TranslateError

_COMMANDS = ("delay", "loss", "loss-state", "loss-gemodel", "rate", "duplicate", "corrupt")
#: Options with a value: of `pumba`, and of `netem`.
_VALUED = (
    "--host", "-H", "--log-level", "-l", "--interval", "-i", "--label", "--duration", "-d",
    "--interface", "--target", "-t", "--egress-port", "--ingress-port", "--tc-image", "--slackhook",
)  # fmt: skip
_LONG = {
    "-t": "--time",
    "-j": "--jitter",
    "-c": "--correlation",
    "-d": "--distribution",
    "-p": "--percent",
    "-r": "--rate",
}
#: Command → kind of loss, options with their defaults.
_LOSSES = {
    "loss-state": ("state", {"p13": "0", "p31": "100", "p32": "0", "p23": "100", "p14": "0"}),
    "loss-gemodel": ("gemodel", {"pg": "0", "pb": "100", "one-h": "100", "one-k": "0"}),
}


def tc_words(words: Sequence[str], line: int, file: str) -> tuple[str, list[str]] | None:
    """Interface and words behind `netem`; None: the command is none of netem."""
    if "netem" not in words:
        return None
    left, device = list(words[words.index("netem") + 1 :]), "eth0"
    while left and left[0].startswith("-"):
        name, equals, value = left.pop(0).partition("=")
        if name in _VALUED and not equals:
            value = left.pop(0) if left else ""
        if name == "--interface" and value:
            device = value
    if not left:
        return None
    command = left.pop(0)
    if command not in _COMMANDS:
        raise TranslateError(
            "pumba netem has no such command",
            file=file,
            line=line,
            found=command,
            allowed=_COMMANDS,
        )
    options = _options(left)
    return device, _netem(command, options)


def _options(words: list[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    while words and words[0].startswith("-"):
        name, equals, value = words.pop(0).partition("=")
        made[_LONG.get(name, name)] = value if equals else (words.pop(0) if words else "")
    return made


def _netem(command: str, options: dict[str, str]) -> list[str]:
    if command == "delay":
        made = ["delay", f"{options.get('--time', '100')}ms", f"{options.get('--jitter', '10')}ms"]
        made.append(options.get("--correlation", "20"))
        if options.get("--distribution"):
            made += ["distribution", options["--distribution"]]
        return made
    if command == "rate":
        extra = [
            options.get(f"--{one}", "0") for one in ("packetoverhead", "cellsize", "celloverhead")
        ]
        return [
            "rate",
            options.get("--rate", "100kbit"),
            *(extra if any(e != "0" for e in extra) else []),
        ]
    if command in _LOSSES:
        kind, defaults = _LOSSES[command]
        values = [options.get(f"--{name}", value) for name, value in defaults.items()]
        return ["loss", kind, *values]
    return [command, options.get("--percent", "0"), options.get("--correlation", "0")]
