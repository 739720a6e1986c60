"""Retention by whole files of a vnode: what goes, what stays, and what a crash may take back."""

from __future__ import annotations

from random import Random

import pytest

from broker.catalogue.catalogue_records import DatabaseCreated
from broker.catalogue.databases import Database
from broker.loop.clock import Clock
from broker.upkeep.file_retention import FilePolicy, policy_of
from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.databases import ask, create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, offset_of, read, send
from tests.broker.shares import Member, acquired, configure
from tests.broker.topic_requests import altered
from wal.closed_files import ClosedFile

INTERVAL_MS = 10_000
MIB = 1 << 20
RECORD_BYTES = 300_000
PER_FILE = 3
"""Records of 300,000 bytes in a file of 1 MiB."""


@pytest.fixture(name="gateway")
def make_gateway() -> Gateway:
    return Gateway(
        kawal_segment_bytes=MIB,
        kawal_min_free_bytes=0,
        log_retention_check_interval_ms=INTERVAL_MS,
        log_segment_delete_delay_ms=1_000,
        log_retention_ms=20_000,
    )


def pass_time(gateway: Gateway, duration_ms: int) -> None:
    gateway.advance(duration_ms)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)


def fill(client: Client, name: str, count: int, *, timestamp_ms: int = START_MS) -> None:
    for _ in range(count):
        assert send(client, name, batch(bytes(RECORD_BYTES), timestamp_ms=timestamp_ms)).error_code == 0


def start_of(client: Client, name: str) -> int:
    return int(offset_of(client, name, -2).offset)


def files_of(gateway: Gateway, database: str) -> int:
    directory = gateway.broker.catalogue.databases[database].directory
    return len([path for path in gateway.disk.files() if f"/{directory}/" in path and path.endswith(".wal")])


def test_records_go_with_their_file_once_it_was_closed_for_long_enough(gateway: Gateway) -> None:
    client = gateway.client()
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_PERIOD="60", WAL_ROLL_PERIOD="0")
    create(client, "t", kawal_database="power")
    fill(client, "t", 2 * PER_FILE + 1)
    # Their timestamps are older than the server's retention of 20 s, which does not apply.
    pass_time(gateway, 60_000)
    assert start_of(client, "t") == 0
    pass_time(gateway, 2 * INTERVAL_MS)
    assert start_of(client, "t") == 2 * PER_FILE
    pass_time(gateway, 600_000)
    # The file that is being written stays, whatever its age.
    assert start_of(client, "t") == 2 * PER_FILE
    assert len(read(client, "t", 2 * PER_FILE)) == 1
    assert files_of(gateway, "power") == 1


def test_a_share_fetch_has_room_as_soon_as_a_file_with_records_under_way_went(gateway: Gateway) -> None:
    client = gateway.client()
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_PERIOD="20", WAL_ROLL_PERIOD="0")
    place = create(client, "t", kawal_database="power"), 0
    configure(
        gateway,
        share_auto_offset_reset="earliest",
        share_record_lock_duration_ms="60000",
        kawal_share_partition_max_in_flight_bytes="1",
    )
    member = Member(gateway, "m1", "t")
    fill(client, "t", PER_FILE + 1)
    assert acquired(member.fetch(place)) == [(0, 0, 1)]
    member.send_fetch(max_wait_ms=1_000_000)
    pass_time(gateway, 20_000)
    assert member.client.answers() == []
    pass_time(gateway, 2 * INTERVAL_MS)
    assert [acquired(answer) for answer in member.client.answers()] == [[(PER_FILE, PER_FILE, 1)]]


def test_a_write_closes_an_old_file_so_that_little_traffic_does_not_keep_records_for_ever(
    gateway: Gateway,
) -> None:
    client = gateway.client()
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_PERIOD="60")
    create(client, "t", kawal_database="power")
    send(client, "t", batch(b"a"))
    pass_time(gateway, 61_000)
    send(client, "t", batch(b"b"))
    pass_time(gateway, 80_000)
    assert start_of(client, "t") == 1


def test_the_oldest_files_go_until_the_records_of_a_vnode_fit(gateway: Gateway) -> None:
    client = gateway.client()
    size_kb = 2 * PER_FILE * RECORD_BYTES // 1024 + 10
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_SIZE=str(size_kb), KEEP="1000")
    create(client, "t", kawal_database="power")
    create(client, "u", kawal_database="power")
    for _ in range(PER_FILE):
        fill(client, "t", 2)
        fill(client, "u", 1)
    pass_time(gateway, INTERVAL_MS)
    # Nine records lie in three files; the first of them holds t0, t1, u0.
    assert (start_of(client, "t"), start_of(client, "u")) == (2, 1)
    pass_time(gateway, 10 * INTERVAL_MS)
    assert (start_of(client, "t"), start_of(client, "u")) == (2, 1)


def test_what_other_topics_keep_in_a_file_does_not_count_and_stays(gateway: Gateway) -> None:
    client = gateway.client()
    size_kb = 2 * PER_FILE * RECORD_BYTES // 1024 + 10
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_SIZE=str(size_kb), KEEP="1000")
    create(client, "kept", kawal_database="power", retention_ms="-1")
    create(client, "t", kawal_database="power")
    fill(client, "kept", 2 * PER_FILE)
    fill(client, "t", 2 * PER_FILE)
    for _ in range(3):
        pass_time(gateway, INTERVAL_MS)
        gateway.crash()
        client = gateway.client()
    assert (start_of(client, "kept"), start_of(client, "t")) == (0, 0)
    fill(client, "t", 1)
    pass_time(gateway, 2 * INTERVAL_MS)
    assert (start_of(client, "kept"), start_of(client, "t")) == (0, PER_FILE)
    # A topic that loses its own retention goes by its files as well.
    assert altered(client, "kept", "retention.ms", None)[0] == 0
    pass_time(gateway, 2 * INTERVAL_MS)
    assert (start_of(client, "kept"), start_of(client, "t")) == (2 * PER_FILE, PER_FILE)


def test_compacted_topics_are_left_to_compaction(gateway: Gateway) -> None:
    client = gateway.client()
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_PERIOD="60")
    create(client, "t", 1, kawal_database="power", cleanup_policy="compact")
    for _ in range(PER_FILE + 1):
        send(client, "t", batch(bytes(RECORD_BYTES), key=b"k"))
    pass_time(gateway, 300_000)
    assert start_of(client, "t") == 0


def test_an_alteration_takes_effect_at_the_next_check(gateway: Gateway) -> None:
    client = gateway.client()
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_PERIOD="-1")
    create(client, "t", kawal_database="power")
    fill(client, "t", PER_FILE + 1)
    pass_time(gateway, 300_000)
    assert start_of(client, "t") == 0
    assert ask(client, DatabaseAction.ALTER, "power", WAL_RETENTION_PERIOD="60").error_code == 0
    pass_time(gateway, 2 * INTERVAL_MS)
    assert start_of(client, "t") == PER_FILE


def test_what_went_stays_away_and_what_was_not_due_stays_after_crashes_at_any_moment() -> None:
    for seed in range(20):
        chance = Random(seed)
        gateway = Gateway(
            kawal_segment_bytes=MIB,
            kawal_min_free_bytes=0,
            log_retention_check_interval_ms=INTERVAL_MS,
            log_segment_delete_delay_ms=1_000,
        )
        client = gateway.client()
        create_database(client, "power", VGROUPS="1", WAL_RETENTION_PERIOD="60", WAL_ROLL_PERIOD="0")
        create(client, "t", kawal_database="power")
        written: list[int] = []
        seen_start = 0
        for _ in range(12):
            count = chance.randrange(1, 4)
            fill(client, "t", count)
            written += [gateway.now_ms] * count
            pass_time(gateway, chance.randrange(5_000, 40_000))
            start = start_of(client, "t")
            assert start >= seen_start, seed
            # No record goes before 60 s have passed, as its file was closed after it was written.
            assert all(gateway.now_ms - at_ms >= 60_000 for at_ms in written[:start]), seed
            seen_start = start
            if chance.random() < 0.5:
                if chance.random() < 0.5:
                    gateway.crash()
                else:
                    gateway.restart()
                pass_time(gateway, 0)
                client = gateway.client()
                assert start_of(client, "t") >= seen_start, seed
            assert len(read(client, "t", seen_start)) >= 1, seed
        assert seen_start > 0, seed


def test_what_is_written_while_the_clock_is_distrusted_after_a_long_stop_is_kept_for_its_time(
    gateway: Gateway,
) -> None:
    client = gateway.client()
    create_database(client, "power", VGROUPS="1", WAL_RETENTION_PERIOD="14400", WAL_ROLL_PERIOD="0")
    create(client, "t", kawal_database="power")
    fill(client, "t", 1)
    gateway.restart()
    gateway.now_ms += 3 * 86_400_000
    gateway.crash()
    pass_time(gateway, 0)
    client = gateway.client()
    # The first record was written three days ago; the file that it shares with the next ones is closed now.
    fill(client, "t", 2 * PER_FILE)
    for _ in range(3):
        pass_time(gateway, 3_600_000)
        assert start_of(gateway.client(), "t") == 0
    pass_time(gateway, 2 * 3_600_000)
    assert start_of(gateway.client(), "t") == 2 * PER_FILE


@pytest.mark.parametrize(
    ("configs", "policy"),
    [
        ({}, None),
        ({"retention.ms": "5"}, None),
        ({"wal.retention.ms": "-1", "wal.retention.bytes": "-1"}, None),
        ({"wal.retention.ms": "7"}, FilePolicy(7, -1, None)),
        ({"wal.retention.bytes": "9", "retention.ms": "5"}, FilePolicy(-1, 9, 5)),
    ],
)
def test_a_database_has_a_policy_for_files_if_it_has_a_limit(
    configs: dict[str, str], policy: FilePolicy | None
) -> None:
    database = Database(DatabaseCreated(name="d", vnode_count=1, durability="disk", configs=configs))
    assert policy_of(database) == policy


@pytest.mark.parametrize(
    ("keep_ms", "newest_ms", "goes"),
    [
        (None, 0, True),
        (None, 10**6, True),
        (400, 600, False),
        (400, 599, True),
        (-1, 0, False),
        (0, -1, True),
    ],
)
def test_of_two_ages_the_longer_one_counts(keep_ms: int | None, newest_ms: int, goes: bool) -> None:
    policy, clock = FilePolicy(100, -1, keep_ms), Clock(now_ms=10, wall_ms=1_000)
    assert policy.is_too_old(ClosedFile(0, 5, 899, newest_ms), clock) is goes
    assert not policy.is_too_old(ClosedFile(0, 5, 900, newest_ms), clock)
    assert not policy.is_too_old(ClosedFile(0, 5, None, newest_ms), clock)
