"""The catalogue takes no more memory than its limit, whatever a client puts into it."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from msgspec.structs import asdict

from broker.catalogue.catalogue_records import (
    AclAdded,
    AclRemoved,
    CatalogueRecord,
    ClientQuotas,
    GroupConfigs,
    ScramCredentials,
    TopicConfigs,
)
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import create, creation
from wal.memory_faults import failing

LIMIT_BYTES = 1 << 20
TEXT = "x" * 1_000


def rule(number: int) -> AclAdded:
    return AclAdded(
        resource_type=2,
        name=f"{TEXT}{number}",
        pattern_type=3,
        principal="User:a",
        host="*",
        operation=3,
        permission=3,
    )


def group(number: int) -> GroupConfigs:
    return GroupConfigs(group=f"{TEXT}{number}", configs={"consumer.session.timeout.ms": "50000"})


def user(number: int) -> ScramCredentials:
    return ScramCredentials(user=f"{TEXT}{number}", credentials={"SCRAM-SHA-256": "salt"})


def quota(number: int) -> ClientQuotas:
    return ClientQuotas(entity=f'[["user", "{TEXT}{number}"]]', values={"request_percentage": "1.0"})


def gateway() -> Gateway:
    return Gateway(kawal_catalogue_max_bytes=LIMIT_BYTES)


def change(world: Gateway, record: CatalogueRecord) -> None:
    world.broker.metadata_log.append(record, world.now_ms)
    world.settle()


def fill(world: Gateway, made: Callable[[int], CatalogueRecord]) -> None:
    """Change the catalogue, each time durably, until that is refused."""
    for number in range(1_000):
        change(world, made(number))


def fill_at_once(world: Gateway) -> None:
    """Change the catalogue, and nothing of it durably, until that is refused."""
    for number in range(1_000):
        world.broker.metadata_log.append(group(number), world.now_ms)


@pytest.mark.parametrize("made", [rule, group, user, quota], ids=lambda made: made.__name__)
def test_no_more_is_taken_in_than_the_limit_allows(made: Callable[[int], CatalogueRecord]) -> None:
    world = gateway()
    with pytest.raises(RequestError) as refused:
        fill(world, made)
    assert refused.value.code == ErrorCode.POLICY_VIOLATION
    room = world.broker.catalogue.room
    assert LIMIT_BYTES * 0.9 < room.size_bytes <= LIMIT_BYTES
    assert room.refused == 1


def test_changes_on_their_way_to_the_disk_count_and_lost_ones_do_no_longer() -> None:
    world = gateway()
    room = world.broker.catalogue.room
    before = room.size_bytes
    with pytest.raises(RequestError):
        fill_at_once(world)
    assert room.size_bytes > LIMIT_BYTES * 0.9
    world.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    world.run_jobs()
    assert room.size_bytes == before


def test_what_makes_it_smaller_goes_on_and_makes_room() -> None:
    world = gateway()
    with pytest.raises(RequestError):
        fill(world, rule)
    change(world, AclRemoved(**asdict(rule(0))))
    change(world, rule(1_000))
    # The same again adds nothing.
    change(world, rule(1_000))
    with pytest.raises(RequestError):
        change(world, rule(1_001))


def test_all_that_was_made_and_deleted_again_leaves_no_bytes() -> None:
    world = gateway()
    client, room = world.client(), world.broker.catalogue.room
    before = room.size_bytes
    topic_id = create(client, "t", 3)
    change(world, TopicConfigs(topic_id=topic_id.hex, configs={"retention.ms": "1000000"}))
    for record in (user(1), quota(1), group(1)):
        change(world, record)
    assert room.size_bytes > before
    change(world, ScramCredentials(user=user(1).user, credentials={}))
    change(world, ClientQuotas(entity=quota(1).entity, values={}))
    change(world, GroupConfigs(group=group(1).group, configs={}))
    client.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    assert (room.size_bytes, room.planned_bytes) == (before, 0)


def test_a_topic_without_room_is_refused_and_the_server_s_own_topics_are_not() -> None:
    world = gateway()
    client = world.client()
    codes: set[int] = set()
    for number in range(40):
        asked = [creation(f"{number}-{index}".ljust(249, "x")) for index in range(20)]
        answer = client.call(CreateTopicsRequest(topics=asked), 7)
        codes |= {topic.error_code for topic in answer.topics}
    assert codes == {ErrorCode.NONE, ErrorCode.POLICY_VIOLATION}
    assert world.broker.catalogue.room.size_bytes <= LIMIT_BYTES
