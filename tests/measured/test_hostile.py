"""Hostile files: an error with its place, or what is sound; never another exception."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.measured.formats import FORMATS, format_of, read_as
from dumbbell.measured.source import MOST_BYTES, unpacked
from dumbbell.measured.values import MeasuredError
from dumbbell.store.measured import result_of, run_of
from tests.measured.samples import SAMPLES

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def attempt(name: str, data: bytes) -> bool:
    """Reads data and makes tables. Returns true if they are a file of the format."""
    try:
        found = read_as(FORMATS[name], data)
    except MeasuredError as error:
        assert str(error) and len(str(error)) < 500
        return False
    run_of(FORMATS[name], data, "file", found, {})
    assert result_of(found).digest
    for row in found.flows:
        assert int(row["end_ns"]) > int(row["start_ns"]) >= 0
        assert int(row.get("delivered_bytes", 0)) >= 0
    return True


def test_every_format_has_a_sample() -> None:
    assert set(SAMPLES) == set(FORMATS)
    for name, data in SAMPLES.items():
        assert format_of(data).name == name
        assert attempt(name, data)


@pytest.mark.parametrize("name", FORMATS)
def test_files_cut_off_at_a_hundred_places(name: str) -> None:
    data = SAMPLES[name]
    for place in range(100):
        attempt(name, data[: len(data) * place // 100])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compressed_files_cut_off_at_a_hundred_places(pack: Callable[[bytes], bytes]) -> None:
    data = pack(SAMPLES["iperf3"])
    assert unpacked(data) == SAMPLES["iperf3"]
    for place in range(4, len(data), max(1, len(data) // 100)):
        with pytest.raises(MeasuredError, match=r"cut off|gzip|bzip2"):
            unpacked(data[:place])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_bombs_are_bounded(pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(MeasuredError, match="larger than 64 MiB"):
        unpacked(pack(bytes(MOST_BYTES + 1)))


def test_members_behind_each_other_and_garbage() -> None:
    assert unpacked(gzip.compress(b"a") + gzip.compress(b"b") + bytes(9)) == b"ab"
    with pytest.raises(MeasuredError, match="something behind the gzip"):
        unpacked(gzip.compress(b"a") + b"x")
    flipped = bytearray(gzip.compress(SAMPLES["csv"]))
    flipped[20] ^= 0xFF
    with pytest.raises(MeasuredError, match="gzip"):
        unpacked(bytes(flipped))


@pytest.mark.parametrize("name", FORMATS)
def test_foreign_files(name: str) -> None:
    for other, data in SAMPLES.items():
        if other != name:
            assert not attempt(name, data), other


@pytest.mark.parametrize("name", FORMATS)
@FEW
@given(data=st.binary(max_size=400))
def test_any_bytes(name: str, data: bytes) -> None:
    attempt(name, data)
    attempt(name, SAMPLES[name][:200] + data)


WORDS = ["NaN", "-1", "1e999", "9" * 400, "null", "true", '"x"', "[]", "{}", "-0.0", "1e18", ""]


def test_a_number_that_no_column_has_is_left_out() -> None:
    data = SAMPLES["iperf3"].replace(b'"rttvar": 1000', b'"rttvar": 1000000000000000000', 1)
    found = read_as(FORMATS["iperf3"], data)
    assert "tcp-1: rttvar_ns is too large, left out" in found.notes
    assert result_of(found).digest


@pytest.mark.parametrize("name", FORMATS)
@FEW
@given(places=st.lists(st.tuples(st.floats(0, 1), st.sampled_from(WORDS)), min_size=1, max_size=4))
def test_any_word_at_any_place(name: str, places: list[tuple[float, str]]) -> None:
    """Numbers of a sound file replaced: NaN, negative, huge, of another kind."""
    text = SAMPLES[name].decode()
    for where, word in places:
        at = int(where * len(text))
        begin = next((k for k in range(at, len(text)) if text[k].isdigit()), 0)
        end = begin
        while end < len(text) and (text[end].isdigit() or text[end] == "."):
            end += 1
        text = text[:begin] + word + text[end:]
    attempt(name, text.encode())


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def replaced(value: Any, path: list[int], other: Any) -> Any:
    """A value of JSON with another value at a path of places."""
    if not path or not isinstance(value, dict | list) or not value:
        return other
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    made = dict(value) if isinstance(value, dict) else list(value)
    made[key] = replaced(value[key], path[1:], other)
    return made


OF_JSON = [name for name, data in SAMPLES.items() if data.lstrip().startswith(b"{")]


@pytest.mark.parametrize("name", OF_JSON)
@FEW
@given(path=st.lists(st.integers(0, 30), min_size=1, max_size=6), other=VALUES)
def test_any_value_at_any_path(name: str, path: list[int], other: Any) -> None:
    try:
        content = json.loads(SAMPLES[name])
    except ValueError:  # a value per line
        return
    attempt(name, json.dumps(replaced(content, path, other)).encode("utf-8", "replace"))


def test_deep_and_wide_json() -> None:
    for name in OF_JSON:
        assert not attempt(name, b'{"a":' * 100_000)
        assert not attempt(name, b"[" * 100_000 + b"NaN" + b"]" * 100_000)
