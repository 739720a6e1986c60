"""The audit log of a running gateway: real clients, a real file, and what becomes of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from compat_tests.broker import Broker, free_port
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import running_broker
from compat_tests.kawal_broker import KAWAL
from compat_tests.logins import USERS, login_settings
from compat_tests.process import ServerProcess
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="Kafka has a log of decisions, in another form")


SMALL_DISK_BYTES = 256 << 10


class Audited:
    """A running gateway with its audit log."""

    def __init__(self, broker: Broker, path: Path, http: str) -> None:
        self.broker = broker
        self.path = path
        self.http = http

    def events(self) -> list[dict[str, Any]]:
        """Return all events of the file."""
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def wait_for(self, event: str, **fields: object) -> dict[str, Any]:
        """Wait for an event with these fields, and return the last one."""

        def found() -> list[dict[str, Any]]:
            every = (each for each in self.events() if each["event"] == event)
            return [each for each in every if all(each.get(name) == fields[name] for name in fields)]

        return eventually(found, waiting_for=f"the event {event}")[-1]

    def metric(self, name: str) -> float:
        """Return the value of a metric without labels."""
        with urllib.request.urlopen(f"http://{self.http}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        return float(line.split()[1])

    def admin(self, user: str = "alice", password: str | None = None) -> AdminClient:
        """Return a client that is logged in by PLAIN."""
        return AdminClient(
            {
                "bootstrap.servers": self.broker.bootstrap_of("SASL"),
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": user,
                "sasl.password": USERS[user] if password is None else password,
                "client.id": f"{user}-admin",
                "log_level": 0,
            }
        )


@pytest.fixture(params=["drop", "refuse"])
def audited(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Audited]:
    """Start a gateway with an audit log, an authorizer and logins."""
    folder = tmp_path / "audit"
    folder.mkdir()
    with running(tmp_path, folder, request.param) as started:
        yield started


@pytest.fixture(params=["drop", "refuse"])
def on_small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Audited]:
    """Start one whose audit log has a small disk of its own; a mount takes root."""
    folder = tmp_path / "small"
    folder.mkdir()
    size = f"size={SMALL_DISK_BYTES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=True, timeout=60)
    try:
        with running(tmp_path, folder, request.param) as started:
            yield started
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=60)


@contextmanager
def running(tmp_path: Path, folder: Path, when_full: str) -> Iterator[Audited]:
    """Run a gateway with an audit log in this folder."""
    http = f"127.0.0.1:{free_port()}"
    settings = login_settings(SASL="SASL_PLAINTEXT") | {
        "kawal.audit.file": str(folder / "audit.log"),
        "kawal.audit.topic": "true",
        "kawal.audit.when.full": when_full,
        "kawal.http.listen": http,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:alice;User:ANONYMOUS",
    }
    with running_broker("kawal", tmp_path / "broker", settings) as broker:
        yield Audited(broker, folder / "audit.log", http)


def create(admin: AdminClient, name: str) -> None:
    """Create a topic."""
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(timeout=60)


def test_what_clients_do_is_told_in_file_and_topic(audited: Audited) -> None:
    create(audited.admin(), "t")
    event = audited.wait_for("topic.created", user="User:alice")
    assert (event["listener"], event["client_id"]) == ("SASL", "alice-admin")
    assert audited.wait_for("login.ok", user="User:alice")["mechanism"] == "PLAIN"
    stranger = audited.admin("bob", "wrong")  # kept: it tries again until it is let go
    with pytest.raises(KafkaException):
        stranger.list_topics(timeout=2)
    failed = audited.wait_for("login.failed", claimed="bob")
    assert failed["outcome"] == "denied"
    with pytest.raises(KafkaException):
        create(audited.admin("bob"), "u")
    denied = audited.wait_for("request.denied", user="User:bob")
    assert (denied["resources"], denied["errors"]) == (["u"], ["TOPIC_AUTHORIZATION_FAILED"])
    assert "wrong" not in audited.path.read_text()
    with open_consumer(audited.broker) as consumer:
        count = len(audited.events())
        found = [json.loads(message.value() or b"") for message in read(consumer, "__kawal_audit", count)]
    assert found[:count] == audited.events()[: len(found)]


def test_a_file_that_is_moved_away_is_begun_anew(audited: Audited) -> None:
    create(audited.admin(), "t")
    audited.wait_for("topic.created", user="User:alice")
    shutil.move(audited.path, audited.path.with_name("moved"))
    create(audited.admin(), "u")
    eventually(audited.path.exists, waiting_for="the new file")
    assert audited.wait_for("topic.created", user="User:alice")["resource"]["name"] == "u"


def test_a_file_that_cannot_be_written_is_told_and_nothing_ends(audited: Audited, request: Any) -> None:
    refuses = request.node.callspec.params["audited"] == "refuse"
    admin = audited.admin()
    create(admin, "t")
    audited.wait_for("topic.created", user="User:alice")
    audited.path.unlink()
    audited.path.mkdir()
    entry = ConfigEntry("retention.ms", "5000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "t", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(timeout=60)
    eventually(lambda: audited.metric("kawal_audit_failing") == 1, waiting_for="the metric")
    if refuses:
        with pytest.raises(KafkaException) as caught:
            create(admin, "u")
        assert caught.value.args[0].code() == KafkaError.POLICY_VIOLATION
        assert "kawal.audit.when.full=refuse" in caught.value.args[0].str()
        with pytest.raises(KafkaException):
            audited.admin("bob").list_topics(timeout=2)
    else:
        create(admin, "u")
    audited.path.rmdir()
    eventually(lambda: audited.metric("kawal_audit_failing") == 0, waiting_for="the end of the failure")
    create(admin, "v")
    audited.wait_for("topic.created", user="User:alice")
    assert audited.wait_for("configs.changed")["after"] == {"retention.ms": "5000"}
    log = audited.broker.process.output()
    assert "the audit log cannot be written" in log
    assert "the audit log is written again; 0 events were lost" in log


def test_a_disk_that_is_really_full_is_told_and_cuts_no_line(
    on_small_disk: Audited, request: pytest.FixtureRequest
) -> None:
    audited, refuses = on_small_disk, request.node.callspec.params["on_small_disk"] == "refuse"
    admin = audited.admin()
    create(admin, "t")
    audited.wait_for("topic.created", user="User:alice")
    filler = audited.path.with_name("filler")
    fill(filler)

    def change(number: int) -> None:
        # As long as a configuration may be, so that the room in the last block of the log does not do.
        create(admin, f"{number}-{'x' * 200}")

    def is_full() -> bool:
        with suppress(KafkaException):
            change(len(made))
            made.append(len(made))
        return audited.metric("kawal_audit_failing") == 1

    made: list[int] = []
    eventually(is_full, waiting_for="the full disk")
    if refuses:
        with pytest.raises(KafkaException) as caught:
            change(1000)
        assert caught.value.args[0].code() == KafkaError.POLICY_VIOLATION
        with pytest.raises(KafkaException):
            audited.admin("bob").list_topics(timeout=2)
    else:
        change(1000)
        audited.admin("bob").list_topics(timeout=60)
    writer = make_producer(audited.broker)
    produce(writer, "t", [b"records are written all the same"])
    filler.unlink()
    eventually(lambda: audited.metric("kawal_audit_failing") == 0, waiting_for="the end of the failure")
    change(2000)
    done = {*made, 2000} if refuses else {*made, 1000, 2000}

    def missing() -> set[str]:
        told = {each["resource"]["name"] for each in audited.events() if each["event"] == "topic.created"}
        return {f"{number}-{'x' * 200}" for number in done} - told

    eventually(lambda: not missing(), waiting_for="the event of each topic", last=missing)
    log = audited.broker.process.output()
    assert "No space left on device" in log or "no space left on device" in log
    assert "the audit log is written again; 0 events were lost" in log


def fill(path: Path) -> None:
    """Write until there is no room left."""
    with path.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(4096))


def test_the_command_prints_it(audited: Audited, tmp_path: Path) -> None:
    create(audited.admin(), "t")
    audited.wait_for("topic.created", user="User:alice")
    command = [KAWAL, "audit", str(audited.path), "--user", "User:alice", "--event", "topic", "--since", "1h"]
    process = ServerProcess(command, log_path=tmp_path / "out", environment={})
    eventually(lambda: process.exit_code is not None, waiting_for="the end of the command")
    assert process.exit_code == 0
    assert "topic.created  ok  User:alice" in process.output()


def test_the_last_events_are_there_after_a_stop(audited: Audited) -> None:
    for number in range(20):
        create(audited.admin(), f"t{number}")
    assert audited.broker.stop()[0] == 0
    events = [each for each in audited.events() if each["event"] == "topic.created"]
    assert len([each for each in events if each["user"] == "User:alice"]) == 20
    assert audited.events()[-1]["event"] == "server.stopped"


def test_what_the_operator_does_to_users_is_told(tmp_path: Path) -> None:
    secret, users, log = tmp_path / "secret", tmp_path / "users", tmp_path / "audit.log"
    secret.write_text("the first secret\n")

    def set_user(name: str) -> None:
        command = [KAWAL, "users", "add", name, "--file", str(users), "--password-file", str(secret)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    set_user("kim")
    settings = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "kawal.sasl.plain.users": str(users),
        "kawal.audit.file": str(log),
        "kawal.console.listeners": "none",
    }
    command = [KAWAL, "serve", "--listen", f"SASL_PLAINTEXT://127.0.0.1:{free_port()}", "--http", "none"]
    command += ["--data", str(tmp_path / "data"), "--add-user", "admin", "--password-file", str(secret)]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    server = ServerProcess(command, log_path=tmp_path / "out.log", environment={})
    try:
        server.wait_for_line("kawal ready ")
        set_user("lee")

        def told() -> list[dict[str, Any]]:
            found = [json.loads(line) for line in log.read_text().splitlines()]
            return [each for each in found if each["event"].startswith("user") and "time" in each]

        eventually(lambda: len(told()) >= 2, waiting_for="the change of the file")
        first, second = told()
    finally:
        server.terminate(within_seconds=60)
    assert (first["event"], first["user"]) == ("user.added", "(the operator)")
    assert first["resource"] == {"type": "user", "name": "admin"}
    assert (second["event"], second["added"]) == ("users.reloaded", ["lee"])
    assert "secret" not in log.read_text().replace(str(tmp_path), "")
    assert "scrypt" not in log.read_text()
