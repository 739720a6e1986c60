"""The resources whose settings clients alter and the catalogue keeps: topics, this node or all nodes, groups.

A resource knows its keys, the rules for their values, and the record that makes a change durable.
Loggers are not here: their levels are not kept (broker/config/loggers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol

from broker.catalogue.catalogue_records import (
    BrokerConfigs,
    CatalogueRecord,
    GroupConfigs,
    TopicConfigs,
    TopicCreated,
)
from broker.catalogue.live_config import CLUSTER
from broker.catalogue.renewal import renewal_of
from broker.catalogue.split_rules import check_may_split
from broker.catalogue.tier_rules import check_default_policy
from broker.catalogue.topic_admin import check_name
from broker.catalogue.topic_configs import check_identity_kept, server_default
from broker.catalogue.topic_configs import checked as checked_topic
from broker.catalogue.view_admin import check_changeable, check_columns_kept, check_settable
from broker.config import several_nodes
from broker.config.config_changes import Settings
from broker.config.config_keys import ConfigError, Key, text_of
from broker.config.config_layers import checked_together, dynamic_key, layered, server_key
from broker.config.group_configs import checked as checked_group
from broker.config.group_keys import GROUP_KEYS
from broker.config.kawal_topic_keys import DATABASE_KEY, KAWAL_TOPIC_KEYS, QUARANTINE_KEY
from broker.config.listener_keys import STORES, tls_changed_by
from broker.config.topic_keys import TOPIC_KEYS
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic


FIXED: Final = "Cannot update these configs dynamically"
FOR_ONE_LISTENER: Final = (
    "These security configs can be dynamically updated only per-listener using the listener prefix"
)
FOR_ONE_NODE: Final = "Cannot update these configs at default cluster level, broker id must be specified"


class ResourceType(IntEnum):
    """The kinds of things that have configurations; the numbers are those of DescribeConfigs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Resource(Settings, Protocol):
    """One resource."""

    def checked(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return all settings as they are kept.  Raises: RequestError with Kafka's code."""

    def records(self, settings: dict[str, str], wall_ms: int) -> list[CatalogueRecord]:
        """Return the records that make these (checked) settings the resource's own, at this time of day."""


def find_resource(metadata: Metadata, kind: int, name: str, *, forwarded: bool = False) -> Resource:
    """Return the resource that a client names; `forwarded`: it asks another node, which has sent it on.

    Raises: RequestError, for a name that no resource of the kind can have, and for an unknown kind.
    """
    match kind:
        case ResourceType.TOPIC:
            return TopicResource(metadata, name)
        case ResourceType.BROKER:
            return BrokerResource(metadata, name, forwarded=forwarded)
        case ResourceType.GROUP:
            return GroupResource(metadata, name)
        case ResourceType.CLIENT_METRICS:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Client metrics are not collected by this server.")
        case _:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def node_id_of(name: str) -> int:
    """Return the id of a node that is given as text.  Raises: RequestError(INVALID_REQUEST)."""
    digits = name[1:] if name[:1] in ("+", "-") else name
    if not (digits.isascii() and digits.isdigit() and len(digits) < 12):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    return int(name)


class TopicResource:
    """A topic; one that does not exist is refused last, as in Kafka."""

    def __init__(self, metadata: Metadata, name: str) -> None:
        if not name:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_name(name)
        self._metadata = metadata
        self._name = name
        self._topic = metadata.catalogue.find(name)

    @property
    def own(self) -> Mapping[str, str]:
        """The topic's overrides."""
        return {} if self._topic is None else self._topic.configs

    def key(self, name: str) -> Key | None:
        """Return the topic configuration of that name, if there is one."""
        return TOPIC_KEYS.get(name) or KAWAL_TOPIC_KEYS.get(name)

    def inherited(self, name: str) -> str:
        """Return the server's default."""
        key = TOPIC_KEYS.get(name)
        if key is None:
            # The server has no settings for what Kafka does not know.
            return text_of(KAWAL_TOPIC_KEYS[name].default) or ""
        return text_of(server_default(key, self._metadata.config)) or ""

    def not_a_list(self, operation: str, name: str) -> str:
        """Return Kafka's words."""
        return f"Can't {operation} to key {name} because its type is not LIST."

    def checked(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Check the settings, one by one and together, that the topic exists, and that it stays in place."""
        database = settings.get(DATABASE_KEY.name)
        if database is not None and self._topic is not None and database.strip() != self._topic.database:
            raise RequestError(
                ErrorCode.INVALID_CONFIG,
                f"Topic '{self._name}' cannot leave database {self._topic.database!r}: its streams are bound"
                f" to the vnodes there; create a topic in {database!r} and copy the records.",
            )
        try:
            check_settable(self.own, settings)
            result = checked_topic(settings, self._metadata.config)
            if self._topic is not None:
                check_identity_kept(self._topic.configs, result)
        except ConfigError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, error.for_client) from error
        if self._topic is None:
            raise RequestError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{self._name}' does not exist."
            )
        check_changeable(self._topic, "its definition is settled; delete it and make another")
        check_columns_kept(self._topic, result, self._metadata.catalogue)
        self._metadata.topics.check_spread(result)
        check_may_split(self._topic, result)
        renewal_of(self._metadata, self._topic, result, 0)
        self._quarantine(self._topic, result, 0)
        return result

    def records(self, settings: dict[str, str], wall_ms: int) -> list[CatalogueRecord]:
        """Return the records of the topic's new configs, and of the quarantine if they make one.

        Raises: RequestError, if the new configs renew the partitions and there is no room any more.
        """
        assert self._topic is not None, "an unknown topic passes no check"
        configs: CatalogueRecord | None = renewal_of(self._metadata, self._topic, settings, wall_ms)
        if configs is None:
            configs = TopicConfigs(topic_id=self._topic.topic_id.hex, configs=settings)
        quarantine = self._quarantine(self._topic, settings, wall_ms)
        return [configs] if quarantine is None else [configs, quarantine]

    def _quarantine(self, topic: Topic, settings: Mapping[str, str], wall_ms: int) -> TopicCreated | None:
        """Return the record of the quarantine that these settings make, if any.  Raises: RequestError."""
        if QUARANTINE_KEY.name not in settings:
            return None
        from broker.catalogue.quarantine import as_created

        before = self.own.get(QUARANTINE_KEY.name, "")
        return self._metadata.topics.quarantine(as_created(topic, settings), before, wall_ms)


class BrokerResource:
    """This node; with the empty name, every node."""

    def __init__(self, metadata: Metadata, name: str, *, forwarded: bool = False) -> None:
        """Find a node; `forwarded`: another one has sent on what a client asks of it."""
        node_id = metadata.config.node_id
        self._layers = layers = metadata.live_config.layers
        if name and (asked := node_id_of(name)) != node_id:
            if not (forwarded and asked in metadata.nodes.ids):
                raise RequestError(
                    ErrorCode.INVALID_REQUEST,
                    f"Unexpected broker id, expected {node_id}, but received {name}",
                )
            own = metadata.catalogue.broker_configs.get(str(asked))
            self._layers, node_id = layered(layers.static, cluster=layers.cluster, node=own), asked
        self._topics = metadata.catalogue.by_name
        self._id = str(node_id) if name else CLUSTER
        self.is_here = node_id == metadata.config.node_id
        """Whether it is this node, or every node."""

    @property
    def own(self) -> Mapping[str, str]:
        """The clients' settings."""
        return self._layers.node if self._id else self._layers.cluster

    def key(self, name: str) -> Key | None:
        """Return the server key of that name, ours or one that only Kafka has."""
        return server_key(name)

    def inherited(self, name: str) -> str:
        """Return the value in effect."""
        return text_of(self._layers.value(name)) or ""

    def not_a_list(self, operation: str, name: str) -> str:
        """Return Kafka's words."""
        return f"Config value {operation.lower()} is not allowed for config key: {name}"

    def checked(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Check that each setting is known, valid, and may be changed while the server runs."""
        self._check_names(settings)
        result = {}
        for name, raw in settings.items():
            try:
                result[name] = text_of(dynamic_key(name).parse(raw)) or ""
            except ConfigError as error:
                # Kafka's broker checks these values itself and answers INVALID_REQUEST for all of them;
                # unknown names it accepts.
                known = server_key(name) is not None
                code = ErrorCode.INVALID_REQUEST if known else ErrorCode.INVALID_CONFIG
                raise RequestError(code, error.for_client) from error
        try:
            checked_together(self._layers, {**self._layers.cluster, **result} if self._id else result)
            check_default_policy(result, self._topics.values())
        except ConfigError as error:
            raise RequestError(ErrorCode.INVALID_REQUEST, error.for_client) from error
        return result

    def _check_names(self, settings: Mapping[str, str]) -> None:
        """Refuse what cannot be changed at all, for all listeners, or for every node, in Kafka's words."""
        fixed, common, of_node = [], [], []
        for name in settings:
            if name in STORES:
                common.append(name)
            elif (key := server_key(name)) is not None and not key.dynamic:
                fixed.append(name)
            elif not self._id and tls_changed_by(name):
                of_node.append(name)
        for names, problem in ((fixed, FIXED), (common, FOR_ONE_LISTENER), (of_node, FOR_ONE_NODE)):
            if names:
                raise RequestError(ErrorCode.INVALID_REQUEST, f"{problem}: [{', '.join(sorted(names))}]")

    def records(self, settings: dict[str, str], wall_ms: int) -> list[CatalogueRecord]:
        """Return the record of the clients' new settings."""
        return [BrokerConfigs(broker_id=self._id, configs=settings)]


class GroupResource:
    """A group, whether it exists or not."""

    def __init__(self, metadata: Metadata, name: str) -> None:
        if not name:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        self._metadata = metadata
        self._name = name

    @property
    def own(self) -> Mapping[str, str]:
        """The group's own settings."""
        return self._metadata.catalogue.group_configs.get(self._name, {})

    def key(self, name: str) -> Key | None:
        """Return the group configuration of that name, if there is one."""
        return GROUP_KEYS.get(name)

    def inherited(self, name: str) -> str:
        """Return "": the one list that a group can have is empty by default."""
        return ""

    def not_a_list(self, operation: str, name: str) -> str:
        """Return Kafka's words."""
        return f"Can't {operation} to key {name} because its type is not LIST."

    def checked(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Check that each setting is valid and within the server's bounds for groups."""
        try:
            result = checked_group(settings, self._metadata.live_config.layers)
            if self._metadata.nodes.count > 1:
                several_nodes.check(result, several_nodes.GROUPS)
        except ConfigError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, error.for_client) from error
        return result

    def records(self, settings: dict[str, str], wall_ms: int) -> list[CatalogueRecord]:
        """Return the record of the group's new configs."""
        return [GroupConfigs(group=self._name, configs=settings)]
