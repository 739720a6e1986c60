"""No share fetch waits for records that it could have: random walks over all that makes records acquirable.

After each step every waiting fetch is made to look again.  One that finds something then should have been
woken by the step.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from groups.errors import GroupError
from groups.share.table import no_answer
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import producing, send
from tests.broker.shares import ACCEPT, REJECT, RELEASE, Member, acquired, configure
from tests.broker.txn import Producer

WAIT_MS: Final = 100_000_000

SETTINGS: Final[dict[str, dict[str, list[str]]]] = {
    "plain": {},
    "windows": {"kawal_share_member_max_records": ["3", "5", "0"]},
    "bytes": {"kawal_share_partition_max_in_flight_bytes": ["300", "2000", "0"]},
    "others first": {"kawal_share_avoid_last_member_ms": ["2000", "7000"]},
    "tries": {"share_delivery_count_limit": ["2", "3"], "kawal_share_deadletter_policy": ["drop", "keep"]},
    "filters": {"kawal_share_filter": ["kind=a", "!kind", "kind=b", ""]},
    "times": {"kawal_share_timing_enable": ["true", "true", "false"]},
    "classes": {"kawal_share_priority_classes": ["3", "2"], "kawal_share_timing_enable": ["true", "false"]},
    "classes of some": {
        "kawal_share_priority_classes": ["3"],
        "kawal_share_filter": ["kind=b", "!kind", ""],
        "share_isolation_level": ["read_committed", "read_uncommitted"],
        "share_partition_max_record_locks": ["100"],
    },
    "idle": {"kawal_share_steal_idle_ms": ["3000", "9000"]},
    "bytes of some": {
        "kawal_share_partition_max_in_flight_bytes": ["150", "300"],
        "kawal_share_filter": ["kind=a", "!kind"],
    },
    "windows of some": {"kawal_share_member_max_records": ["3", "5"], "kawal_share_filter": ["kind=a", ""]},
    "committed": {"share_isolation_level": ["read_committed", "read_committed", "read_uncommitted"]},
    "locks": {"share_partition_max_record_locks": ["100", "120"], "kawal_share_timing_enable": ["true"]},
}
"""Groups by what is special in them, and the values that their settings take in turn."""


def delete_before(jobs: Jobs, index: int, offset: int) -> None:
    """Delete the records of a partition before an offset."""
    parts = [DeleteRecordsPartition(partition_index=index, offset=offset)]
    topics = [DeleteRecordsTopic(name="jobs", partitions=parts)]
    jobs.gateway.client().call(DeleteRecordsRequest(topics=topics, timeout_ms=1_000), 2)


class Worker:
    """A member that fetches, and what it has."""

    def __init__(self, jobs: Jobs, name: str) -> None:
        self.member = jobs.member(name)
        self.beats = Member(jobs.gateway, name)
        self.beats.epoch = self.member.epoch
        self.waits = self.is_new = False
        self.begin()

    def begin(self) -> None:
        self.is_new, self.waits, self.held = True, False, list[tuple[int, int, int]]()

    def collect(self) -> list[tuple[int, int, int]]:
        """Take the answer, if there is one; return what it has got."""
        got: list[tuple[int, int, int]] = []
        for answer in self.member.client.answers():
            self.waits = False
            if answer.error_code:
                self.begin()
                self.member.session = 0
                continue
            got += [
                (data.partition_index, part.first_offset, part.last_offset)
                for topic in answer.responses
                for data in topic.partitions
                for part in data.acquired_records
            ]
        self.held += got
        return got


class Walk:
    """A group with three members, and the steps that it takes."""

    def __init__(self, seed: int, special: str, partitions: int) -> None:
        self.random = Random(seed)
        self.choices = SETTINGS[special]
        self.jobs = Jobs(partitions, share_record_lock_duration_ms="15000")
        self.partitions = partitions
        self.configure()
        self.producer = Producer(self.jobs.gateway, timeout_ms=60_000)
        self.is_open = False
        self.workers = [Worker(self.jobs, f"m{number}") for number in range(3)]
        self.steps: list[tuple[int, Callable[[], None]]] = [
            (4, self.produce),
            (24, self.fetch),
            (8, self.acknowledge),
            (4, self.let_time_pass),
            (1, self.configure),
            (1, self.leave),
            (1, self.give_back),
            (1, self.delete_records),
            (2, self.transact),
        ]

    def step(self) -> None:
        weights, steps = zip(*self.steps, strict=True)
        (step,) = self.random.choices(steps, weights)
        step()
        self.settle()
        for worker in self.workers:
            worker.collect()
        waiting = [worker for worker in self.workers if worker.waits]
        self.jobs.gateway.broker.waiters.wake_all(self.jobs.gateway.now_ms)
        self.settle()
        for worker in waiting:
            got = worker.collect()
            assert not got, f"after {step.__name__} {worker.member.name} was not woken for {got}"

    def settle(self) -> None:
        self.jobs.gateway.settle()
        self.jobs.gateway.tick()
        self.jobs.gateway.settle()

    # --- steps ----------------------------------------------------------------------------------------------

    def produce(self) -> None:
        now_ms = self.jobs.gateway.now_ms
        tags = [
            (),
            (("kind", b"a"),),
            (("kind", b"b"), ("kawal-priority", b"1")),
            (("kawal-delay-ms", b"%d" % self.random.choice([3_000, 20_000])),),
            (("kawal-expires-at", b"%d" % (now_ms + self.random.choice([1, 3_000, 20_000]))),),
            (
                ("kawal-delay-ms", b"3000"),
                ("kawal-expires-at", b"%d" % (now_ms + self.random.choice([3_000, 9_000]))),
            ),
        ]
        tag = self.random.choice(tags)
        count = self.random.choice([1, 2, 5, 60])
        records = [
            Record(
                number,
                now_ms,
                None,
                bytes(self.random.choice([1, 100])),
                tag if count > 5 else self.random.choice(tags),
            )
            for number in range(count)
        ]
        send(
            self.jobs.gateway.client(), "jobs", encode_batch(records), self.random.randrange(self.partitions)
        )

    def fetch(self) -> None:
        worker = self.random.choice(self.workers)
        if worker.waits:
            return
        places = [(self.jobs.topic_id, index) for index in range(self.partitions)] if worker.is_new else []
        worker.member.send_fetch(
            *places,
            max_wait_ms=WAIT_MS,
            max_records=self.random.choice([1, 2, 4, 500]),
            min_bytes=self.random.choice([1, 1, 1, 400]),
            share_acquire_mode=self.random.randrange(2),
        )
        worker.is_new, worker.waits = False, True
        if self.random.random() < 0.3:
            # Records come before it waits, in a pause of its reading perhaps.
            for _ in range(self.random.randrange(4)):
                self.jobs.gateway.broker.scheduler.run()
            self.produce()

    def acknowledge(self) -> None:
        worker = self.random.choice([worker for worker in self.workers if not worker.waits] or [None])
        if worker is None or not worker.held or worker.is_new:
            return
        part = worker.held.pop(self.random.randrange(len(worker.held)))
        index, first, last = part
        cut = self.random.randrange(first, last + 1)
        if cut < last:
            worker.held.append((index, cut + 1, last))
        kind = self.random.choice([ACCEPT, ACCEPT, RELEASE, REJECT])
        answer = worker.member.acknowledge((self.jobs.topic_id, index), (first, cut, [kind]))
        if answer.error_code:
            worker.begin()
            worker.member.session = 0

    def let_time_pass(self) -> None:
        self.jobs.gateway.advance(self.random.choice([1, 1_000, 3_000, 8_000, 15_000]))
        for worker in self.workers:
            worker.beats.beat()

    def configure(self) -> None:
        values = {name: self.random.choice(values) for name, values in self.choices.items()}
        if values:
            configure(self.jobs.gateway, **values)

    def leave(self) -> None:
        worker = self.random.choice(self.workers)
        worker.member.client.close()
        worker.member.client = self.jobs.gateway.client()
        worker.member.session = 0
        worker.begin()

    def give_back(self) -> None:
        """Take back what a member has, or archive all of a partition, as operators do."""
        now_ms = self.jobs.gateway.now_ms
        with self.jobs.gateway.broker.coordinators.shares.step(now_ms) as machine:
            keys = machine.keys_of("g")
            if not keys:
                return
            key = self.random.choice(keys)
            try:
                if self.random.random() < 0.8:
                    machine.release(key, self.random.choice(self.workers).member.name, no_answer, now_ms)
                else:
                    partition = self.jobs.gateway.partition("jobs", key.partition)
                    machine.purge(key, partition.high_watermark, no_answer, now_ms)
            except GroupError:
                return

    def delete_records(self) -> None:
        index = self.random.randrange(self.partitions)
        partition = self.jobs.gateway.partition("jobs", index)
        offset = self.random.randint(partition.log_start, partition.high_watermark)
        delete_before(self.jobs, index, offset)

    def transact(self) -> None:
        if not self.is_open:
            self.producer = Producer(self.jobs.gateway, timeout_ms=60_000)
            self.producer.write("jobs", self.random.randrange(self.partitions), *[b"x"] * 3)
        elif self.random.random() < 0.5:
            self.producer.commit()
        else:
            self.producer.abort()
        self.is_open = not self.is_open


@pytest.mark.parametrize("special", SETTINGS)
def test_no_fetch_waits_for_records_that_it_could_have(special: str) -> None:
    for seed in range(6):
        walk = Walk(seed, special, partitions=1 + seed % 3)
        for number in range(80):
            try:
                walk.step()
            except AssertionError as error:
                raise AssertionError(f"{special}, seed {seed}, step {number}") from error


def test_a_delayed_record_wakes_a_fetch_that_has_found_nothing_else() -> None:
    jobs = Jobs(kawal_share_timing_enable="true")
    member = jobs.member("m1")
    delayed = Record(0, jobs.gateway.now_ms, None, b"later", (("kawal-delay-ms", b"5000"),))
    send(jobs.gateway.client(), "jobs", encode_batch([delayed]), 0)
    member.send_fetch(jobs.place, max_wait_ms=20_000)
    jobs.gateway.advance(4_999)
    assert member.client.answers() == []
    jobs.gateway.advance(1)
    (answer,) = member.client.answers()
    assert acquired(answer) == [(0, 0, 1)]


def test_a_fetch_for_many_bytes_waits_for_them_in_a_group_with_a_filter() -> None:
    jobs = Jobs(kawal_share_filter="!test")
    member = jobs.member("m1")
    test = Record(0, jobs.gateway.now_ms, None, b"x" * 300, (("test", b""),))
    send(jobs.gateway.client(), "jobs", encode_batch([test]), 0)
    member.send_fetch(jobs.place, max_wait_ms=20_000, min_bytes=300)
    jobs.produce(b"small")
    jobs.gateway.settle()
    assert member.client.answers() == []
    jobs.produce(b"x" * 300)
    (answer,) = member.client.answers()
    assert acquired(answer) == [(1, 2, 1)]


def test_new_settings_of_a_group_are_those_of_the_fetches_that_wait() -> None:
    jobs = Jobs(kawal_share_member_max_records="1")
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    assert acquired(member.fetch(jobs.place)) == [(0, 0, 1)]
    member.send_fetch(max_wait_ms=20_000)
    jobs.gateway.settle()
    assert member.client.answers() == []
    configure(jobs.gateway, kawal_share_member_max_records="2")
    jobs.gateway.settle()
    (answer,) = member.client.answers()
    assert acquired(answer) == [(1, 1, 1)]


def test_a_fetch_that_archives_all_of_a_full_window_goes_on_after_it() -> None:
    jobs = Jobs(share_partition_max_record_locks="100")
    member, producer = jobs.member("m1"), Producer(jobs.gateway)
    aborted = encode_batch(
        [Record(number, jobs.gateway.now_ms, None, b"") for number in range(100)],
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        transactional=True,
    )
    request = producing(("jobs", 0, aborted))
    request.transactional_id = producer.name
    producer.client.call(request, producer.produce_version)
    producer.abort()
    assert acquired(member.fetch(jobs.place)) == [(0, 99, 1)]
    member.acknowledge(jobs.place, (0, 99, [RELEASE]))
    configure(jobs.gateway, share_isolation_level="read_committed")
    jobs.produce(b"next")
    member.send_fetch(max_wait_ms=20_000)
    jobs.gateway.settle()
    (answer,) = member.client.answers()
    assert acquired(answer) == [(101, 101, 1)]


def test_a_window_opens_for_the_records_of_all_partitions() -> None:
    jobs = Jobs(2, kawal_share_member_max_records="1")
    member, other = jobs.member("m1"), (jobs.topic_id, 1)
    jobs.produce(b"a")
    assert acquired(member.fetch(jobs.place, other)) == [(0, 0, 1)]
    for index in (1, 0):
        jobs.produce(b"b", index=index)
        member.send_fetch(max_wait_ms=20_000)
        jobs.gateway.settle()
        assert member.client.answers() == []
        delete_before(jobs, 1 - index, 1)
        jobs.gateway.settle()
        (answer,) = member.client.answers()
        assert len(acquired(answer)) == 1, "what it had was deleted, so it has room for the other"
        assert [topic.partitions[0].partition_index for topic in answer.responses] == [index]


def test_a_record_kept_from_the_fetch_that_waits_longest_wakes_the_next_one() -> None:
    jobs = Jobs(kawal_share_avoid_last_member_ms="60000", share_record_lock_duration_ms="15000")
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(b"a")
    first.fetch(jobs.place)
    for member in (first, second):
        member.send_fetch(jobs.place, max_wait_ms=100_000)
    jobs.gateway.advance(15_000)
    assert first.client.answers() == []
    assert [acquired(answer) for answer in second.client.answers()] == [[(0, 0, 2)]]
