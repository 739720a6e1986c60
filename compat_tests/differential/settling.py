"""Waiting until a promised change can be seen: Kafka's takes a moment, Kawal's none.

Kafka answers a change when its controller has recorded it; the broker learns of it some milliseconds later.
What a client sees between the two is chance and cannot be compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
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
"""The time Kafka's broker may take to act on a config that its controller has recorded."""

SETTINGS_APIS: Final = (
    *(ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS),
)

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
    """An observer of the broker on a connection of its own."""

    def __init__(self, broker: Broker, names: Names) -> None:
        """Connect; ids of new topics go to `names`."""
        self._kind = broker.kind
        self._names = names
        self._client = RawClient(broker)

    def close(self) -> None:
        """Disconnect."""
        self._client.close()

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
        elif api in SETTINGS_APIS and self._kind == "kafka":
            time.sleep(CONFIG_SECONDS)

    def _wait_marked(self, transactional_id: str) -> None:
        """Wait until the markers of a transaction that is ended are written."""

        def marked() -> bool:
            request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
            (found,) = self._client.call(request, 0).transaction_states
            return not str(found.transaction_state).startswith("Prepare")

        eventually(marked, waiting_for=f"the end of the transaction of {transactional_id}")

    def _wait_served(self, names: Iterable[str], count: int = 1) -> None:
        for name in names:
            eventually(lambda name=name: self._served(name, count), waiting_for=f"{name} to be served")  # type: ignore[misc]

    def _served(self, name: str, count: int) -> bool:
        (topic,) = self._metadata([name]).topics
        if topic.error_code or len(topic.partitions) < count:
            return False
        self._names.learn_topic(name, topic.topic_id)
        asked = [
            ListOffsetsPartition(partition_index=part.partition_index, timestamp=-1)
            for part in topic.partitions
        ]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=asked)])
        answer = self._client.call(request, 5)
        return all(not part.error_code for part in answer.topics[0].partitions)

    def _wait_credentials(self, request: AlterUserScramCredentialsRequest, altered: set[str]) -> None:
        put = {
            (upsertion.name, upsertion.mechanism, upsertion.iterations)
            for upsertion in request.upsertions
            if upsertion.name in altered
        }
        deleted = {
            (deletion.name, deletion.mechanism) for deletion in request.deletions if deletion.name in altered
        }

        def seen() -> bool:
            users = [UserName(name=name) for name in altered]
            found = {
                (result.user, info.mechanism, info.iterations)
                for result in self._client.call(DescribeUserScramCredentialsRequest(users=users), 0).results
                for info in result.credential_infos
            }
            return put <= found and not deleted & {known[:2] for known in found}

        # Not for ever: Kafka 4.3.1 may forget an upsertion that came with a deletion of another user.
        ends = time.monotonic() + CREDENTIALS_SECONDS
        while altered and not seen() and time.monotonic() < ends:
            time.sleep(POLL_INTERVAL_SECONDS)

    def _wait_gone(self, names: set[str]) -> None:
        def gone() -> bool:
            return all(topic.error_code for topic in self._metadata(sorted(names)).topics)

        if names:
            eventually(gone, waiting_for=f"{sorted(names)} to be deleted")
            if self._kind == "kafka":
                time.sleep(CONFIG_SECONDS)

    def _metadata(self, names: list[str]) -> Any:
        topics = [MetadataRequestTopic(name=name) for name in names]
        return self._client.call(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)
