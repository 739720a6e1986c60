"""An object store whose conditional writes are not atomic is refused; the gateway serves without it."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat_tests.broker import HOST, free_port
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import StartBroker
from compat_tests.java import REPOSITORY
from compat_tests.object_store import BUCKET, KEYS
from compat_tests.process import ServerProcess
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="Kafka's tier is a plugin")

JAR = REPOSITORY / ".cache" / "s3proxy" / "s3proxy-3.0.0-jar-with-dependencies.jar"
REFUSAL = re.compile(
    r"its conditional writes are not atomic: \d of 8 writers at once could create one object"
)


@contextmanager
def s3proxy(folder: Path) -> Iterator[str]:
    """Run S3Proxy over a folder, with a bucket in it; yield its address."""
    (folder / "files").mkdir(parents=True)
    address = f"http://{HOST}:{free_port()}"
    (folder / "s3proxy.conf").write_text(
        f"s3proxy.authorization=none\ns3proxy.endpoint={address}\n"
        f"jclouds.provider=filesystem-nio2\njclouds.filesystem.basedir={folder / 'files'}\n"
    )
    command = ["java", "-jar", str(JAR), "--properties", str(folder / "s3proxy.conf")]
    process = ServerProcess(command, log_path=folder / "s3proxy.log", environment={})

    def has_bucket() -> bool:
        assert process.exit_code is None, process.tail()
        request = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
        try:
            with urllib.request.urlopen(request, timeout=10):
                return True
        except urllib.error.URLError:
            return False

    try:
        eventually(has_bucket, waiting_for="S3Proxy", within_seconds=90)
        yield address
    finally:
        process.kill()


def test_a_store_that_lets_several_writers_win_is_refused_and_records_are_served_without_it(
    start_broker: StartBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with s3proxy(tmp_path / "store") as address:
        broker = start_broker(kawal_remote_store=f"s3://{BUCKET}/kawal", kawal_remote_endpoint=address)
        log = broker.directory / "broker.log"
        eventually(
            lambda: REFUSAL.search(log.read_text()) is not None, waiting_for="the refusal", within_seconds=90
        )
        create_topic(broker, "a", 1)
        produce(make_producer(broker), "a", [b"one", b"two"])
        with open_consumer(broker) as consumer:
            assert [message.value() for message in read(consumer, "a", 2)] == [b"one", b"two"]
    kept = [path for path in (tmp_path / "store" / "files" / BUCKET).rglob("*") if path.is_file()]
    assert [path for path in kept if "probe" not in path.parts] == []
