"""The audit log of two workers: each tells of its own part, whatever becomes of the other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.confluent import lines_of
from compat_tests.kawal_broker import KAWAL
from compat_tests.logins import USERS, login_settings
from compat_tests.waiting import eventually
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no workers")

TOPIC = "__kawal_audit"

each_worker = pytest.mark.parametrize("number", [0, 1], ids=["controller", "other"])


class Audited(WorkersBroker):
    """A gateway of two workers with logins and an audit log."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "audit.log"
        settings = login_settings(SASL="SASL_PLAINTEXT") | {
            "kawal.audit.file": str(self.path),
            "kawal.audit.topic": "true",
            "kawal.audit.when.full": "refuse",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:alice;User:ANONYMOUS",
        }
        super().__init__(directory / "broker", 2, **settings)

    def admin_of(self, number: int, user: str = "alice") -> AdminClient:
        """Return a client that logs in at a worker, and knows others by what that one tells."""
        return AdminClient(
            {
                "bootstrap.servers": self.at(number).bootstrap_of("SASL"),
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": user,
                "sasl.password": USERS[user],
                "log_level": 0,
            }
        )

    def lines(self, number: int) -> list[str]:
        """Return the lines of a worker's file."""
        path = self.path if not number else self.path.with_name(f"{self.path.name}.worker-{number}")
        return path.read_text().splitlines()

    def events(self, number: int, event: str, **fields: object) -> list[dict[str, Any]]:
        """Return the events of a worker's file that have this name and these fields."""
        return [
            each
            for each in map(json.loads, self.lines(number))
            if each["event"] == event and all(each.get(name) == fields[name] for name in fields)
        ]

    def wait_for(self, number: int, event: str, **fields: object) -> dict[str, Any]:
        """Wait for an event of a worker, and return the last one."""
        return eventually(lambda: self.events(number, event, **fields), waiting_for=f"the event {event}")[-1]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """Start the gateway."""
    broker = Audited(tmp_path_factory.mktemp("audited"))
    broker.start()
    yield broker
    assert broker.stop()[0] == 0
    for number in range(2):
        assert broker.events(number, "server.stopped", node=broker.ids[number])


@each_worker
def test_a_login_is_told_by_its_worker_and_a_change_once_by_the_controller(
    audited: Audited, topic: str, number: int
) -> None:
    admin = audited.admin_of(number)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    assert audited.wait_for(number, "login.ok", user="User:alice")["node"] == audited.ids[number]
    made = audited.wait_for(0, "topic.created", resource={"type": "topic", "name": topic})
    assert (made["user"], made["node"]) == ("User:alice", audited.ids[0])
    assert not audited.events(1, "topic.created")


def test_the_topic_has_each_event_of_all_workers_once_whichever_of_them_dies(
    audited: Audited, topic: str
) -> None:
    names = []
    for number, pid in enumerate(audited.children()):
        for user in USERS:
            assert audited.admin_of(1 - number, user).list_topics(timeout=60)
        audited.kill_worker(pid, number)
        names.append(f"{topic}-{number}")
        admin = audited.admin_of(1 - number)
        admin.create_topics([NewTopic(names[-1], 1, 1)])[names[-1]].result(60)
    last = {audited.lines(number)[-1] for number in range(2)}
    eventually(lambda: last <= set(lines_of(audited, TOPIC)), waiting_for="the last events of both")
    found = lines_of(audited, TOPIC)
    written = audited.lines(0) + audited.lines(1)
    assert len(found) == len(set(found)), "no event is there twice"
    assert set(found) <= set(written)
    made = [json.loads(line) for line in found if json.loads(line)["event"] == "topic.created"]
    assert [event["resource"]["name"] for event in made if event["resource"]["name"] in names] == names
    # What a process had written into its file, and not yet sent when it was killed, is there alone.
    assert len(set(written) - set(found)) < 10


def test_the_death_of_a_worker_leaves_its_events_and_it_goes_on(audited: Audited) -> None:
    bob = audited.admin_of(1, "bob")
    assert bob.list_topics(timeout=60)
    audited.wait_for(1, "login.ok", user="User:bob")
    starts = len(audited.events(1, "server.started"))
    audited.kill_worker(audited.children()[1], 1)
    eventually(lambda: len(audited.events(1, "server.started")) > starts, waiting_for="another start")
    before = len(audited.events(1, "login.ok", user="User:bob"))
    again = audited.admin_of(1, "bob")
    assert again.list_topics(timeout=60)
    eventually(
        lambda: len(audited.events(1, "login.ok", user="User:bob")) > before, waiting_for="another login"
    )
    printed = subprocess.run(
        [KAWAL, "audit", str(audited.path), "--json", "--event", "server"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    events = [json.loads(line) for line in printed.splitlines()]
    assert {event["node"] for event in events} == set(audited.ids)
    assert len(events) == sum(len(audited.events(number, "server.started")) for number in range(2))
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
