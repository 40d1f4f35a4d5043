"""Seals of manifests and experiments are those that versions without orjson wrote."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from dumbbell.store.files import DIGEST_BYTES
from dumbbell.store.segments import _is_canonical, _text, seal


def plain(integers: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    """Values of JSON without fractions."""
    return st.recursive(
        st.none() | st.booleans() | integers | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=10,
    )


PLAIN = plain(st.integers())
#: With numbers of sizes and counters.
NARROW = plain(st.integers(-(2**63), 2**63 - 1))


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
@example({"a": "\x7f", "b": 'quote " \\ \n\t\b\f\r\x1f', "µ": 2**64, "é": "\U0001f600"})
def test_a_seal_is_that_of_json(fields: dict[str, Any]) -> None:
    rest = {name: value for name, value in fields.items() if name != "check"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    assert seal(fields) == hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


@given(st.dictionaries(st.text(), NARROW, max_size=4), st.integers(0, 10**6))
@example({"a": [1, 2]}, 5)
def test_another_text_of_a_manifest_is_noticed(fields: dict[str, Any], place: int) -> None:
    data = _text(fields)
    assert _is_canonical(fields, data)
    at = place % (len(data) + 1)
    for more in (b" ", b"\n"):
        assert not _is_canonical(fields, data[:at] + more + data[at:])
    assert not _is_canonical(fields, data[:at] + data[at + 1 :]) or at == len(data)
