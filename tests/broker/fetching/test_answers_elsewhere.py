"""Dead letters with what workers have said in partitions that other nodes lead."""

from __future__ import annotations

import pytest

from broker.fetching.answers_elsewhere import WAIT_MS
from broker.fetching.negative_answers import ANSWERS_MAX
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Headers, Record
from protocol.record_writer import encode_batch
from tests.broker.cluster import UNANSWERED, UNSENT, Cluster
from tests.broker.cluster_shares import ClusterMember, configure, home_of, share_cluster, write
from tests.broker.cluster_txn import index_on, leader, make, revive
from tests.broker.dead_letters import TAKES, records_of
from tests.broker.kit import send
from tests.broker.shares import REJECT, outcome

COUNT = 16


class Answered:
    """A cluster, a member of a group with dead letters, and a topic of answers on all nodes."""

    def __init__(self, *, own_directories: bool = False) -> None:
        self.cluster = share_cluster(2, COUNT, own_directories=own_directories)
        make(self.cluster, "dlq.t", COUNT, **{name.replace(".", "_"): value for name, value in TAKES.items()})
        make(self.cluster, "answers", 4)
        configure(
            self.cluster, errors_deadletterqueue_topic_name="dlq.t", kawal_share_answers_topic="answers"
        )
        self.member = ClusterMember(self.cluster, "m", "t")

    def place_on(self, number: int) -> int:
        """Return a partition of the answers that a node leads."""
        return next(index for index in range(4) if leader(self.cluster, "answers", index) == number)

    def say(self, about: int, at: int, code: str, *, filler: int = 0, codec: int = Codec.NONE) -> None:
        """Tell, in a partition of the answers, why the first record of a partition was not processed."""
        headers: Headers = (
            ("kawal-topic", b"t"),
            ("kawal-partition", b"%d" % about),
            ("kawal-offset", b"0"),
            ("kawal-code", code.encode()),
        )
        now_ms = self.cluster[0].now_ms
        records = [Record(0, now_ms, None, b"", headers)]
        records += [Record(number, now_ms, None, b"x" * 100) for number in range(1, filler + 1)]
        node = self.cluster[leader(self.cluster, "answers", at)]
        send(node.client(), "answers", encode_batch(records, codec=codec), at)

    def reject(self, index: int) -> None:
        """Have the first record of a partition rejected."""
        write(self.cluster, index, b"a")
        assert self.member.take(index) == [(0, 0, 1)]
        assert outcome(self.member.say(index, 0, 0, REJECT)) == [ErrorCode.NONE]

    def codes(self, index: int) -> list[bytes | None]:
        """Return the codes that the letters of a partition have; None for a letter without."""
        node = self.cluster[leader(self.cluster, "dlq.t", index)]
        return [dict(letter.headers).get("kawal-code") for letter in records_of(node, "dlq.t", index)]


def pass_time(cluster: Cluster, duration_ms: int) -> None:
    """Let time pass in steps, and what is said arrive between them."""
    for _ in range(duration_ms // 100):
        cluster.advance(100)


@pytest.mark.parametrize("own_directories", [False, True], ids=["workers", "machines"])
def test_a_letter_has_what_was_said_wherever_it_was_said(own_directories: bool) -> None:
    answered = Answered(own_directories=own_directories)
    for number in range(2):
        for other in range(2):
            index = [each for each in range(COUNT) if leader(answered.cluster, "t", each) == number][other]
            answered.say(index, answered.place_on(other), f"{number}-{other}")
            answered.reject(index)
            answered.cluster.advance(1_000)
            assert answered.codes(index) == [f"{number}-{other}".encode()]


def test_the_newest_answer_counts_be_it_here_or_elsewhere() -> None:
    for first in range(2):
        answered = Answered()
        index = index_on(answered.cluster, 0)
        answered.say(index, answered.place_on(first), "old")
        answered.cluster.advance(10)
        answered.say(index, answered.place_on(1 - first), "new")
        answered.reject(index)
        answered.cluster.advance(1_000)
        assert answered.codes(index) == [b"new"]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_the_newest_records_are_read_in_pieces_and_older_ones_are_not(codec: int) -> None:
    answered = Answered()
    index, place = index_on(answered.cluster, 0), answered.place_on(1)
    answered.say(index, place, "old", filler=1_000, codec=codec)
    answered.say(index, place, "newer", filler=900, codec=codec)
    answered.reject(index)
    answered.cluster.advance(1_000)
    assert answered.codes(index) == [b"newer"]

    other = [each for each in range(COUNT) if leader(answered.cluster, "t", each) == 0][1]
    answered.say(other, place, "too old")
    for _ in range(3):
        answered.say(index, place, "later", filler=ANSWERS_MAX // 2, codec=codec)
    answered.reject(other)
    answered.cluster.advance(1_000)
    assert answered.codes(other) == [None]


@pytest.mark.parametrize("mishap", [UNSENT, UNANSWERED])
def test_a_question_that_is_lost_is_asked_again(mishap: str) -> None:
    answered = Answered()
    index = index_on(answered.cluster, 0)
    answered.say(index, answered.place_on(1), "told")
    write(answered.cluster, index, b"a")
    answered.member.take(index)
    answered.cluster.settle()
    answered.member.say(index, 0, 0, REJECT)
    answered.cluster.mishaps += [mishap] * 3
    answered.cluster.advance(3_000)
    assert answered.codes(index) == [b"told"]


def test_a_node_that_starts_again_soon_is_waited_for_and_one_that_stays_away_is_not() -> None:
    for back_after_ms, expected in ((2_000, b"told"), (20_000, None)):
        answered = Answered()
        cluster = answered.cluster
        index = next(
            each
            for each in range(COUNT)
            if leader(cluster, "t", each) == leader(cluster, "dlq.t", each) == home_of(cluster, each) == 0
        )
        answered.say(index, answered.place_on(1), "told")
        write(cluster, index, b"a")
        answered.member.take(index)
        cluster.kill(1)
        answered.member.say(index, 0, 0, REJECT)
        pass_time(cluster, back_after_ms)
        if back_after_ms > WAIT_MS:
            assert answered.codes(index) == [None], "other nodes' letters do not wait for ever"
        revive(cluster, 1)
        pass_time(cluster, 2 * WAIT_MS)
        assert answered.codes(index) == [expected]
