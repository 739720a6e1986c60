"""The request log has a line for each request of the chosen clients and APIs, and none of its contents."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from broker.requests.request_log import NAME, SECOND_NS
from broker.server.logs import HumanFormatter, Repeats
from protocol.messages.alter_configs import AlterableConfig as LegacyConfig
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.alter_configs import AlterConfigsResource as LegacyResource
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, producing

FIND = FindCoordinatorRequest(key="g")
BEAT = HeartbeatRequest(group_id="g", member_id="m", generation_id=1)
BROKER, LOGGER = 4, 8
SET, DELETE = 0, 1


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    """Put the levels of the loggers back afterwards: they belong to the process."""
    yield
    for name in (NAME, f"{NAME}.find_coordinator"):
        logging.getLogger(name).setLevel(logging.INFO if name == NAME else logging.NOTSET)


def alter(gateway: Gateway, kind: int, name: str, value: str | None) -> None:
    config = AlterableConfig(name=name, config_operation=DELETE if value is None else SET, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name="1", configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    (answer,) = gateway.client().call(request, 1).responses
    assert answer.error_code == 0, answer


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith(f"{NAME}.")]


def names(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in lines(caplog)]


def fields(record: logging.LogRecord) -> dict[str, Any]:
    return vars(record)


def test_no_request_is_logged_at_first_even_at_the_level_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        gateway = Gateway()
        gateway.client().call(FIND, 3)
    assert lines(caplog) == []
    assert not gateway.broker.request_log.on


def test_a_client_is_logged_by_a_pattern_while_the_server_runs(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    alter(gateway, BROKER, "kawal.request.log", "spa?k-*,other")
    client = gateway.client()
    for name in (b"spark-7", b"test", b"other", b"spark"):
        client.send_under_name(name, FIND, 3)
        client.answers()
    assert [fields(record)["client"] for record in lines(caplog)] == ["spark-7", "other"]
    alter(gateway, BROKER, "kawal.request.log", None)
    client.send_under_name(b"other", FIND, 3)
    client.answers()
    assert len(lines(caplog)) == 2


def test_a_rule_may_name_an_api(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    alter(gateway, BROKER, "kawal.request.log", "heartbeat:t*")
    client = gateway.client()
    client.call(FIND, 3)
    client.call(BEAT, 4)
    client.send_under_name(b"x", BEAT, 4)
    client.answers()
    assert names(caplog) == ["heartbeat v4"]


def test_an_api_is_logged_by_the_level_of_its_logger(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    client = gateway.client()
    alter(gateway, LOGGER, f"{NAME}.find_coordinator", "DEBUG")
    client.call(FIND, 3)
    client.call(BEAT, 4)
    assert names(caplog) == ["find_coordinator v3"]
    alter(gateway, LOGGER, f"{NAME}.find_coordinator", None)
    client.call(FIND, 3)
    assert len(lines(caplog)) == 1
    alter(gateway, LOGGER, NAME, "DEBUG")
    client.call(BEAT, 4)
    assert names(caplog)[-1] == "heartbeat v4"


def test_a_line_has_the_header_the_sizes_the_phases_and_the_errors(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(kawal_request_log=("test",))
    client = gateway.client()
    create(client, "t")
    now_ns = [0]
    gateway.broker.stats.turns.clock_ns = lambda: now_ns[0]
    client.send(producing(("t", 0, batch(b"a")), ("none", 0, batch(b"a")), ("nil", 0, batch(b"a"))), 9)
    now_ns[0] += 2_500_000
    gateway.settle()
    client.answers()
    found = fields(lines(caplog)[-1])
    assert (found["client"], found["address"], found["correlation"]) == ("test", "10.0.0.9:5000", 2)
    assert (found["total_ms"], found["queue_ms"], found["remote_ms"]) == (2.5, 0, 2.5)
    assert found["request_bytes"] > 100
    assert found["response_bytes"] > 30
    assert found["errors"] == "UNKNOWN_TOPIC_OR_PARTITION:2"


def test_no_line_has_anything_of_the_contents(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(kawal_request_log=("*",))
    config = LegacyConfig(name="ssl.keystore.password", value="hunter2")
    resource = LegacyResource(resource_type=2, resource_name="secret-topic", configs=[config])
    gateway.client().call(AlterConfigsRequest(resources=[resource], validate_only=False), 1)
    (record,) = lines(caplog)
    text = HumanFormatter().format(record)
    assert "alter_configs v1" in text
    assert "hunter2" not in text
    assert "secret-topic" not in text


def test_a_long_name_of_a_client_is_cut_and_cannot_forge_a_line(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(kawal_request_log=("*",))
    client = gateway.client()
    client.send_under_name(b"x\n" * 15_000, FIND, 3)
    client.answers()
    text = HumanFormatter().format(lines(caplog)[0])
    assert len(text) < 1_500
    assert "\n" not in text


def test_lines_beyond_the_rate_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(kawal_request_log=("*",), kawal_request_log_rate=20)
    client = gateway.client()
    now_ns = [0]
    gateway.broker.stats.turns.clock_ns = lambda: now_ns[0]
    for _ in range(50):
        client.call(FIND, 3)
    assert len(lines(caplog)) == 20
    now_ns[0] += SECOND_NS
    client.call(FIND, 3)
    assert fields(lines(caplog)[20])["left_out"] == 30
    repeats = Repeats()
    assert all(repeats.filter(record) for record in lines(caplog))
    assert "(30 more like it were left out)" in HumanFormatter().format(lines(caplog)[20])
