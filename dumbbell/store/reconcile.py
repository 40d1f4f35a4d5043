"""Small files of a store that two machines changed: which contents count."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePosixPath

from dumbbell.store.made import Made
from dumbbell.store.records import read_fields, read_record, with_runs_of


def reconciled(name: str, mine: bytes | None, theirs: bytes) -> bytes:
    """Contents of a file of the working copy, once the remote copy was read.

    The mark: the remote one. Experiments: the one run last; of a large sweep, with the runs of
    both. Claims of a study: those of both; if they differ, the remote ones. Damaged contents count
    only where there are no others.
    """
    if mine is None or mine == theirs:
        return theirs
    folder, _, file = name.rpartition("/")
    if folder == "experiments":
        key = PurePosixPath(file).stem
        newer = _order(key, theirs) > _order(key, mine)
        return _with_runs_of(key, *((mine, theirs) if newer else (theirs, mine)))
    if folder == "studies":
        return _joined(mine, theirs)
    return theirs


def _with_runs_of(key: str, before: bytes, last: bytes) -> bytes:
    """Record run last, of a large sweep with the runs of the record before."""
    try:
        one, other = read_record(key, before), read_record(key, last)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return last
    if not isinstance(other.runs, Made):
        return last
    return replace(other, runs=with_runs_of(one, other.info, other.runs)).encoded()


def _order(key: str, data: bytes) -> tuple[int, int]:
    """Place of an experiment among those run; less than all others if it is damaged."""
    try:
        fields = read_fields(key, data)
        return int(fields.get("order", 0)), int(fields["updated_ns"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return -1, -1


def _joined(mine: bytes, theirs: bytes) -> bytes:
    try:
        remote = dict(json.loads(theirs))
    except (ValueError, TypeError):
        return mine
    try:
        local = dict(json.loads(mine))
    except (ValueError, TypeError):
        return theirs
    together = {**local, **remote}
    if together == local:
        return mine
    return theirs if together == remote else json.dumps(together, indent=1).encode()
