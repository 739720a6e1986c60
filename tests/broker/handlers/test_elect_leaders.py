"""ElectLeaders: no election is ever needed."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create


@pytest.fixture(scope="module")
def client() -> Client:
    made = Gateway().client()
    create(made, "t", 2)
    return made


def elect(
    client: Client, topics: list[tuple[str, list[int]]] | None, *, election_type: int = 0, version: int = 2
) -> Any:
    asked = None
    if topics is not None:
        asked = [TopicPartitions(topic=name, partitions=indexes) for name, indexes in topics]
    request = ElectLeadersRequest(election_type=election_type, topic_partitions=asked, timeout_ms=1000)
    return client.call(request, version)


def told(answer: Any) -> list[tuple[str, list[tuple[int, int]]]]:
    return [
        (
            topic.topic,
            [(partition.partition_id, partition.error_code) for partition in topic.partition_result],
        )
        for topic in answer.replica_election_results
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_partitions_have_their_leader(client: Client, version: int) -> None:
    answer = elect(client, [("t", [0, 1])], version=version)
    assert answer.error_code == 0
    assert told(answer) == [("t", [(0, 84), (1, 84)])]
    message = answer.replica_election_results[0].partition_result[0].error_message
    assert message == "Leader election not needed for topic partition."


def test_what_is_not_there_is_told(client: Client) -> None:
    answer = elect(client, [("t", [0, 0, 9]), ("nope", [0]), ("t", [1])], election_type=1)
    assert told(answer) == [("t", [(0, 84), (0, 84), (9, 3)]), ("nope", [(0, 3)]), ("t", [(1, 84)])]
    assert answer.replica_election_results[0].partition_result[2].error_message == "No such partition as t-9"
    assert answer.replica_election_results[1].partition_result[0].error_message == "No such topic as nope"


def test_of_all_topics_there_is_nothing_to_tell(client: Client) -> None:
    assert told(elect(client, None)) == [("t", [])]
    assert told(elect(client, [])) == []


def test_an_unknown_type_of_election_is_refused(client: Client) -> None:
    answer = elect(client, [("t", [0]), ("nope", [3])], election_type=7)
    assert answer.error_code == 42
    assert told(answer) == [("t", [(0, 42)]), ("nope", [(3, 42)])]
    assert elect(client, None, election_type=7).error_code == 42
    assert elect(client, [], election_type=7).error_code == 0
