"""Claims are fixed before their runs: what a store's runs were judged by stays with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError
from dumbbell.files.whole import write_file
from dumbbell.store import Store
from dumbbell.store.remote import entered
from dumbbell.studies.definition import Claim, Study, StudyError

#: Fields of a claim that decide its verdict.
_DECIDING = {"part", "quantity", "each", "published", "expect", "inconsistent"}


def fix_claims(study: Study, parts: Iterable[str], store: Path) -> None:
    """Writes down the claims of these parts, before their runs are made or found again.

    Raises `StudyError` if one of them has changed since the store's first runs, `StoreError` if
    the store cannot be written.
    """
    refuse_changed(study, store)
    known = _read(study, store)
    chosen = set(parts)
    found = {c.id: fingerprint(study, c) for c in study.claims if c.part in chosen}
    if not found:
        return
    with Store(store, write=True):
        pass  # made, if it was not there
    if known == {**known, **found}:
        return  # a store that is read-only can be run from
    path = _path(study, store)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps({**known, **found}, indent=1).encode(), sync=True)
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(
            f"{store}: the store cannot be written: {reason}", code=Code.STORE_ACCESS
        ) from None


def refuse_changed(study: Study, store: Path) -> None:
    """Raises `StudyError` if a claim is not what it was when the store's runs were made."""
    entered(store)
    known = _read(study, store)
    now = {claim.id: fingerprint(study, claim) for claim in study.claims}
    changed = [identity for identity, found in now.items() if known.get(identity, found) != found]
    if changed:
        raise StudyError(
            f"{study.folder / 'study.yaml'}: changed after the runs in {store} were made: "
            f"{', '.join(changed)}. A verdict would rest on what the runs showed: put the claims "
            "back, or run into a new store",
            code=Code.CLAIMS,
        )


def fingerprint(study: Study, claim: Claim) -> str:
    """A hash of all that decides the verdict, the published numbers included."""
    text = claim.model_dump_json(include=_DECIDING)
    table = getattr(claim.published, "table", None)
    rows = study.published(table) if isinstance(table, str) else []
    return hashlib.sha256((text + json.dumps(rows)).encode()).hexdigest()


def _path(study: Study, store: Path) -> Path:
    return store / "studies" / f"{study.study}.json"


def _read(study: Study, store: Path) -> dict[str, str]:
    path = _path(study, store)
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise StoreError(
            f"{path}: damaged; it should hold the claims of {study.study}", code=Code.DAMAGED
        ) from None
    if not isinstance(found, dict):
        raise StoreError(
            f"{path}: damaged; it should hold the claims of {study.study}", code=Code.DAMAGED
        )
    return {str(identity): str(value) for identity, value in found.items()}
