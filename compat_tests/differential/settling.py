"""Waiting until a promised change can be seen: Kafka's takes a moment, Kawal's none.

Kafka answers a change when its controller has recorded it; the broker learns of it some milliseconds later.
What a client sees between the two is chance and cannot be compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from compat_tests.broker import Broker, Kind
from compat_tests.differential.plain import Names
from compat_tests.differential.steps import Step
from compat_tests.waiting import POLL_INTERVAL_SECONDS, eventually
from compat_tests.wire import RawClient
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

CONFIG_SECONDS = 0.15
"""The time a broker may take to act on a config that its controller has recorded.

Those of Kafka all do, and of several workers those that were not asked.
"""

SETTINGS_APIS: Final = (
    *(ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS),
)

FIRST_NODE = 1
"""The id of the first node; those of others follow."""

CREDENTIALS_SECONDS = 1.0
"""The same for credentials."""

SETTINGS: Final[dict[Kind, dict[str, str]]] = {
    "kawal": {"group.initial.rebalance.delay.ms": "0", "kawal.rebalance.interval.ms": "0"},
    "kafka": {},
}
"""Settings with which the brokers start: a group's first member is not to wait for others."""


def warm_up(broker: Broker) -> None:
    """Wait until coordinators and producer ids are there: Kafka makes their topics when first asked."""
    client = RawClient(broker)
    find = [FindCoordinatorRequest(key="warm-up", key_type=kind) for kind in (0, 1)]
    init = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    try:
        for request, version in [(find[0], 1), (find[1], 1), (init, 1)]:
            eventually(
                lambda: not client.call(request, version).error_code,  # noqa: B023
                waiting_for=f"an answer to {request!r}",
            )
    finally:
        client.close()


class Settler:
    """An observer of all nodes of a broker on connections of its own.

    `leaders` are the numbers of the nodes that lead the partitions of each topic that is there.
    """

    def __init__(self, nodes: Sequence[Broker], names: Names) -> None:
        """Connect; ids of new topics go to `names`."""
        self._kind = nodes[0].kind
        self._names = names
        self._clients = [RawClient(node) for node in nodes]
        self.leaders: dict[str, list[int]] = {}

    def close(self) -> None:
        """Disconnect."""
        for client in self._clients:
            client.close()

    def settle(self, step: Step, answer: Any) -> None:
        """Wait until the change that `answer` confirms can be seen."""
        api, request = step.api, step.request
        if api is ApiKey.CREATE_TOPICS and not request.validate_only:
            self._wait_served(topic.name for topic in answer.topics if not topic.error_code)
        elif api is ApiKey.CREATE_PARTITIONS and not request.validate_only:
            counts = {topic.name: topic.count for topic in request.topics}
            for result in answer.results:
                if not result.error_code:
                    self._wait_served([result.name], counts[result.name])
        elif api is ApiKey.DELETE_TOPICS:
            self._wait_gone({topic.name for topic in answer.responses if not topic.error_code})
        elif api is ApiKey.METADATA and request.topics and request.allow_auto_topic_creation:
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            self._wait_served(
                topic.name for topic in answer.topics if topic.name and topic.error_code in (missing, 0)
            )
        elif api is ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
            self._wait_credentials(
                request, {result.user for result in answer.results if not result.error_code}
            )
        elif api in (ApiKey.END_TXN, ApiKey.INIT_PRODUCER_ID) and request.transactional_id:
            self._wait_marked(request.transactional_id)
        elif api in SETTINGS_APIS and (self._kind == "kafka" or len(self._clients) > 1):
            time.sleep(CONFIG_SECONDS)

    def _wait_marked(self, transactional_id: str) -> None:
        """Wait until the markers of a transaction that is ended are written."""

        def marked() -> bool:
            # The nodes that do not coordinate it know nothing of it.
            request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
            found = [client.call(request, 0).transaction_states[0] for client in self._clients]
            return not any(str(state.transaction_state).startswith("Prepare") for state in found)

        eventually(marked, waiting_for=f"the end of the transaction of {transactional_id}")

    def _wait_served(self, names: Iterable[str], count: int = 1) -> None:
        for name in names:
            eventually(lambda name=name: self._served(name, count), waiting_for=f"{name} to be served")  # type: ignore[misc]

    def _served(self, name: str, count: int) -> bool:
        seen = [answer.topics[0] for answer in self._metadata([name])]
        if any(topic.error_code or len(topic.partitions) < count for topic in seen):
            return False
        topic = seen[0]
        self._names.learn_topic(name, topic.topic_id)
        for part in topic.partitions:
            self._names.learn_epoch(self._number_of(part.leader_id), part.leader_epoch)
        led = {part.partition_index: self._number_of(part.leader_id) for part in topic.partitions}
        self.leaders[name] = [led[index] for index in range(len(led))]
        return all(self._leads(number, name) for number in range(len(self._clients)))

    def _number_of(self, node_id: int) -> int:
        return node_id - FIRST_NODE if len(self._clients) > 1 else 0

    def _leads(self, number: int, name: str) -> bool:
        """Return whether a node serves the partitions of a topic that it is to lead."""
        led = [index for index, leader in enumerate(self.leaders[name]) if leader == number]
        asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in led]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=asked)])
        answer = self._clients[number].call(request, 5)
        return all(not part.error_code for topic in answer.topics for part in topic.partitions)

    def _wait_credentials(self, request: AlterUserScramCredentialsRequest, altered: set[str]) -> None:
        put = {
            (upsertion.name, upsertion.mechanism, upsertion.iterations)
            for upsertion in request.upsertions
            if upsertion.name in altered
        }
        deleted = {
            (deletion.name, deletion.mechanism) for deletion in request.deletions if deletion.name in altered
        }

        def seen(client: RawClient) -> bool:
            users = [UserName(name=name) for name in altered]
            found = {
                (result.user, info.mechanism, info.iterations)
                for result in client.call(DescribeUserScramCredentialsRequest(users=users), 0).results
                for info in result.credential_infos
            }
            return put <= found and not deleted & {known[:2] for known in found}

        # Not for ever: Kafka 4.3.1 may forget an upsertion that came with a deletion of another user.
        ends = time.monotonic() + CREDENTIALS_SECONDS
        while altered and not all(map(seen, self._clients)) and time.monotonic() < ends:
            time.sleep(POLL_INTERVAL_SECONDS)

    def _wait_gone(self, names: set[str]) -> None:
        def gone() -> bool:
            seen = self._metadata(sorted(names))
            return all(topic.error_code for answer in seen for topic in answer.topics)

        if names:
            eventually(gone, waiting_for=f"{sorted(names)} to be deleted")
            for name in names:
                self.leaders.pop(name, None)
            if self._kind == "kafka":
                time.sleep(CONFIG_SECONDS)

    def _metadata(self, names: list[str]) -> list[Any]:
        """Return what each node tells about some topics."""
        topics = [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        return [client.call(request, 12) for client in self._clients]
