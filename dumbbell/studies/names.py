"""Names of studies and of the experiments that they may have, without reading a study."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.files.shipped import shipped

_NAME = re.compile(r"^name: *(.+?) *$", re.MULTILINE)


def study_folders() -> list[Path]:
    """Folders of studies: shipped with the package, and the current folder's."""
    places = (shipped("_studies"), Path.cwd() / "studies")
    return [place for place in dict.fromkeys(places) if place.is_dir()]


def list_names() -> list[str]:
    """Names of all studies found."""
    names = {
        entry.name
        for place in study_folders()
        for entry in place.iterdir()
        if (entry / "study.yaml").is_file()
    }
    return sorted(names)


def names_for(experiment: str) -> list[str]:
    """Studies with an experiment file of this name, or of the beginning of it."""
    return [name for name in list_names() if _may_have(name, experiment)]


def _may_have(study: str, experiment: str) -> bool:
    for place in study_folders():
        for file in (place / study).rglob("*.yaml"):
            named = _NAME.search(file.read_text(encoding="utf-8", errors="replace"))
            if named is not None and experiment.startswith(named[1].strip("'\"")):
                return True
    return False
