"""A topic with records when the server begins to choose partitions: successors take its keys."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.coordinators.test_node_splits import Classic, Consumer, held
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import commit, fetching_offsets
from tests.broker.kit import create, producing, send
from tests.broker.numbered import of_records
from tests.broker.shares import ACCEPT, Member, configure, values
from tests.broker.splits import HIGH, LOW, SPEED, keyed, split, tree, values_of
from tests.broker.topic_requests import altered, deleted, partition_count

MODE = "kawal.partition.autosplit.mode"
ONE_LOG = pytest.mark.parametrize("gateway", [1], indirect=True)
"""Several logs are in tests/broker/storage/test_closed.py."""

SPEED_CONFIG: dict[str, Any] = {"kawal_partition_write_bytes_per_sec": str(SPEED)}


@pytest.fixture(params=[1, 2], ids=["one-log", "two-logs"])
def gateway(request: pytest.FixtureRequest) -> Gateway:
    """Return a gateway with one log, on which all partitions of a topic lie, or with one for each of two."""
    return Gateway(kawal_vnodes=request.param, group_initial_rebalance_delay_ms=0)


@pytest.fixture
def client(gateway: Gateway) -> Client:
    return gateway.client()


def filled(client: Client, partitions: int = 2, **configs: str) -> Any:
    """Create a topic and write, in each partition, a record of each of two keys."""
    topic_id = create(client, "t", partitions, **SPEED_CONFIG, **configs)
    for index in range(partitions):
        assert send(client, "t", keyed((HIGH, b"h%d" % index), (LOW, b"l%d" % index)), index).error_code == 0
    return topic_id


def begin(client: Client, value: str = "paused") -> None:
    assert altered(client, "t", MODE, value) == (0, "")


def test_each_partition_gets_a_successor_with_all_of_its_keys(client: Client) -> None:
    filled(client)
    begin(client)
    assert partition_count(client, "t") == 4
    for index in range(4):
        send(client, "t", keyed((HIGH, b"H%d" % index), (LOW, b"L%d" % index)), index)
    assert [values_of(client, index) for index in range(4)] == [
        [b"h0", b"l0"], [b"h1", b"l1"],
        [b"L0", b"L1", b"L2", b"L3"], [b"H0", b"H1", b"H2", b"H3"],
    ]  # fmt: skip


@ONE_LOG
def test_records_without_keys_stay_where_they_are_sent(client: Client) -> None:
    filled(client)
    begin(client)
    assert send(client, "t", keyed((None, b"free")), 1).base_offset == 2
    assert values_of(client, 1)[-1] == b"free"


@ONE_LOG
def test_the_tree_says_where_the_keys_of_a_partition_go(client: Client) -> None:
    filled(client)
    begin(client)
    rows = [
        (row.partition, row.start, row.end, row.parent, row.parent_cut, row.why_not) for row in tree(client)
    ]
    assert rows == [
        (0, 0, 2, -1, -1, ""),
        (0, 2, -1, -1, -1, "its keys go to partition 2"),
        (1, 0, 2, -1, -1, ""),
        (1, 2, -1, -1, -1, "its keys go to partition 3"),
        (2, 0, -1, 0, 2, ""),
        (3, 0, -1, 1, 2, ""),
    ]


@pytest.mark.parametrize("how", ["restart", "crash"])
def test_successors_outlive_a_restart(gateway: Gateway, client: Client, how: str) -> None:
    filled(client)
    begin(client)
    before = tree(client)
    getattr(gateway, how)()
    client = gateway.client()
    assert tree(client) == before
    send(client, "t", keyed((LOW, b"L")), 1)
    assert values_of(client, 2) == [b"L"]


def test_a_renewal_that_is_lost_leaves_the_topic_as_it_was(gateway: Gateway, client: Client) -> None:
    filled(client)
    config = AlterableConfig(name=MODE, config_operation=0, value="up")
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[config])
    client.send(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    gateway.crash()
    client = gateway.client()
    assert partition_count(client, "t") == 2
    assert send(client, "t", keyed((LOW, b"L")), 1).base_offset == 2
    assert split(client)[0] == ErrorCode.INVALID_REQUEST, "the mode is not set"


def test_writes_wait_for_the_renewal_and_then_go_to_the_successors(gateway: Gateway, client: Client) -> None:
    filled(client)
    other = gateway.client()
    config = AlterableConfig(name=MODE, config_operation=0, value="up")
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[config])
    client.send(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    other.send(producing(("t", 1, keyed((LOW, b"L")))), 9)
    gateway.settle()
    assert [len(each.answers()) for each in (client, other)] == [1, 1]
    assert values_of(client, 1) == [b"h1", b"l1"]
    assert values_of(client, 2) == [b"L"]


@ONE_LOG
def test_a_topic_that_nothing_can_be_read_of_needs_no_successors(client: Client) -> None:
    create(client, "t", 2, **SPEED_CONFIG)
    begin(client)
    assert partition_count(client, "t") == 2


def test_one_partition_has_all_keys_already(client: Client) -> None:
    filled(client, 1)
    begin(client)
    assert partition_count(client, "t") == 1


@ONE_LOG
def test_an_operator_who_knows_better_gets_no_successors(client: Client) -> None:
    filled(client)
    assert altered(client, "t", "kawal.split.barrier", "false") == (0, "")
    begin(client)
    assert partition_count(client, "t") == 2


def test_a_renewal_without_room_is_refused_and_changes_nothing(gateway: Gateway) -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_max_partitions=3)
    client = gateway.client()
    filled(client)
    code, message = altered(client, "t", MODE, "up")
    assert code == ErrorCode.POLICY_VIOLATION
    assert "2 more partitions would exceed kawal.max.partitions=3" in message
    assert partition_count(client, "t") == 2
    assert split(client)[0] == ErrorCode.INVALID_REQUEST, "the mode is not set"


def test_a_predecessor_is_not_split_and_a_successor_is(client: Client) -> None:
    filled(client)
    begin(client)
    code, message = split(client, 0)
    assert code == ErrorCode.INVALID_REQUEST
    assert "it takes no keys, as it has a successor" in message
    assert split(client, 3) == (0, "")
    assert [(row.parent, row.partition) for row in tree(client) if row.partition == 4] == [(3, 4)]


def test_a_renewed_topic_is_deleted_and_made_anew(client: Client) -> None:
    filled(client)
    begin(client)
    assert deleted(client, "t") == {"t": (0, "")}
    filled(client)
    assert partition_count(client, "t") == 2


def test_an_idempotent_batch_sent_again_after_the_renewal_is_stored_once(client: Client) -> None:
    filled(client)
    before = keyed((HIGH, b"once"), producer=(7, 0, 0))
    first = send(client, "t", bytearray(before), 0)
    begin(client)
    assert send(client, "t", bytearray(before), 0).base_offset == first.base_offset
    after = keyed((HIGH, b"twice"), producer=(7, 0, 1))
    for _ in range(2):
        assert send(client, "t", bytearray(after), 0).error_code == 0
    assert values_of(client, 0) == [b"h0", b"l0", b"once"]
    assert values_of(client, 3) == [b"twice"]


@pytest.mark.parametrize("configs", [{}, {"kawal_routing": "producer-bind"}])
def test_a_named_source_goes_on_in_a_successor_of_its_own_partition(
    client: Client, configs: dict[str, str]
) -> None:
    create(client, "t", 2, **SPEED_CONFIG, kawal_dedup="seqno", **configs)
    assert send(client, "t", of_records([(b"meter", 1)]), 1).error_code == 0
    before = [len(values_of(client, index)) for index in range(2)]
    begin(client)
    for number in (1, 2):
        assert send(client, "t", of_records([(b"meter", number)]), 0).error_code == 0
    found = [len(values_of(client, index)) for index in range(4)]
    assert found[:2] == before, "what was there is not stored twice, and nothing else comes"
    assert sum(found[2:]) == 1
    if configs:
        assert found[2:] == [before[0], before[1]], "it stays below the partition it was bound to"


def test_groups_get_successors_when_they_have_read_all_there_was(gateway: Gateway, client: Client) -> None:
    topic_id = filled(client)
    consumer = Consumer(gateway, topic_id)
    begin(client)
    gateway.advance(2_000)
    assert consumer.beat() == [0, 1]
    assert consumer.commit((0, 2)) == [0, 1], "a key of successor 2 may still be unread in 1"
    assert consumer.commit((1, 2)) == [0, 1, 2, 3]
    assert consumer.commit((1, 1)) == [0, 1]


def test_a_child_of_a_successor_waits_for_it(gateway: Gateway, client: Client) -> None:
    topic_id = filled(client)
    begin(client)
    send(client, "t", keyed((HIGH, b"H")), 3)
    split(client, 3)
    consumer = Consumer(gateway, topic_id)
    assert consumer.commit((0, 2), (1, 2)) == [0, 1, 2, 3]
    assert consumer.commit((3, 1)) == [0, 1, 2, 3, 4]


def test_a_group_with_progress_anywhere_begins_successors_at_their_start(client: Client) -> None:
    filled(client)
    commit(client, "g", ("t", 1, 2))
    begin(client)

    def position(group: str, index: int) -> int:
        (answer,) = client.call(fetching_offsets(group, ("t", index)), 9).groups
        return int(answer.topics[0].partitions[0].committed_offset)

    assert [position("g", index) for index in (2, 3)] == [0, 0]
    assert position("stranger", 2) == -1


def test_a_classic_group_joins_again_for_successors(gateway: Gateway, client: Client) -> None:
    filled(client)
    begin(client)
    consumer = Classic(gateway)
    assert consumer.join(4) == [0, 1]
    member = (consumer.member_id, consumer.generation)
    commit(consumer.client, "g", ("t", 1, 2), member=member)
    consumer.commit(1)
    assert consumer.beat() == 0
    consumer.commit(2)
    assert consumer.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert consumer.join(4) == [0, 1, 2, 3]


def test_a_share_group_gets_successors_when_it_is_done(gateway: Gateway, client: Client) -> None:
    topic_id = filled(client)
    configure(gateway, **{"share.auto.offset.reset": "earliest"})
    begin(client)
    send(client, "t", keyed((LOW, b"after")), 0)
    member = Member(gateway, "a" * 22, "t")
    member.fetch((topic_id, 0), (topic_id, 1))
    member.fetch((topic_id, 0), (topic_id, 1))
    member.acknowledge((topic_id, 0), (0, 1, [ACCEPT]))
    assert held(member) in ([], [0, 1])
    member.acknowledge((topic_id, 1), (0, 1, [ACCEPT]))
    assert held(member) == [0, 1, 2, 3]
    assert values(member.fetch((topic_id, 2))) == [b"after"]


def test_a_share_group_of_new_records_keeps_what_comes_to_successors(
    gateway: Gateway, client: Client
) -> None:
    topic_id = filled(client)
    member = Member(gateway, "a" * 22, "t")
    member.fetch((topic_id, 0), (topic_id, 1))
    begin(client)
    send(client, "t", keyed((LOW, b"after")), 0)
    gateway.advance(2_000)
    assert held(member) == [0, 1, 2, 3]
    assert values(member.fetch((topic_id, 2))) == [b"after"]
