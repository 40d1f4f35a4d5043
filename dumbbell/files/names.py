"""File names made of names in experiments: each its own, and such that every file system takes."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from dumbbell.runs import ExperimentInfo

#: Bytes of a name that Linux's file systems take (NAME_MAX).
LONGEST_BYTES = 255
_MARK_DIGITS = 8
Key = TypeVar("Key", bound=Hashable)


def distinct(words: Mapping[Key, Sequence[str]], suffix: str) -> dict[Key, str]:
    """A file name for each sequence of words: the words, joined by `-`, and `suffix`.

    What a file name cannot hold becomes `_`. Names that would then be alike (letter case does not
    tell them apart), or too long, carry a mark that follows from the words alone.
    """
    plain = {key: "-".join(map(_plain, own)) for key, own in words.items()}
    shared = Counter(name.casefold() for name in plain.values())
    return {
        key: _fitting(name, _mark(words[key]), suffix, marked=shared[name.casefold()] > 1)
        for key, name in plain.items()
    }


def run_words(info: ExperimentInfo, row: Mapping[str, Any]) -> list[str]:
    """Words of a run's file names: experiment, levels, repeat."""
    return [info.name, *(row[factor] for factor in info.factors), str(row["repeat"])]


def _plain(word: str) -> str:
    return re.sub(r"[^\w.]+", "_", word).strip("_")


def _mark(words: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:_MARK_DIGITS]


def _fitting(name: str, mark: str, suffix: str, *, marked: bool) -> str:
    if not marked and len(os.fsencode(name + suffix)) <= LONGEST_BYTES:
        return name + suffix
    tail = f"-{mark}{suffix}"
    head = os.fsencode(name)[: LONGEST_BYTES - len(os.fsencode(tail))]
    return head.decode(errors="ignore") + tail
