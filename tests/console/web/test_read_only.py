"""The requests that change nothing."""

from __future__ import annotations

import pytest

from console.web.read_only import changes_nothing
from protocol.api_keys import ApiKey
from protocol.messages.kawal_databases import DatabaseAction, KawalDatabasesRequest
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction
from protocol.messages.metadata import MetadataRequest


@pytest.mark.parametrize(
    "name",
    [
        *("PRODUCE", "CREATE_TOPICS", "DELETE_TOPICS", "DELETE_RECORDS", "OFFSET_COMMIT", "OFFSET_DELETE"),
        *("DELETE_GROUPS", "JOIN_GROUP", "INCREMENTAL_ALTER_CONFIGS", "ALTER_CONFIGS", "CREATE_ACLS"),
        *("DELETE_ACLS", "ALTER_CLIENT_QUOTAS", "ALTER_USER_SCRAM_CREDENTIALS", "CREATE_PARTITIONS"),
        *("INIT_PRODUCER_ID", "WRITE_TXN_MARKERS", "SHARE_FETCH", "KAWAL_QUEUE_CHANGES", "END_TXN"),
    ],
)
def test_what_changes_something_is_not_among_them(name: str) -> None:
    assert not changes_nothing(ApiKey[name], object())


def test_of_requests_with_several_actions_only_the_first_changes_nothing() -> None:
    for action in DatabaseAction:
        request = KawalDatabasesRequest(action=action, databases=[])
        assert changes_nothing(ApiKey.KAWAL_DATABASES, request) == (action is DatabaseAction.DESCRIBE)
    for topics in TopicAction:
        asked = KawalTopicsRequest(action=topics)
        assert changes_nothing(ApiKey.KAWAL_TOPICS, asked) == (topics is TopicAction.DESCRIBE)


def test_metadata_must_not_create_topics() -> None:
    for creates in (False, True):
        request = MetadataRequest(topics=[], allow_auto_topic_creation=creates)
        assert changes_nothing(ApiKey.METADATA, request) != creates
