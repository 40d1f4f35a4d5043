"""Projects of one's own: a congestion control as a plug-in, with a test and a sweep."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.files.output import write_output
from dumbbell.files.shipped import shipped


@dataclass(frozen=True, slots=True)
class Form:
    """A form of plug-ins.

    Attributes:
        first: The file to be changed; `{name}` stands for the algorithm's name.
        file: The plug-in that the sweep names.
        beta: Value of the sweep's parameter `beta`: one half.
        longest: Longest name, characters.
    """

    first: str
    file: str
    beta: str = "0.5"
    longest: int = 40


FORMS = {
    "python": Form("{name}.py", "{name}.py"),
    "c": Form("{name}.c", "lib{name}.so"),
    "rust": Form("src/lib.rs", "lib{name}.so"),
    # A kernel has no floating point, and names of 15 characters.
    "kernel": Form("tcp_{name}.c", "tcp_{name}.c", beta="512", longest=15),
}
#: Words of C, for a `struct` of the name.
_OF_C = (
    "auto", "bool", "case", "char", "const", "default", "do", "double", "enum", "extern", "float",
    "goto", "inline", "int", "long", "register", "restrict", "short", "signed", "sizeof", "sock",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile",
)  # fmt: skip
#: Words of Python, and modules that a file or variable of the name would hide from the test.
_OF_PYTHON = {*keyword.kwlist, *sys.stdlib_module_names, "dumbbell", "pl", "polars"}
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
#: Manifest of the copied crate, which belongs to no workspace.
_MANIFEST = """\
[package]
name = "dumbbell-plugin"
version = "{version}"
edition = "2021"
license = "Apache-2.0"
"""


def write_project(name: str, form: str, folder: Path) -> list[Path]:
    """Writes the project of a congestion control. Returns its files.

    Raises:
        DumbbellError: The name cannot be one, or the folder exists.
    """
    from dumbbell.catalogue import congestion_controls

    chosen = FORMS[form]
    if _NAME.match(name) is None or len(name) > chosen.longest:
        raise DumbbellError(
            f"{name}: a name of at most {chosen.longest} small letters, digits and _ is needed, "
            "a letter first",
            code=Code.USAGE,
        )
    if name in _OF_C or name in _OF_PYTHON:
        raise DumbbellError(
            f"{name} is a word of C or Python, or a module; name yours otherwise", code=Code.USAGE
        )
    if name in congestion_controls():
        raise DumbbellError(
            f"{name} is a congestion control of the program; name yours otherwise", code=Code.USAGE
        )
    if folder.exists() and any(folder.iterdir()):
        raise DumbbellError(f"{folder} exists and is not empty", code=Code.OVERWRITE)
    kit = shipped("_plugin")
    texts = {}
    for part in ("common", form):
        root = kit / "templates" / part
        # An installation compiles the Python files of templates, too.
        files = (path for path in root.rglob("*") if "__pycache__" not in path.parts)
        for path in sorted(path for path in files if path.is_file()):
            place = Path(_named(path.relative_to(root).as_posix(), name))
            text = _named(path.read_text(encoding="utf-8"), name)
            text = text.replace("FILE", chosen.file.format(name=name))
            texts[place] = text.replace("BETA", chosen.beta)
    texts |= _kit(kit, form)
    for place, text in texts.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        write_output(folder / place, text)
    return sorted(texts)


def _named(text: str, name: str) -> str:
    """A template's text with the name in place of `mine`."""
    title = "".join(part.capitalize() for part in name.split("_"))
    text = re.sub(r"(?<![A-Za-z])(lib|test_|tcp_)?mine(?![A-Za-z])", rf"\g<1>{name}", text)
    return re.sub(r"\bMine\b", title, text)


def _kit(kit: Path, form: str) -> dict[Path, str]:
    """Files of the kit that a project needs."""
    if form == "c":
        header = "dumbbell_cc.h"
        return {Path(header): (kit / "include" / header).read_text(encoding="utf-8")}
    if form == "rust":
        from dumbbell._core import version

        own = Path("dumbbell-plugin")
        sources = {
            own / "src" / path.name: path.read_text(encoding="utf-8")
            for path in sorted((kit / "src").glob("*.rs"))
        }
        return sources | {own / "Cargo.toml": _MANIFEST.format(version=version)}
    return {}
