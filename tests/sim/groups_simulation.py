"""One run of the group coordinator's simulation: a seed chooses members, faults and their times."""

from __future__ import annotations

from collections.abc import Callable

from groups.config import GroupConfig
from tests.sim.groups_classic_member import ClassicMember
from tests.sim.groups_consumer_member import ConsumerMember
from tests.sim.groups_history import History
from tests.sim.groups_member import HEARTBEAT_MS, REBALANCE_MS, SESSION_MS, Member
from tests.sim.groups_world import World

CHAOS_MS = 25_000
SETTLE_MS = REBALANCE_MS + 2_000
"""Once faults stop, all members must have their partitions within the rebalance timeout and 2 s."""
MEMBERS_MAX = 30


def run(seed: int) -> History:
    """Run one world to its end.

    Raises: AssertionError.
    """
    world = World(
        seed,
        GroupConfig(
            offsets_topic_num_partitions=2,
            group_min_session_timeout_ms=1_000,
            group_consumer_session_timeout_ms=SESSION_MS,
            group_consumer_heartbeat_interval_ms=HEARTBEAT_MS,
            group_initial_rebalance_delay_ms=(seed % 3) * 500,
            kawal_rebalance_interval_ms=(seed % 2) * 2_000,
        ),
    )
    history = History(world)
    chaos = Chaos(world, history)
    world.run(CHAOS_MS)
    chaos.stop()
    # Those killed at the last moment are only missed when their sessions end.
    world.run(CHAOS_MS + SETTLE_MS)
    history.check_settled()
    history.check_offsets()
    world.run(CHAOS_MS + SETTLE_MS + 100)
    history.check_replay()
    return history


class Chaos:
    """The source of members and of faults."""

    def __init__(self, world: World, history: History) -> None:
        self.world = world
        self.history = history
        self.going = True
        chance = world.random
        self.topics = ["t"] if chance.random() < 0.6 else ["t", "u"]
        for topic in self.topics:
            world.topics.create(topic, chance.randint(1, 8))
        self.kinds = chance.choice(
            [["eager"], ["cooperative"], ["consumer"], ["consumer"], ["classic", "consumer"]]
        )
        self.static = chance.random() < 0.3
        self.named = 0
        world.network.loss = chance.choice([0.0, 0.02, 0.1])
        world.network.delay_ms_max = chance.choice([20, 500, 3_000])
        world.sync_ms_max = chance.choice([0, 5, 200, 800])
        # Small groups are quicker to simulate and go wrong in as many ways; some are large all the same.
        crowd = chance.randint(10, MEMBERS_MAX) if chance.random() < 0.03 else 0
        for _ in range(max(crowd, 3 + int(chance.expovariate(0.3)) % (MEMBERS_MAX - 3))):
            self.add_member()
        self.rate_ms = chance.choice([1_000, 3_000, 8_000])
        self._next()

    def add_member(self, instance_id: str | None = None) -> Member:
        """Start another client, of one of the kinds that this world has."""
        world = self.world
        kind = world.random.choice(self.kinds)
        self.named += 1
        name = f"{kind[:2]}{self.named}"
        if instance_id is None and self.static and world.random.random() < 0.5:
            instance_id = f"instance-{self.named}"
        arguments = (world, self.history, name, "g", self.topics)
        member: Member
        if kind == "consumer":
            member = ConsumerMember(*arguments, instance_id=instance_id)
        else:
            cooperative = kind == "cooperative"
            member = ClassicMember(*arguments, cooperative=cooperative, instance_id=instance_id)
        self.history.members.append(member)
        return member

    def stop(self) -> None:
        """Stop the faults: paused members wake up, and a server that is down comes back."""
        self.going = False
        world = self.world
        world.trap = None
        world.heal()
        for member in self.history.members:
            member.wake()
        self.history.check_offsets()

    def _next(self) -> None:
        self.world.later(int(self.world.random.expovariate(1 / self.rate_ms)), self._happen)

    def _happen(self) -> None:
        if not self.going:
            return
        chance = self.world.random
        what = chance.choices(
            [
                self._pause,
                self._kill,
                self._leave,
                self._come,
                self._crash,
                self._lose,
                self._jump,
                self._grow,
            ],
            [4, 2, 2, 3, 2, 2, 1, 1],
        )[0]
        what()
        self.history.check_offsets()
        self._next()

    @property
    def _early(self) -> bool:
        """Whether the dead will have been missed by the end: their sessions begin again with a restart."""
        return self.world.now_ms < CHAOS_MS - SESSION_MS - 2_000

    def _someone(self) -> Member | None:
        living = [member for member in self.history.members if member.alive]
        return self.world.random.choice(living) if len(living) > 1 else None

    def _pause(self) -> None:
        member = self._someone()
        if member is not None:
            self.history.counts["pauses"] += 1
            member.pause(self.world.random.choice([500, 3_000, SESSION_MS + 2_000, 2 * SESSION_MS]))

    def _kill(self) -> None:
        member = self._someone()
        if member is not None and self._early:
            member.kill()
            self._maybe_return(member)

    def _leave(self) -> None:
        member = self._someone()
        if member is not None and self._early:
            member.leave()
            self._maybe_return(member)

    def _maybe_return(self, member: Member) -> None:
        """Let a static member start again before long."""
        if member.instance_id is not None:
            self.add_member(member.instance_id)

    def _come(self) -> None:
        if sum(member.alive for member in self.history.members) < MEMBERS_MAX:
            self.add_member()

    def _crash(self) -> None:
        if self._early:
            self._now_or_while_writing(lambda: self.world.crash(self.world.random.choice([100, 2_000])))

    def _lose(self) -> None:
        self.history.counts["lost appends"] += 1
        self._now_or_while_writing(self.world.lose_appends)

    def _now_or_while_writing(self, fault: Callable[[], None]) -> None:
        if self.world.random.random() < 0.3:
            fault()
        else:
            self.world.trap = fault

    def _jump(self) -> None:
        self.history.counts["clock jumps"] += 1
        self.world.wall_offset_ms += self.world.random.randint(-(10**9), 10**9)

    def _grow(self) -> None:
        topic = self.world.topics.by_name[self.world.random.choice(self.topics)]
        coordinator = self.world.coordinator
        if topic.partition_count < 12 and coordinator is not None and self.kinds == ["consumer"]:
            topic.partition_count += 1
            self.history.counts["partitions added"] += 1
            coordinator.topics_changed(self.world.now_ms, grown=[topic.name])
            self.world.after_step()
