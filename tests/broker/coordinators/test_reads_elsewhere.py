"""A group's settings for reading are in effect at the leaders of partitions that do not coordinate it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from broker.coordinators.member_reads import LOAD_WAIT_MS
from broker.coordinators.reads_elsewhere import LOOK_MS, ClusterReads
from protocol.messages.fetch import ForgottenTopic
from tests.broker.coordinators.reading_nodes import ALL, MIXED, Reading
from tests.broker.gateway import Client
from tests.broker.group_reads import records, seen
from tests.broker.groups import commit, joining, syncing
from tests.broker.kit import fetched, fetching, send, values

OWN, EVERY = [b"own", b"own too"], [b"own", b"restored", b"own too"]


@pytest.fixture(params=[False, True], ids=["workers", "nodes"])
def nodes(request: pytest.FixtureRequest) -> Reading:
    """Return two nodes, and a group that leaves out what was restored."""
    nodes = Reading(own_directories=request.param)
    nodes.configure(consume_excluded="true")
    return nodes


def test_the_first_fetch_of_a_member_is_its_groups(nodes: Reading) -> None:
    assert len(nodes.join()) == 4
    assert nodes.seen(nodes.reader()) == MIXED
    assert nodes.seen(nodes.reader("10.0.0.8")) == ALL


def test_a_classic_member_is_known_by_its_assignment(nodes: Reading) -> None:
    from protocol.consumer_protocol import ConsumerProtocolAssignment, TopicPartition, encode_assignment

    client = nodes[nodes.coordinator].client()
    member_id = client.call(joining("g", topics=["t"]), 4).member_id
    joined = client.call(joining("g", member_id, topics=["t"]), 4)
    partitions = [TopicPartition(topic="t", partitions=[0, 1, 2, 3])]
    mine = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=partitions), 0)
    client.call(syncing("g", member_id, joined.generation_id, **{member_id: mine}), 5)
    assert nodes.seen(nodes.reader()) == MIXED


def test_a_leader_that_is_no_coordinator_at_all_knows_it_too() -> None:
    nodes = Reading(3)
    nodes.configure(consume_excluded="true")
    nodes.join()
    for index in range(6):
        client = nodes[nodes.leader_of(index)].client()
        assert seen(client, "t", 0, index) == MIXED


def test_a_member_that_gets_a_partition_later_is_known_from_its_first_fetch_on(nodes: Reading) -> None:
    epoch = nodes.join()[nodes.index]
    first, second = "10.0.0.9", "10.0.0.8"
    on_all = {
        host: [nodes[nodes.leader_of(index)].client(host) for index in range(4)] for host in (first, second)
    }
    joined = nodes.beat(0, "n", second, topics=["t"])
    assert [seen(client, "t", 0, index) for index, client in enumerate(on_all[second])] == [ALL] * 4
    answer = nodes.beat(epoch)
    kept = partitions_of(answer)
    assert len(kept) == 2
    nodes.beat(answer.member_epoch, owned={nodes.topic_id: kept})
    given = partitions_of(nodes.beat(joined.member_epoch, "n", second))
    assert sorted(kept + given) == [0, 1, 2, 3]
    for host, held in ((first, kept), (second, given)):
        for index, client in enumerate(on_all[host]):
            assert seen(client, "t", 0, index) == (MIXED if index in held else ALL)


def partitions_of(answer: Any) -> list[int]:
    assert answer.error_code == 0, answer
    return [index for part in answer.assignment.topic_partitions for index in part.partitions]


def test_a_member_that_was_lost_and_is_back_is_known_at_once_on_its_old_connection(nodes: Reading) -> None:
    given = nodes.join()
    reader = nodes.reader()
    assert nodes.seen(reader) == MIXED
    assert nodes.beat(-1).error_code == 0
    nodes.advance(2 * LOOK_MS)
    assert nodes.seen(reader) == ALL
    assert len(nodes.join()) == len(given)
    assert nodes.seen(reader) == MIXED


def test_a_session_is_its_groups_without_a_question_until_a_partition_is_named_again(nodes: Reading) -> None:
    nodes.join()
    reader, place = nodes.reader(), ("t", nodes.index)
    other = next(index for index in range(4) if index != place[1] and nodes.leader_of(index) == nodes.leader)
    answer = reader.call(fetching({place: 0, ("t", other): 3}, session=(0, 0)), 12)
    session = answer.session_id
    assert session
    assert values(fetched(answer)[place].records) == OWN
    before = len(nodes.questions)
    assert fetched(reader.call(fetching({place: 3}, session=(session, 1)), 12)) == {}
    data = records((b"d", b"restored"), (b"e", b"mine"), restored=[0])
    assert send(nodes[nodes.leader].client(), "t", data, nodes.index).error_code == 0
    answer = reader.call(fetching({}, session=(session, 2)), 12)
    assert values(fetched(answer)[place].records) == [b"mine"]
    assert len(nodes.questions) == before
    # Lost and given back: the partition is taken out of the session, and named when it is put in again.
    assert nodes.beat(-1).error_code == 0
    nodes.advance(2 * LOOK_MS)
    request = fetching({}, session=(session, 3))
    request.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[nodes.index])]
    assert reader.call(request, 12).error_code == 0
    nodes.join()
    answer = reader.call(fetching({place: 0}, session=(session, 4)), 12)
    assert values(fetched(answer)[place].records) == [*OWN, b"mine"]


def test_a_client_that_has_read_before_it_joined_is_known_on_a_new_connection_at_once(
    nodes: Reading,
) -> None:
    reader = nodes.reader()
    assert nodes.seen(reader) == ALL
    nodes.join()
    assert nodes.seen(nodes.reader()) == MIXED


def test_a_client_that_has_read_before_it_joined_is_known_on_its_old_connection_a_second_later(
    nodes: Reading,
) -> None:
    reader = nodes.reader()
    assert nodes.seen(reader) == ALL
    nodes.join()
    nodes.advance(2 * LOOK_MS)
    assert nodes.seen(reader) == MIXED


def test_settings_apply_at_once_and_end_a_second_after_the_membership(nodes: Reading) -> None:
    nodes.join()
    reader = nodes.reader()
    assert nodes.seen(reader) == MIXED
    nodes.configure(consume_excluded="false")
    assert nodes.seen(reader) == ALL
    nodes.configure(consume_excluded="true")
    assert nodes.seen(reader) == MIXED
    assert nodes.beat(-1).error_code == 0
    nodes.advance(2 * LOOK_MS)
    assert nodes.seen(reader) == ALL
    assert nodes.seen(nodes.reader()) == ALL


def test_a_group_of_another_node_that_cannot_be_told_apart_takes_the_settings_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nodes = Reading(3)
    nodes.configure(consume_excluded="true")
    other = next(f"h{number}" for number in range(99) if nodes.coordinator_of(f"h{number}") == nodes.leader)
    third = next(
        f"h{number}"
        for number in range(99)
        if nodes.coordinator_of(f"h{number}") not in (nodes.leader, nodes.coordinator)
    )
    nodes.join()
    assert nodes.seen(nodes.reader()) == MIXED
    for group in (other, third):
        nodes.join("o", group=group)
        with caplog.at_level(logging.WARNING, "kawal.groups"):
            assert nodes.seen(nodes.reader()) == ALL
        assert f"'g', '{group}' are all client 'test' on 10.0.0.9" in caplog.text
        assert nodes.beat(-1, "o", group=group).error_code == 0
        assert nodes.seen(nodes.reader()) == MIXED


def kill(nodes: Reading) -> Callable[[], None]:
    nodes.kill(nodes.coordinator)
    return lambda: nodes.revive(nodes.coordinator)


def hang(nodes: Reading) -> Callable[[], None]:
    nodes.hung.add(nodes.coordinator)
    return lambda: nodes.wake(nodes.coordinator)


def cut_off(nodes: Reading) -> Callable[[], None]:
    nodes.cut.add(frozenset({nodes.coordinator, nodes.leader}))
    return nodes.cut.clear


MISHAPS = pytest.mark.parametrize("mishap", [kill, hang, cut_off])


def later(nodes: Reading, client: Client) -> list[bytes]:
    """Return the values that one fetch gets, with time for what it waits for."""
    request = fetching({("t", nodes.index): 0}, max_wait_ms=500)
    answer = nodes.call(client, request, 12, within_ms=2_000)
    found: Any = fetched(answer)["t", nodes.index]
    assert found.error_code == 0
    return values(found.records)


@MISHAPS
def test_what_is_known_stays_in_effect_while_the_coordinator_is_silent(
    nodes: Reading, mishap: Callable[[Reading], Callable[[], None]]
) -> None:
    nodes.join()
    reader = nodes.reader()
    assert later(nodes, reader) == OWN
    mishap(nodes)
    for _ in range(100):
        nodes.advance(500)
        assert later(nodes, reader) == OWN


@MISHAPS
def test_a_fetch_that_needs_a_silent_coordinator_waits_and_gets_no_record_until_it_is_back(
    nodes: Reading, mishap: Callable[[Reading], Callable[[], None]]
) -> None:
    nodes.join()
    end = mishap(nodes)
    reader, stranger = nodes.reader(), nodes.reader("10.0.0.8")
    for _ in range(10):
        assert later(nodes, reader) == []
        assert later(nodes, stranger) == []
    end()
    nodes.advance(200)
    assert later(nodes, reader) == OWN
    assert later(nodes, stranger) == EVERY


@MISHAPS
def test_after_half_a_minute_of_silence_fetches_go_on_without_the_settings(
    nodes: Reading, mishap: Callable[[Reading], Callable[[], None]]
) -> None:
    nodes.join()
    end = mishap(nodes)
    reader = nodes.reader()
    for _ in range(LOAD_WAIT_MS // 500):
        nodes.advance(500)
        later(nodes, reader)
    assert later(nodes, reader) == EVERY
    end()
    nodes.advance(2 * LOOK_MS)
    assert nodes.beat(0, topics=["t"]).error_code == 0
    nodes.advance(2 * LOOK_MS)
    assert later(nodes, reader) == OWN


def test_a_change_at_one_coordinator_makes_nothing_wait_for_another_that_is_silent() -> None:
    nodes = Reading(3)
    names = [f"h{number}" for number in range(99)]
    other = next(
        name for name in names if nodes.coordinator_of(name) not in (nodes.leader, nodes.coordinator)
    )
    for group in ("g", other):
        nodes.configure(group, consume_excluded="true")
    nodes.join()
    reader = nodes.reader()
    assert later(nodes, reader) == OWN
    nodes.hung.add(nodes.coordinator)
    nodes.join("o", "10.0.0.7", other)
    nodes.advance(2 * LOOK_MS)
    assert later(nodes, reader) == OWN
    nodes.wake(nodes.coordinator)


def test_a_fetch_does_not_wait_for_the_end_of_changes() -> None:
    nodes = Reading()
    nodes.configure(consume_excluded="true")
    nodes.join()
    reads = nodes[nodes.leader].broker.member_reads
    assert isinstance(reads, ClusterReads)
    client = nodes.reader()
    client.send(fetching({("t", nodes.index): 0}, max_wait_ms=500), 12)
    node = reads._nodes[nodes[nodes.coordinator].broker.nodes.own_id]
    # Each answer says that groups have changed once more.
    taken = node._take

    def take(*told: Any) -> None:
        taken(*told)
        node.changed = next(reads._moments)

    node._take = take
    nodes.settle()
    (answer,) = client.answers()
    assert values(fetched(answer)["t", nodes.index].records) == OWN


def test_a_leader_that_has_started_again_asks_anew() -> None:
    nodes = Reading(3)
    nodes.configure(consume_excluded="true")
    nodes.join()
    for number in range(3):
        nodes.kill(number)
        nodes.revive(number)
        nodes.advance(1_000)
        for index in range(6):
            client = nodes[nodes.leader_of(index)].client()
            request = fetching({("t", index): 0}, max_wait_ms=500)
            answer = nodes.call(client, request, 12, within_ms=2_000)
            assert values(fetched(answer)["t", index].records) == OWN


def test_a_coordinator_that_still_loads_the_group_is_waited_for(nodes: Reading) -> None:
    nodes.join()
    groups = nodes[nodes.coordinator].broker.groups
    now_ms = nodes[nodes.coordinator].now_ms
    with groups.step(now_ms) as coordinator:
        partition = coordinator.partition_of("g")
        coordinator._context.loaded.discard(partition)
    reader = nodes.reader()
    assert later(nodes, reader) == []
    coordinator._context.loaded.add(partition)
    assert later(nodes, reader) == OWN


def test_a_fetch_waits_for_as_many_records_as_the_group_wants() -> None:
    nodes = Reading()
    nodes.configure(min_poll_rows="5")
    nodes.join()
    reader = nodes.reader()
    assert nodes.seen(reader) == ALL
    reader.send(fetching({("t", nodes.index): 0}, max_wait_ms=10_000), 12)
    nodes.advance(100)
    assert reader.answers() == []
    data = records((b"d", b"4"), (b"e", b"5"))
    assert send(nodes[nodes.leader].client(), "t", data, nodes.index).error_code == 0
    nodes.settle()
    (answer,) = reader.answers()
    assert len(values(fetched(answer)["t", nodes.index].records)) == 5


def test_a_group_begins_with_a_snapshot_unless_it_has_progress_at_its_coordinator() -> None:
    nodes = Reading()
    data = records((b"a", b"newer"))
    assert send(nodes[nodes.leader].client(), "t", data, nodes.index).error_code == 0
    nodes.configure(snapshot_enable="true")
    epoch = nodes.join()[nodes.index]
    reader = nodes.reader()
    assert nodes.seen(reader) == [(1, b"restored"), (2, b"own too"), (3, b"newer")]
    commit(nodes[nodes.coordinator].client(), "g", ("t", nodes.index, 4), member=("m", epoch))
    assert len(nodes.seen(reader)) == 4, "a seek to the start is not a group's first reading"


def test_nothing_is_asked_without_settings_nor_for_fetches_of_what_is_known(nodes: Reading) -> None:
    nodes.join()
    reader = nodes.reader()
    nodes.seen(reader)
    before = len(nodes.questions)
    for _ in range(20):
        assert nodes.seen(reader) == MIXED
    assert len(nodes.questions) == before
    nodes.configure(consume_excluded="false")
    nodes.advance(5_000)
    before = len(nodes.questions)
    nodes.advance(5_000)
    assert nodes.seen(nodes.reader()) == ALL
    assert len(nodes.questions) == before


def test_clients_that_come_together_are_asked_about_together(nodes: Reading) -> None:
    nodes.join()
    readers = [nodes.reader(f"10.0.1.{number}") for number in range(50)]
    before = len(nodes.questions)
    for reader in readers:
        reader.send(fetching({("t", nodes.index): 0}, max_wait_ms=500), 12)
    nodes.settle()
    assert [len(reader.answers()) for reader in readers] == [1] * 50
    assert len(nodes.questions) - before <= 2


def test_the_readers_that_are_remembered_are_bounded(nodes: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.coordinators.reads_elsewhere.READERS_MAX", 3)
    monkeypatch.setattr("broker.coordinators.remembered.CLIENTS_MAX", 3)
    nodes.join()
    for number in range(10, 20):
        assert nodes.seen(nodes.reader(f"10.0.1.{number}")) == ALL
    assert nodes.seen(nodes.reader()) == MIXED
    reads = nodes[nodes.leader].broker.member_reads
    assert isinstance(reads, ClusterReads)
    assert (len(reads._readers), len(reads._told)) == (3, 3)
    assert len(reads._found) == 1, "the others are members of no group"
    assert not reads._waiting
