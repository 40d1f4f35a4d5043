"""A store at an S3 URL, against a server of this machine: what fsspec's memory cannot show."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.moto_api._internal import moto_api_backend
from moto.server import ThreadedMotoServer
from s3fs import S3FileSystem

import dumbbell
from dumbbell.errors import StoreError, StoreWarning
from dumbbell.files.urls import store_path
from dumbbell.store.digest import digests, of_all
from dumbbell.store.verify import examine
from tests.running.test_merge import made
from tests.running.test_remote_store import Machine, filled
from tests.running.test_remote_store import machine as _machine

pytestmark = pytest.mark.slow

machine = _machine  # a fixture
URL = "s3://lab/sweep"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadedMotoServer]:
    """A server with an empty bucket `lab`; nothing of the user's configuration is read."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    S3FileSystem.clear_instance_cache()
    bucket().create()
    yield server
    server.stop()
    moto_api_backend.reset()
    S3FileSystem.clear_instance_cache()


def bucket() -> boto3.resources.base.ServiceResource:
    return boto3.resource("s3").Bucket("lab")


def digest(place: str | Path = URL) -> str:
    return of_all(digests(store_path(place)))


def test_another_machine_finds_everything(
    server: ThreadedMotoServer, machine: Machine, tmp_path: Path
) -> None:
    filled(URL)
    filled(tmp_path / "local")
    machine()
    assert digest() == digest(tmp_path / "local")
    samples = dumbbell.load_results(URL).samples
    assert samples.equals(dumbbell.load_results(tmp_path / "local").samples)
    found = examine(store_path(URL))
    assert not found.damages and not found.leftovers and len(found.runs) == 8


def test_two_machines_write_their_shards(
    server: ThreadedMotoServer, machine: Machine, tmp_path: Path
) -> None:
    for shard in ("1/2", "2/2"):
        made(store_path(URL), shard)
        machine()
    filled(tmp_path / "local")
    assert digest() == digest(tmp_path / "local")


def test_a_truncated_object_is_made_again(server: ThreadedMotoServer, machine: Machine) -> None:
    filled(URL)
    whole = digest()
    key = next(one.key for one in bucket().objects.all() if one.key.endswith("samples.parquet"))
    data = bucket().Object(key).get()["Body"].read()
    bucket().Object(key).put(Body=data[: len(data) // 2])
    machine()
    damages = examine(store_path(URL)).damages
    assert [one.path.name for one in damages] == [key.rpartition("/")[2]]
    machine()
    filled(URL)
    machine()
    assert digest() == whole and not examine(store_path(URL)).damages


def test_a_server_that_comes_back_has_everything(
    server: ThreadedMotoServer, machine: Machine, tmp_path: Path
) -> None:
    made(store_path(URL), "1/2")
    port = server.get_host_and_port()[1]
    server.stop()
    with (
        pytest.warns(StoreWarning, match="asked again"),
        pytest.raises(StoreError, match=r"^s3://lab/sweep"),
    ):
        made(store_path(URL), "2/2")
    again = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    again.start()
    try:
        made(store_path(URL), "2/2")
        machine()
        filled(tmp_path / "local")
        assert digest() == digest(tmp_path / "local")
    finally:
        again.stop()


def test_a_bucket_that_is_missing_is_told_at_once(
    server: ThreadedMotoServer, machine: Machine
) -> None:
    with pytest.raises(StoreError, match=r"^s3://none/sweep"):
        filled("s3://none/sweep")
