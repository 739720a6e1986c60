"""The garbage collector looks at new objects only, and the server gives it nothing else to find."""

from __future__ import annotations

import gc
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from broker.server import collector
from broker.storage.inspection import INSPECTED_RECORDS_MAX
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.records import renew_crc
from tests.broker.delegation import create as create_token
from tests.broker.delegation import logged_in, token_gateway, token_login
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import commit, join
from tests.broker.kit import batch, create, fetching, offset_of, producing, read, send
from tests.broker.logins import LoginGateway, ScramClient, choose, give, log_in, plain_token
from tests.broker.shares import ACCEPT, Member, configure

TOPICS = {"t": 2}

NEWEST = -3
"""The time that asks for the newest record, for which the newest batch is opened."""


@pytest.fixture
def collecting() -> Iterator[None]:
    """Let the test set the collector up, and put it back afterwards."""
    threshold, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    gc.callbacks[:] = callbacks
    gc.set_threshold(*threshold)
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("collecting")
def test_objects_that_outlive_two_collections_are_not_looked_at_again() -> None:
    collector.calm_collector()
    exempt = gc.get_freeze_count()
    kept = [[number] for number in range(collector.YOUNG * (collector.ROUNDS + 3))]
    assert gc.get_freeze_count() >= exempt + collector.YOUNG * collector.ROUNDS
    young = sum(len(gc.get_objects(generation)) for generation in range(3))
    assert young < len(kept) / 2


@pytest.mark.usefixtures("collecting")
def test_work_that_frees_as_many_objects_as_it_makes_leaves_them_to_no_later_collection() -> None:
    old: list[Any] = [[number] for number in range(20 * collector.YOUNG)]
    collector.calm_collector()
    new: list[Any] = []
    while old:
        new.append([old.pop()[0]])
    assert len(gc.get_objects(0)) > 10 * collector.YOUNG, "they were not counted"
    looked = collector.ROUNDS + 2
    for _ in range(looked):
        collector.collect_what_is_left()
        assert len(gc.get_objects(0)) < collector.YOUNG
    assert sum(len(gc.get_objects(generation)) for generation in range(3)) < collector.YOUNG


@pytest.mark.usefixtures("collecting")
def test_cycles_of_new_objects_are_still_collected() -> None:
    collector.calm_collector()
    found: list[int] = []
    gc.callbacks.append(lambda phase, info: found.append(info["collected"]) if phase == "stop" else None)
    for _ in range(collector.YOUNG * 2):
        cycle: list[object] = []
        cycle.append(cycle)
    assert sum(found) > collector.YOUNG / 2


def work(gateway: Gateway) -> None:
    """Do a little of everything that clients do all day, and leave."""
    client, other = gateway.client(), gateway.client()
    create(client, "made")
    send(client, "made", batch(b"a", b"b"), 0)
    assert read(client, "made") == [b"a", b"b"]
    client.call(producing(("made", 0, batch(b"c")), ("missing", 0, batch(b"d"))), 9)
    other.send(fetching({("made", 0): 3}), 12)
    join_and_leave(gateway)
    gateway.client().send_bytes(b"\x00\x00\x00\x04junk")
    client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="made")], timeout_ms=1), 6)
    client.close()
    other.close()
    gateway.advance(20_000)


def join_and_leave(gateway: Gateway) -> None:
    member: Client = gateway.client()
    commit(member, "g", ("t", 0, 5), member=join(member, "g"))
    member.close()


def broken(*, doubtful: bool = False) -> bytearray:
    """Return a gzip batch that is cut in the middle; its header may give no time that can be believed."""
    rows = [b"%d" % (number**5) for number in range(INSPECTED_RECORDS_MAX + 1)]
    data = batch(*rows, codec=Codec.GZIP)
    del data[len(data) // 2 :]
    struct.pack_into(">i", data, 8, len(data) - 12)
    if doubtful:
        struct.pack_into(">q", data, 35, -1)
    renew_crc(data)
    return data


def break_off(gateway: Gateway) -> None:
    """Send what threads cannot read to its end: on its way in, at lookups by time, and through a view."""
    client = gateway.client()
    for topic, doubtful in (("compacted", False), ("t", True)):
        answer = send(client, topic, broken(doubtful=doubtful), 0)
        assert answer.error_code == ErrorCode.INVALID_RECORD
    assert not send(client, "t", broken(), 0).error_code
    assert offset_of(client, "t", NEWEST).error_code == ErrorCode.INVALID_RECORD
    assert read(client, "seen") == []
    client.close()
    gateway.advance(20_000)


@pytest.mark.usefixtures("collecting")
def test_what_threads_cannot_read_is_kept_by_no_cycles_of_errors() -> None:
    """Each kept what was opened of its batch, up to 16 MiB, and for ever once it had outlived collections."""
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t")
    create(gateway.client(), "compacted", cleanup_policy="compact")
    create(gateway.client(), "seen", -1, kawal_sql="SELECT _offset FROM t")
    break_off(gateway)
    gc.disable()
    found = []
    for _ in range(2):
        gc.collect()
        break_off(gateway)
        found.append(gc.collect())
    assert min(found) == 0


@pytest.mark.usefixtures("collecting")
def test_what_clients_do_leaves_no_cycles_behind() -> None:
    gateway = Gateway(kawal_vnodes=2, group_initial_rebalance_delay_ms=0, kawal_rebalance_interval_ms=0)
    create(gateway.client(), "t", partitions=2)
    # The first round makes classes and code that are kept.
    work(gateway)
    gc.disable()
    # A thread of another test that ends meanwhile leaves cycles, too, but only once.
    found = []
    for _ in range(2):
        gc.collect()
        work(gateway)
        found.append(gc.collect())
    assert min(found) == 0


def log_ins(gateway: LoginGateway, token: Any) -> None:
    """Log in by each mechanism, fail to, and leave in the midst of it."""
    done = gateway.login_client()
    assert log_in(done).error_code == 0
    done.call(MetadataRequest(topics=[]), 12)
    failed, silent, unfinished = (gateway.login_client() for _ in range(3))
    choose(failed)
    failed.send(SaslAuthenticateRequest(auth_bytes=plain_token(password="wrong")), 2)
    choose(unfinished, "SCRAM-SHA-256")
    give(unfinished, ScramClient("SCRAM-SHA-256", "nobody", "x").first)
    with_token = gateway.login_client()
    assert token_login(with_token, token.token_id, token.hmac).error_code == 0
    gateway.advance(200)
    for client in (done, failed, silent, unfinished, with_token):
        client.close()
    gateway.advance(20_000)


@pytest.mark.usefixtures("collecting")
def test_logins_leave_no_cycles_behind() -> None:
    gateway = token_gateway()
    token = create_token(logged_in(gateway))
    log_ins(gateway, token)
    gc.collect()
    gc.disable()
    log_ins(gateway, token)
    assert gc.collect() == 0


def share(gateway: Gateway) -> None:
    """Have records acquired and acknowledged, wait for some, and leave while others are waited for."""
    client, member, waiting = gateway.client(), Member(gateway, "m1", "jobs"), Member(gateway, "m2", "jobs")
    place = gateway.broker.catalogue.by_name["jobs"].topic_id, 0
    send(client, "jobs", batch(b"a", b"b"))
    member.fetch(place)
    member.acknowledge(place, (0, 1, [ACCEPT]))
    waiting.send_fetch(place, max_wait_ms=60_000)
    send(client, "jobs", batch(b"c"))
    gateway.settle()
    waiting.send_fetch(place, max_wait_ms=60_000)
    for each in (client, member.client, waiting.client):
        each.close()
    gateway.advance(120_000)


@pytest.mark.usefixtures("collecting")
def test_members_of_share_groups_leave_no_cycles_behind() -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "jobs")
    configure(gateway, share_auto_offset_reset="earliest")
    share(gateway)
    gc.collect()
    gc.disable()
    share(gateway)
    assert gc.collect() == 0
