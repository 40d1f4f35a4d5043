"""Servers that the tests of the explorer share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.explore.server import Running, running
from tests.explore.stores import small_store


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The explorer of a small store that no test changes."""
    with running(small_store(tmp_path_factory.mktemp("explore"))) as found:
        yield found
