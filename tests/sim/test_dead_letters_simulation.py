"""A share group with dead letters, by a seed: power cuts at any moment, disks that tear writes, a full topic.

Promises: each record that was produced is accepted or has a dead letter in the end; what was answered as
rejected is never delivered again and has a letter; what was answered as accepted is never delivered again.
If letters and the state of the group lie on one vnode, no record has two letters.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.dead_letters import TAKES, records_of, told
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.broker.shares import ACCEPT, REJECT, RELEASE, Member, acquired, configure, outcome
from tests.wal.crash import RandomFates

STEPS = 60


class Walk:
    """Random steps of workers, an operator and the power supply."""

    def __init__(self, seed: int, vnodes: int) -> None:
        self.random = Random(seed)
        self.gateway = Gateway(kawal_vnodes=vnodes)
        client = self.gateway.client()
        self.place = (create(client, "jobs"), 0)
        create(client, "dlq.jobs", 1, **TAKES)
        configure(
            self.gateway,
            share_auto_offset_reset="earliest",
            share_delivery_count_limit="3",
            errors_deadletterqueue_topic_name="dlq.jobs",
            errors_deadletterqueue_copy_record_enable=self.random.choice(["true", "false"]),
        )
        self.produced = 0
        self.said_accepted: set[int] = set()
        # Answered with success: never delivered again.
        self.ended: dict[int, int] = {}
        self.members = 0
        self.join()

    def join(self) -> None:
        self.members += 1
        self.member = Member(self.gateway, f"m{self.members}", "jobs")
        self.held: list[int] = []

    # --- steps ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        steps = [self.produce, self.fetch, self.say, self.say_and_crash, self.wait, self.switch, self.crash]
        self.random.choices(steps, [4, 8, 8, 3, 2, 1, 1])[0]()

    def produce(self) -> None:
        count = self.random.randrange(1, 6)
        assert send(self.gateway.client(), "jobs", batch(*[b"x"] * count)).error_code == 0
        self.produced += count

    def fetch(self) -> None:
        answer = self.member.fetch(self.place, max_records=self.random.randrange(1, 9))
        if answer.error_code:
            self.join()
            return
        for first, last, _ in acquired(answer):
            offsets = range(first, last + 1)
            assert not self.ended.keys() & set(offsets), "what has ended is not delivered again"
            self.held += offsets

    def said(self) -> list[tuple[int, int, list[int]]]:
        """Choose what becomes of some records that the member has."""
        self.random.shuffle(self.held)
        some = sorted(self.held[: self.random.randrange(1, 5)])
        self.held = [offset for offset in self.held if offset not in some]
        said = [(offset, offset, [self.random.choice([ACCEPT, RELEASE, REJECT])]) for offset in some]
        self.said_accepted |= {offset for offset, _, (kind,) in said if kind == ACCEPT}
        return said

    def say(self) -> None:
        if not self.held or not self.member.session:
            return
        said = self.said()
        answer = self.member.acknowledge(self.place, *said)
        if answer.error_code == 0 and outcome(answer) == [0]:
            self.ended |= {offset: kind for offset, _, (kind,) in said if kind != RELEASE}

    def say_and_crash(self) -> None:
        if not self.held or not self.member.session:
            return
        self.member.client.send(self.member.fetching(said={self.place: self.said()}), 2)
        for _ in range(self.random.randrange(8)):
            self.gateway.run_jobs()
            self.gateway.broker.scheduler.run()
        self.crash()

    def wait(self) -> None:
        self.gateway.advance(self.random.choice([500, 5_000, 31_000]))
        self.held = []
        self.member.client.close()
        self.join()

    def switch(self) -> None:
        self.set_read_only(is_on=self.random.random() < 0.5)

    def set_read_only(self, *, is_on: bool) -> None:
        config = AlterableConfig(name="kawal.read.only", config_operation=0, value=str(is_on).lower())
        resource = AlterConfigsResource(resource_type=2, resource_name="dlq.jobs", configs=[config])
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        assert self.gateway.client().call(request, 1).responses[0].error_code == 0

    def crash(self) -> None:
        self.gateway.disk = self.gateway.disk.crash(RandomFates(self.random.randrange(1 << 30)))
        self.gateway.now_ms += 1_000
        self.gateway.open_again()
        self.gateway.tick()
        self.gateway.settle()
        self.join()

    # --- the end --------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Let everything be done: the topic takes letters, and what is delivered is accepted."""
        self.set_read_only(is_on=False)
        self.wait()
        self.gateway.advance(120_000)
        self.join()
        for _ in range(self.produced + 10):
            got = acquired(self.member.fetch(self.place))
            offsets = [offset for first, last, _ in got for offset in range(first, last + 1)]
            if not offsets:
                break
            assert not self.ended.keys() & set(offsets)
            self.said_accepted |= set(offsets)
            self.member.acknowledge(self.place, *[(first, last, [ACCEPT]) for first, last, _ in got])
        self.gateway.advance(120_000)

    def check(self, vnodes: int) -> None:
        letters = Counter(int(told(letter)["offset"]) for letter in records_of(self.gateway, "dlq.jobs"))
        assert set(range(self.produced)) <= self.said_accepted | letters.keys()
        assert {offset for offset, kind in self.ended.items() if kind == REJECT} <= letters.keys()
        if vnodes == 1:
            assert set(letters.values()) <= {1}
        assert self.gateway.broker.stats.dead_letters_held == 0


@pytest.mark.parametrize("vnodes", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_no_record_is_lost_between_a_group_and_its_dead_letters(seed: int, vnodes: int) -> None:
    walk = Walk(seed, vnodes)
    for number in range(STEPS):
        try:
            walk.step()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, step {number}") from error
    walk.drain()
    walk.check(vnodes)
