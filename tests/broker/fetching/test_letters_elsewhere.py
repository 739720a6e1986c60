"""Dead letters in partitions that other nodes lead."""

from __future__ import annotations

from broker.fetching.dead_letters import BACKOFF_MAX_MS
from protocol.error_codes import ErrorCode
from tests.broker.cluster_shares import ClusterMember, configure, home_of, share_cluster, write
from tests.broker.cluster_txn import index_on, leader, make, revive
from tests.broker.dead_letters import TAKES, records_of, told
from tests.broker.shares import REJECT, outcome

COUNT = 16


class Letters:
    """A cluster, and a member of a group whose letters go to a topic, away from their records."""

    def __init__(self, *, has_topic: bool = True) -> None:
        self.cluster = share_cluster(
            2, COUNT, errors_deadletterqueue_auto_create_topics_enable=True, num_partitions=COUNT
        )
        self.name = self._away() if has_topic else "dlq.new"
        configure(self.cluster, errors_deadletterqueue_topic_name=self.name)
        self.member = ClusterMember(self.cluster, "m", "t")

    def _away(self) -> str:
        """Make topics until one lies so that other nodes lead its partitions than those of `t`."""
        configs = {name.replace(".", "_"): value for name, value in TAKES.items()}
        for number in range(100):
            make(self.cluster, f"dlq.{number}", COUNT - 1, **configs)
            if leader(self.cluster, f"dlq.{number}", 0) != leader(self.cluster, "t", 0):
                return f"dlq.{number}"
        raise AssertionError("all lie alike")

    def reject(self, index: int) -> None:
        """Have the first record of a partition rejected."""
        write(self.cluster, index, b"a")
        assert self.member.take(index) == [(0, 0, 1)]
        assert outcome(self.member.say(index, 0, 0, REJECT)) == [ErrorCode.NONE]

    def shown(self, index: int) -> list[tuple[str, str, str]]:
        """Return topic, partition and offset that the letters of a partition tell."""
        node = self.cluster[leader(self.cluster, self.name, index)]
        found = map(told, records_of(node, self.name, index))
        return [(each["topic"], each["partition"], each["offset"]) for each in found]

    def start(self, index: int) -> int | None:
        """Return the first offset that the group has not finished."""
        shares = self.cluster[leader(self.cluster, "t", index)].broker.coordinators.shares
        (key,) = [key for key in shares.machine.keys_of("g") if key.partition == index]
        found: int | None = shares.position(key)
        return found


def test_a_letter_is_written_by_the_leader_of_its_partition_before_the_record_is_finished() -> None:
    letters = Letters()
    for index in (index_on(letters.cluster, 0), index_on(letters.cluster, 1)):
        letters.reject(index)
        letters.cluster.advance(100)
        assert letters.shown(index) == [("t", f"{index}", "0")]
        assert letters.start(index) == 1


def test_a_letter_waits_for_a_node_that_is_down() -> None:
    letters = Letters()
    cluster = letters.cluster
    index = next(
        index for index in range(COUNT - 1) if leader(cluster, "t", index) == home_of(cluster, index) == 0
    )
    cluster.kill(1)
    letters.reject(index)
    cluster.advance(BACKOFF_MAX_MS)
    assert letters.start(index) == 0
    revive(cluster, 1)
    for _ in range(3):
        cluster.advance(BACKOFF_MAX_MS)
    assert letters.shown(index)[-1] == ("t", f"{index}", "0")
    assert letters.start(index) == 1


def test_any_node_has_the_controller_make_the_topic() -> None:
    for number in range(2):
        letters = Letters(has_topic=False)
        index = index_on(letters.cluster, number)
        letters.reject(index)
        for _ in range(20):
            letters.cluster.advance(100)
        assert letters.shown(index) == [("t", f"{index}", "0")]


def test_a_topic_that_the_controller_refuses_holds_the_letter_back() -> None:
    letters = Letters(has_topic=False)
    make(letters.cluster, "dlq_new", 1)  # no other name may differ by a dot alone
    index = index_on(letters.cluster, 1)
    letters.reject(index)
    letters.cluster.advance(1_000)
    assert letters.start(index) == 0
    assert letters.cluster[1].broker.stats.dead_letters_held == 1
