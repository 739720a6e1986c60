"""Keys and certificates of listeners changed by clients: read before the change, in effect with it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.loop.slices import run_here
from protocol.messages.alter_configs import AlterableConfig as ReplacingConfig
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.alter_configs import AlterConfigsResource as ReplacingResource
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client, Gateway

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
FOR_ONE_NODE = "Cannot update these configs at default cluster level, broker id must be specified"
FOR_ONE_LISTENER = (
    "These security configs can be dynamically updated only per-listener using the listener prefix"
)
PREFIX = "listener.name.tls.ssl."
LOCATION = f"{PREFIX}keystore.location"
INVALID_REQUEST = 42


class Stores:
    """Listeners' stores without files; `bad` is a place that cannot be read."""

    def __init__(self) -> None:
        self.reads: list[tuple[object, set[str]]] = []
        self.expected: list[object] = []
        self.in_effect: list[object] = []

    def read(self, config: Config, listeners: Collection[str]) -> object:
        place = config.of_listener("TLS", "ssl.keystore.location")
        self.reads.append((place, set(listeners)))
        if place == "bad":
            raise ConfigError(LOCATION, None, "is bad")
        return place

    def expect(self, read: Any) -> None:
        self.expected.append(read)

    def configured(self, config: Config) -> None:
        self.in_effect.append(config.of_listener("TLS", "ssl.keystore.location"))


def settings() -> dict[str, Any]:
    config = config_of({
        "listeners": "PLAINTEXT://127.0.0.1:0,TLS://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL",
        LOCATION: "first",
    })  # fmt: skip
    return {
        "listeners": config.listeners,
        "listener_security_protocol_map": config.listener_security_protocol_map,
        "listener_overrides": config.listener_overrides,
    }


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(**settings())


@pytest.fixture
def stores(gateway: Gateway) -> Stores:
    found = Stores()
    gateway.broker.live_config.stores = found
    return found


def alter(client: Client, *lines: tuple[str, int, str | None], node: str = "1", dry: bool = False) -> Any:
    configs = [AlterableConfig(name=name, config_operation=how, value=text) for name, how, text in lines]
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=node, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=dry)
    (answer,) = client.call(request, 1).responses
    return answer.error_code, answer.error_message


def test_what_a_client_names_is_read_and_then_in_effect(gateway: Gateway, stores: Stores) -> None:
    assert alter(gateway.client(), (LOCATION, SET, "second")) == (0, None)
    assert stores.reads == [("second", {"TLS"})]
    assert (stores.expected, stores.in_effect) == (["second"], ["second"])
    gateway.crash()
    assert gateway.broker.config.of_listener("TLS", "ssl.keystore.location") == "second"


def test_the_same_place_is_read_again(gateway: Gateway, stores: Stores) -> None:
    alter(gateway.client(), (LOCATION, SET, "second"))
    alter(gateway.client(), (LOCATION, SET, "second"))
    assert [place for place, _ in stores.reads] == ["second", "second"]


def test_without_a_value_of_the_clients_the_operator_s_is_in_effect_again(
    gateway: Gateway, stores: Stores
) -> None:
    alter(gateway.client(), (LOCATION, SET, "second"))
    assert alter(gateway.client(), (LOCATION, DELETE, None)) == (0, None)
    assert stores.in_effect == ["second", "first"]
    alter(gateway.client(), (LOCATION, SET, "third"))
    client = gateway.client()
    resource = ReplacingResource(
        resource_type=BROKER,
        resource_name="1",
        configs=[ReplacingConfig(name="message.max.bytes", value="5000")],
    )
    (answer,) = client.call(AlterConfigsRequest(resources=[resource], validate_only=False), 2).responses
    assert answer.error_code == 0
    assert (stores.reads[-1], stores.in_effect[-1]) == (("first", {"TLS"}), "first")


def test_what_cannot_be_read_changes_nothing_of_the_request(gateway: Gateway, stores: Stores) -> None:
    code, message = alter(
        gateway.client(), ("message.max.bytes", SET, "5000"), (LOCATION, SET, "bad"), ("a.b", DELETE, None)
    )
    assert (code, message) == (INVALID_REQUEST, f"'{LOCATION}' is bad")
    assert (stores.expected, stores.in_effect) == ([], [])
    assert gateway.broker.config.message_max_bytes != 5000


def test_a_dry_run_reads_and_changes_nothing(gateway: Gateway, stores: Stores) -> None:
    assert alter(gateway.client(), (LOCATION, SET, "second"), dry=True) == (0, None)
    assert alter(gateway.client(), (LOCATION, SET, "bad"), dry=True)[0] == INVALID_REQUEST
    assert (len(stores.reads), stores.expected) == (2, [])


def test_other_changes_of_the_node_read_nothing(gateway: Gateway, stores: Stores) -> None:
    alter(gateway.client(), (LOCATION, SET, "second"))
    assert alter(gateway.client(), ("message.max.bytes", SET, "5000")) == (0, None)
    assert len(stores.reads) == 1


def test_a_change_that_another_client_overtook_is_read_for_what_will_be(
    gateway: Gateway, stores: Stores
) -> None:
    waiting: list[Any] = []
    gateway.broker.scheduler.offload = lambda work, done: waiting.append((work, done))
    slow, quick = gateway.client(), gateway.client()
    line = AlterableConfig(name=f"{PREFIX}client.auth", config_operation=SET, value="none")
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[line])
    slow.send(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    work, done = waiting.pop()
    work()
    gateway.broker.scheduler.offload = run_here
    assert alter(quick, (LOCATION, SET, "second")) == (0, None)
    done(None)
    gateway.settle()
    work, done = waiting.pop()
    work()
    done(None)
    gateway.settle()
    assert [place for place, _ in stores.reads] == ["first", "second", "second"]
    assert stores.expected == ["second", "second"]


@pytest.mark.parametrize(
    ("node", "name", "message"),
    [
        ("", LOCATION, f"{FOR_ONE_NODE}: [{LOCATION}]"),
        ("1", "ssl.keystore.location", f"{FOR_ONE_LISTENER}: [ssl.keystore.location]"),
        ("", "ssl.truststore.certificates", f"{FOR_ONE_LISTENER}: [ssl.truststore.certificates]"),
        ("1", "ssl.allow.dn.changes", "Cannot update these configs dynamically: [ssl.allow.dn.changes]"),
        ("1", f"{PREFIX}allow.dn.changes", f"update these configs dynamically: [{PREFIX}allow.dn.changes]"),
        ("1", f"{PREFIX}client.auth", "String must be one of: none, requested, required"),
        ("1", f"{PREFIX}keystore.type", "only PEM is read"),
    ],
)
def test_what_is_refused_is_refused_in_kafka_s_words(
    gateway: Gateway, stores: Stores, node: str, name: str, message: str
) -> None:
    code, told = alter(gateway.client(), (name, SET, "x"), node=node)
    assert code == INVALID_REQUEST
    assert message in told
    assert stores.reads == []


def test_file_and_text_together_are_refused_unread(gateway: Gateway, stores: Stores) -> None:
    lines = ((f"{PREFIX}keystore.{part}", SET, "canary") for part in ("key", "certificate.chain"))
    assert alter(gateway.client(), *lines) == (
        INVALID_REQUEST,
        "Both SSL key store location and separate private key are specified.",
    )
    assert stores.reads == []


def test_no_secret_is_answered(gateway: Gateway, stores: Stores) -> None:
    client = gateway.client()
    assert alter(client, (f"{PREFIX}key.password", SET, "canary")) == (0, None)
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)
    (told,) = client.call(DescribeConfigsRequest(resources=[resource], include_synonyms=True), 4).results
    (found,) = (config for config in told.configs if config.name == f"{PREFIX}key.password")
    assert (found.value, found.is_sensitive, found.config_source) == (None, True, 2)
    assert [synonym.value for synonym in found.synonyms] == [None]
    assert "canary" not in repr(told)


def test_the_controller_checks_the_files_of_another_node_which_reads_them_once_more() -> None:
    cluster, stores = Cluster(2, **settings()), [Stores(), Stores()]
    for node, own in zip(cluster, stores, strict=True):
        node.broker.live_config.stores = own
    before = len(stores[0].in_effect)
    for place, code in (("bad", INVALID_REQUEST), ("second", 0)):
        assert alter(cluster[1].client(), (LOCATION, SET, place))[0] == code
    assert {place for place, _ in stores[0].reads} == {"bad", "second"}
    assert stores[0].expected == []
    assert stores[0].in_effect[before:] == ["first"]
    assert (stores[1].reads, stores[1].in_effect[-1]) == ([], "second")
