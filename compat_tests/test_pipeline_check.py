"""`kawal pipe check` names brokers that cannot be used, and soon."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker, Kind
from compat_tests.conftest import MakeTopic, running_broker
from compat_tests.logins import USERS, add_scram_users, login_settings
from compat_tests.pipeline_jobs import Ended, PipelineJob
from compat_tests.times import quickest
from compat_tests.topics import create_topic

SLACK_SECONDS = 3.0
"""A check of a silent address may take so much longer than one of an address that refuses; 1.2 s alone.

Of three checks one must do so: a busy machine stops processes for seconds.
"""

SILENT = "takes the connection, and says nothing"
UNSEEN = "no answer within"

LOGIN = """
protocol = "SASL_PLAINTEXT"
mechanism = "SCRAM-SHA-512"
username_env = "PIPE_USER"
password_env = "PIPE_PASSWORD"
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker with a listener that asks for logins."""
    settings = login_settings(SASL="SASL_PLAINTEXT")
    with running_broker(broker_kind, tmp_path_factory.mktemp("check"), settings) as started:
        add_scram_users(started)
        yield started


@pytest.fixture
def silent() -> Iterator[str]:
    """Listen, take connections and say nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def pointed(job: PipelineJob, bootstrap: str) -> PipelineJob:
    lines = [
        f'bootstrap = "{bootstrap}"' if line.startswith("bootstrap") else line
        for line in job.file.read_text().splitlines()
    ]
    job.file.write_text("\n".join(lines) + "\n")
    return job


def timed(job: PipelineJob) -> tuple[float, Ended]:
    began = time.monotonic()
    checked = job.pipe("check")
    return time.monotonic() - began, checked


@pytest.mark.parametrize("security", ["", '[source.security]\nprotocol = "SSL"\n'])
def test_an_address_that_says_nothing_is_given_up_soon(
    broker: Broker, silent: str, tmp_path: Path, security: str
) -> None:
    job = PipelineJob(tmp_path, broker, "t", security)

    def longer() -> float:
        refused_seconds, refused = timed(pointed(job, "127.0.0.1:1"))
        silent_seconds, checked = timed(pointed(job, silent))
        assert (refused.code, "127.0.0.1:1: Connection refused" in refused.out) == (1, True), refused.out
        assert checked.code == 1
        # On a busy machine it may not have come to the end of the connect within its time.
        assert SILENT in checked.out or UNSEEN in checked.out, checked.out
        return silent_seconds - refused_seconds if SILENT in checked.out else math.inf

    quickest(longer, below_seconds=SLACK_SECONDS, attempts=3)


def copying(folder: Path, source: Broker, topic: str, target: str, security: str = "") -> PipelineJob:
    """Return a job that replicates a topic to an address."""
    more = f'[target]\nbootstrap = "{target}"\n[target.security]{security}'
    job = PipelineJob(folder, source, topic, more)
    job.file.write_text(job.file.read_text().replace("[job]\n", '[job]\nkind = "replicate"\n'))
    return job


def test_a_target_that_says_nothing_is_given_up_soon(broker: Broker, silent: str, tmp_path: Path) -> None:
    topic = create_topic(broker, "to-nowhere", 1)
    job = copying(tmp_path, broker, topic, silent)

    def given_up() -> float:
        seconds, checked = timed(job)
        assert checked.code == 1
        assert SILENT in checked.out or UNSEEN in checked.out, checked.out
        return seconds if SILENT in checked.out else math.inf

    quickest(given_up, below_seconds=2 * SLACK_SECONDS + 4, attempts=3)


def test_a_wrong_password_for_the_target_fails_the_check_and_the_right_one_does_not(
    broker: Broker, guarded: Broker, tmp_path: Path
) -> None:
    topic = create_topic(broker, "guarded-copy", 1)
    job = copying(tmp_path, broker, topic, guarded.bootstrap_of("SASL"), LOGIN)
    with patch.dict(os.environ, PIPE_USER="alice", PIPE_PASSWORD="wrong"):
        wrong = job.pipe("check")
    with patch.dict(os.environ, PIPE_USER="alice", PIPE_PASSWORD=USERS["alice"]):
        right = job.pipe("check")
    assert (wrong.code, "FAILED  target" in wrong.out) == (1, True), wrong.out
    assert (right.code, "0 of 1 topics are there; a run makes" in right.out) == (0, True), right.out


@pytest.mark.parametrize(
    ("listener", "security", "sentence"),
    [
        ("", LOGIN, "it asks for no login, and security.protocol is 'SASL_PLAINTEXT'"),
        ("", 'protocol = "SSL"', "it does not speak TLS, and security.protocol is 'SSL'"),
        ("SASL", "", "it asks for a login by"),
        ("SASL", LOGIN.replace("-512", "-256"), "it refuses the login of 'alice'"),
        ("SASL", LOGIN, "it refuses the login of 'alice'"),
    ],
)
def test_a_listener_that_asks_for_something_else_is_told_at_once_with_the_line(
    broker: Broker, guarded: Broker, tmp_path: Path, listener: str, security: str, sentence: str
) -> None:
    address = guarded.bootstrap_of(listener) if listener else broker.bootstrap
    job = PipelineJob(tmp_path, broker, "t", f"[source.security]\n{security}\n")

    def longer() -> float:
        with patch.dict(os.environ, PIPE_USER="alice", PIPE_PASSWORD="wrong"):
            told_seconds, checked = timed(pointed(job, address))
        assert (checked.code, sentence in checked.out) == (1, True), checked.out
        assert "land.toml:" in checked.out
        refused_seconds, _ = timed(pointed(job, "127.0.0.1:1"))
        return told_seconds - refused_seconds

    quickest(longer, below_seconds=SLACK_SECONDS, attempts=3)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ('configs = { "retention.msx" = "5" }', "would not create the topic 'copied': "),
        ('configs = { "retention.ms" = "five" }', "would not create the topic 'copied': "),
        ("replication_factor = 7", "would not create the topic 'copied': "),
        ('transaction_timeout = "20h"', "the target allows 900,000 ms, its transaction.max.timeout.ms"),
        ('options = { "compresion.type" = "lz4" }', "target.options cannot be used: No such configuration"),
    ],
)
def test_what_the_target_would_refuse_is_told_and_nothing_is_created(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path, keys: str, sentence: str
) -> None:
    topic = make_topic(1)
    job = copying(tmp_path, broker, topic, f'{broker.bootstrap}"\ntopic = "copied"\n{keys}\n#"')
    checked = job.pipe("check")
    assert (checked.code, sentence in checked.out) == (1, True), checked.out
    assert "land.toml:" in checked.out.split("FAILED")[1]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    assert "copied" not in admin.list_topics(timeout=60).topics
