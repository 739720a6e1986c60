"""A client that may read a view learns nothing of its source, whichever request it sends.

Alice may read the view `t` and do everything with the group `g` and the transactional id `x`.  The source has
records that the view does not show.  Every request of tests/broker/access_cases.py is sent in her name, and
some that look for what is hidden; no answer has the hidden text, or the name of the source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages import (
    describe_producers,
    kawal_messages,
    kawal_producers,
    kawal_queues,
    kawal_topics,
    list_offsets,
    metadata,
)
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.access_cases import CASES, Case
from tests.broker.audited import Audited
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, take_outgoing
from tests.broker.groups import commit
from tests.broker.guarded import ALICE, GROUP, TOPIC, TRANSACTION, Guarded
from tests.broker.kit import batch, create, creation, fetch, fetching, producing, read, send
from tests.broker.registries import WithRegistry, framed
from tests.broker.shares import REJECT, Member, configure

SOURCE, HIDDEN = "the-source", b"HIDDEN"

VIEWS = {
    "columns": "SELECT a FROM `the-source` WHERE a < 100",
    "all": "SELECT * FROM `the-source` WHERE a < 100",
    "keys": "STABLE `the-source` WHERE tbname = 'open'",
}


def record(number: int, offset: int, secret: bytes = b"") -> Record:
    """Return a record that the view shows if its number is below 100; what is secret is in all its parts."""
    value = b'{"a": %d, "secret": "%s"}' % (number, secret)
    return Record(offset, START_MS + offset, secret or b"open", value, (("h", secret),) if secret else ())


def world(statement: str = VIEWS["columns"]) -> Guarded:
    guarded = Guarded(kawal_vnodes=1, super_users="User:admin;User:ANONYMOUS")
    admin = guarded.admin
    create_database(admin, "d", vnodes="1")
    create(admin, SOURCE, 1, **{"kawal.database": "d", "kawal.columns": "a int, secret string"})
    create(admin, "t", -1, **{"kawal.sql": statement})
    for first, numbers in ((0, (1, 777)), (2, (2, 888))):
        made = [record(number, index, HIDDEN * (number > 100)) for index, number in enumerate(numbers)]
        answer = admin.call(producing((SOURCE, 0, bytearray(encode_batch(made)))), 9)
        assert answer.responses[0].partition_responses[0].base_offset == first
    configure(guarded, share_auto_offset_reset="earliest")
    guarded.allow(Operation.READ, TOPIC, "t")
    guarded.allow(Operation.ALL, GROUP, "g")
    guarded.allow(Operation.ALL, TRANSACTION, "x")
    return guarded


def said(guarded: Guarded, client: Client, request: Any, version: int) -> bytes:
    """Return all bytes that the broker sends as the answer."""
    client.send(request, version)
    guarded.settle()
    guarded.advance(10_000)
    return take_outgoing(client.connection)


def shows_nothing(answer: bytes) -> bool:
    return HIDDEN not in answer and SOURCE.encode() not in answer


def test_the_view_is_read_and_its_source_is_not() -> None:
    guarded = world()
    alice = guarded.of(ALICE)
    assert read(alice, "t") == [b'{"a":1}', b'{"a":2}']
    assert fetch(alice, SOURCE).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert not shows_nothing(said(guarded, guarded.admin, fetching({(SOURCE, 0): 0}), 12)), "it is there"


@pytest.mark.parametrize("statement", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_request_about_a_view_tells_of_its_source(case: Case, statement: str) -> None:
    guarded = world(statement)
    answer = said(guarded, guarded.of(ALICE), case.make(), case.version)
    assert answer
    assert shows_nothing(answer)


def at(timestamp: int) -> Callable[[], Any]:
    def make() -> Any:
        part = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topic = list_offsets.ListOffsetsTopic(name="t", partitions=[part])
        return list_offsets.ListOffsetsRequest(replica_id=-1, topics=[topic])

    return make


OTHERS: dict[str, tuple[int, Callable[[], Any]]] = {
    "all topics": (12, lambda: metadata.MetadataRequest(topics=None)),
    "the source": (12, lambda: metadata.MetadataRequest(topics=[])),
    "all queues": (0, lambda: kawal_queues.KawalQueuesRequest(group_ids=None)),
    "all of kawal": (0, lambda: kawal_topics.KawalTopicsRequest(action=0)),
    "ids": (0, lambda: kawal_messages.KawalMessagesRequest(topic="t", offsets=[], ids=[])),
    "producers": (0, lambda: kawal_producers.KawalProducersRequest(topic="t")),
    "active producers": (
        0,
        lambda: describe_producers.DescribeProducersRequest(
            topics=[describe_producers.TopicRequest(name="t", partition_indexes=[0])]
        ),
    ),
    "latest time": (9, at(-3)),
    "a time between": (9, at(START_MS + 1)),
    "from the middle of a batch": (12, lambda: fetching({("t", 0): 1})),
}


@pytest.mark.parametrize("name", OTHERS)
def test_no_question_about_what_lies_behind_is_answered(name: str) -> None:
    guarded = world()
    version, make = OTHERS[name]
    assert shows_nothing(said(guarded, guarded.of(ALICE), make(), version))


def test_members_of_a_share_group_get_the_records_of_the_view_alone() -> None:
    guarded = world()
    place = (guarded.broker.catalogue.by_name["t"].topic_id, 0)
    member = Member(guarded, "m", "t", client=guarded.of(ALICE))
    answer = said(guarded, member.client, member.fetching(place, max_records=10), 2)
    assert b'{"a":1}' in answer
    assert shows_nothing(answer)


@pytest.mark.parametrize("kind", ["WITH META AS", "ONLY META AS"])
def test_changes_of_sub_tables_are_those_of_the_keys_that_the_view_shows(kind: str) -> None:
    guarded = Guarded(kawal_vnodes=1)
    admin = guarded.admin
    create(
        admin,
        "rooms",
        1,
        **{"kawal.columns": "a int, room string tag", "kawal.tables.declare": "auto"},
    )
    create(admin, "t", -1, **{"kawal.sql": f"{kind} STABLE rooms WHERE tbname = 'open'"})
    for key, room in ((b"open", b"hall"), (b"HIDDEN-1", b"HIDDEN-2"), (b"open", b"attic")):
        value = b'{"a": 1, "room": "%s"}' % room
        made = encode_batch([Record(0, START_MS, key, value, ())])
        admin.call(producing(("rooms", 0, bytearray(made))), 9)
    guarded.allow(Operation.READ, TOPIC, "t")
    alice = guarded.of(ALICE)
    answer = said(guarded, alice, fetching({("t", 0): 0}), 12)
    assert b"hall" in answer
    assert HIDDEN not in answer


def test_a_dead_letter_of_a_view_is_the_record_that_the_view_shows() -> None:
    guarded = world()
    admin = guarded.admin
    create(admin, "dlq.t", 1, **{"errors.deadletterqueue.group.enable": "true"})
    configure(
        guarded,
        errors_deadletterqueue_topic_name="dlq.t",
        errors_deadletterqueue_copy_record_enable="true",
    )
    place = (guarded.broker.catalogue.by_name["t"].topic_id, 0)
    member = Member(guarded, "m", "t", client=guarded.of(ALICE))
    member.fetch(place, max_records=10)
    member.acknowledge(place, (0, 0, [REJECT]))
    guarded.settle()
    guarded.advance(10_000)
    guarded.allow(Operation.READ, TOPIC, "dlq.t")
    answer = said(guarded, guarded.of(ALICE), fetching({("dlq.t", 0): 0}), 12)
    assert b'{"a":1}' in answer
    assert shows_nothing(answer)


def test_a_view_cannot_be_given_another_source_by_a_client_that_may_not_read_it() -> None:
    guarded = world()
    create(guarded.admin, "open", 1, **{"kawal.columns": "a int"})
    create(guarded.admin, "mine", -1, **{"kawal.sql": "SELECT a FROM open"})
    guarded.allow(Operation.ALTER, TOPIC, "mine")
    guarded.allow(Operation.READ, TOPIC, "open")
    item = kawal_topics.TopicItem(name="mine", statement="SELECT secret FROM `the-source`")
    request = kawal_topics.KawalTopicsRequest(action=kawal_topics.TopicAction.RELOAD, topics=[item])
    (result,) = guarded.of(ALICE).call(request, 0).topics
    assert result.error_code
    view = guarded.broker.catalogue.by_name["mine"].view
    assert view is not None
    assert view.statement == "SELECT a FROM open"


@pytest.mark.parametrize("name", ["__kawal_audit", "__consumer_offsets"])
@pytest.mark.parametrize("statement", ["STABLE `{}`", "SELECT _key FROM `{}`"])
def test_internal_topics_are_no_source_of_views(name: str, statement: str) -> None:
    audited = Audited(kawal_audit_topic=True, kawal_vnodes=1)
    commit(audited.admin, "g")
    create(audited.admin, "some")
    audited.settle()
    request = CreateTopicsRequest(topics=[creation("v", -1, kawal_sql=statement.format(name))])
    (result,) = audited.admin.call(request, 7).topics
    assert result.error_code
    assert "v" not in audited.broker.catalogue.by_name


def test_a_view_of_the_database_has_none_of_the_internal_topics() -> None:
    audited = Audited(kawal_audit_topic=True, kawal_vnodes=1)
    admin = audited.admin
    create(admin, "some")
    create(admin, "v", -1, kawal_sql="DATABASE default")
    commit(admin, "lonely", ("some", 0, 1))
    send(admin, "some", batch(b"shown"))
    audited.advance(1_000)
    answer = said(audited, admin, fetching({("v", 0): 0}), 12)
    assert b"shown" in answer
    assert b"lonely" not in answer
    assert b"topic.created" not in answer
    assert b"__" not in answer


class Framed(WithRegistry, Guarded):
    """A guarded broker beside a schema registry."""


def test_a_view_of_framed_values_shows_its_columns_and_never_the_frame() -> None:
    guarded = Framed(kawal_vnodes=1)
    admin = guarded.admin
    create(admin, SOURCE, 1, kawal_columns="a int, secret string", kawal_value_format="registry")
    create(admin, "t", -1, kawal_sql="SELECT a FROM `the-source` WHERE a < 100")
    for number in (1, 777):
        value = framed(1, b'{"a": %d, "secret": "HIDDEN"}' % number)
        send(admin, SOURCE, batch(value))
    guarded.allow(Operation.READ, TOPIC, "t")
    answer = said(guarded, guarded.of(ALICE), fetching({("t", 0): 0}), 12)
    assert b'{"a":1}' in answer
    assert shows_nothing(answer)
