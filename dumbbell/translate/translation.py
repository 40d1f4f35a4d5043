"""Translation of a text into an experiment file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.translate import languages
from dumbbell.translate.interface import Direct
from dumbbell.translate.mistakes import Note, TranslateError
from dumbbell.translate.network import Network
from dumbbell.translate.write import direct_of, lines_of, text_of

#: Largest text, in bytes.
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Translation:
    """A translation.

    Attributes:
        language: Name of the source's language.
        text: Experiment file.
        lost: Words without a counterpart.
        lines: Link → line of its words; links without words are left out.
        direct: Direction of a link (`eth0/forward`) → HTB that sends all packets unshaped.
    """

    language: str
    text: str
    lost: tuple[Note, ...]
    lines: Mapping[str, int]
    direct: Mapping[str, Direct]


def translate(text: str, file: str, language: str | None = None) -> Translation:
    """Translates a text.

    Args:
        text: The text.
        file: Name of its file, for messages and the name of the experiment.
        language: Name of the language; None: it is recognised.

    Raises:
        TranslateError: A word is wrong, or nothing can be translated.
    """
    name = languages.recognised(text, file) if language is None else language
    if name not in languages.READERS:
        raise TranslateError("no such language", found=name, allowed=languages.READERS)
    reader: Callable[[str, str], Network] = languages.READERS[name]
    network = reader(text, file)
    if not network.flows:
        allowed = languages.EXAMPLES[name]
        raise TranslateError(f"nothing that shapes packets ({name})", file=file, allowed=allowed)
    made = text_of(network, name=_title(file), origin=languages.TITLES[name])
    _check(made, file, network)
    return Translation(name, made, tuple(network.lost), lines_of(network), direct_of(network))


def _title(file: str) -> str:
    stem = Path(file).stem if file not in ("-", "<stdin>", "standard input") else "translated"
    return (
        "".join(c if c.isalnum() or c in "-_ ." else "_" for c in stem)[:60].strip(" .")
        or "translated"
    )


def _check(text: str, file: str, network: Network) -> None:
    """Raises `TranslateError` if the experiment language refuses the translation."""
    from dumbbell.experiment.load import load_text

    try:
        load_text(text, Path("translated.yaml"))
    except ExperimentError as error:
        sources = [
            s for link in network.links for s in (*link.forward.sources, *link.backward.sources)
        ]
        message = f"no experiment can say this: {error.field}: {error.message}"
        line = sources[0][0] if sources else None
        raise TranslateError(message, file=file, line=line, found=error.found) from None
