"""Dead letters: rejected records and those delivered too often end in a topic, whatever happens meanwhile."""

from __future__ import annotations

import pytest

from protocol.messages.kawal_queue_changes import (
    KawalQueueChangesRequest,
    QueueAction,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.dead_letters import TAKES, Tail, later, rejected, told
from tests.broker.gateway import Gateway
from tests.broker.kit import create, send
from tests.broker.requests.test_features_off import set_level
from tests.broker.shares import ACCEPT, GAP, REJECT, RELEASE, acquired


def test_a_rejected_record_leaves_a_letter_that_names_it_and_nothing_of_its_content() -> None:
    tail = Tail()
    member = tail.member()
    tail.produce(b"good", b"bad")
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, 1, [ACCEPT, REJECT]))
    (letter,) = tail.letters()
    assert (letter.key, letter.value) == (None, None)
    assert told(letter) == {
        "topic": "jobs",
        "partition": "0",
        "offset": "1",
        "group": "g",
        "delivery.count": "1",
        "message": "Offset rejected by client.",
    }
    assert letter.timestamp_ms == tail.gateway.now_ms
    assert tail.start() == 2
    assert tail.gateway.broker.stats.dead_letters_written == 1


def test_a_record_delivered_too_often_leaves_a_letter_with_its_count() -> None:
    tail = Tail()
    tail.produce(b"poison")
    for name in ("m1", "m2"):
        member = tail.member(name)
        member.fetch(tail.place)
        member.acknowledge(tail.place, (0, 0, [RELEASE]))
    (letter,) = tail.letters()
    assert told(letter)["delivery.count"] == "2"
    assert told(letter)["message"] == "Offset delivery count exceeded the threshold."


@pytest.mark.parametrize("how", ["expired", "closed", "lost"])
def test_every_way_in_which_the_last_delivery_ends_leaves_a_letter(how: str) -> None:
    tail = Tail()
    tail.produce(b"poison")
    for name in ("m1", "m2"):
        member = tail.member(name)
        assert acquired(member.fetch(tail.place))
        if how == "expired":
            tail.gateway.advance(31_000)
        elif how == "closed":
            member.fetch(epoch=-1)
        else:
            member.client.close()
        tail.gateway.settle()
    assert tail.offsets() == [0]


def test_a_gap_leaves_no_letter() -> None:
    tail = Tail()
    member = tail.member()
    tail.produce(b"a", b"b")
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, 1, [GAP]))
    assert tail.letters() == []
    assert tail.start() == 2


def test_letters_have_key_value_and_headers_of_the_record_if_the_group_says_so() -> None:
    tail = Tail()
    tail.settings(errors_deadletterqueue_copy_record_enable="true")
    member = tail.member()
    original = Record(0, tail.gateway.now_ms, b"key", b"value", (("mine", b"1"), ("nothing", None)))
    send(tail.gateway.client(), "jobs", encode_batch([original]), 0)
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, 0, [REJECT]))
    (letter,) = tail.letters()
    assert (letter.key, letter.value) == (b"key", b"value")
    assert letter.headers[:2] == original.headers
    assert told(letter)["offset"] == "0"


def test_a_records_own_headers_can_be_left_out() -> None:
    tail = Tail()
    tail.settings(
        errors_deadletterqueue_copy_record_enable="true", kawal_share_deadletter_headers_enable="false"
    )
    member = tail.member()
    original = Record(0, tail.gateway.now_ms, b"key", b"value", (("mine", b"1"),))
    send(tail.gateway.client(), "jobs", encode_batch([original]), 0)
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, 0, [REJECT]))
    (letter,) = tail.letters()
    assert [name for name, _ in letter.headers if not name.startswith("__dlq.")] == []
    assert letter.value == b"value"


def test_letters_of_many_records_come_in_batches_that_the_topic_takes() -> None:
    tail = Tail(has_topic=False)
    create(tail.gateway.client(), "dlq.jobs", 1, **TAKES, **{"max.message.bytes": "2000"})
    tail.settings(errors_deadletterqueue_copy_record_enable="true")
    member = tail.member()
    tail.produce(*[b"%d" % number * 300 for number in range(9)], b"x" * 5_000)
    member.fetch(tail.place)
    member.acknowledge(tail.place, (0, 9, [REJECT]))
    letters = tail.letters()
    assert [int(told(letter)["offset"]) for letter in letters] == list(range(10))
    assert letters[-1].value == b"x" * 5_000, "one that is larger goes alone"
    assert tail.start() == 10


def test_letters_go_to_the_partition_of_the_same_number_modulo_their_count() -> None:
    tail = Tail(has_topic=False, partitions=3)
    create(tail.gateway.client(), "dlq.jobs", 2, **TAKES)
    member = tail.member()
    places = [(tail.topic_id, index) for index in range(3)]
    for index in range(3):
        tail.produce(b"a", index=index)
    member.fetch(*places)
    for place in places:
        member.acknowledge(place, (0, 0, [REJECT]))
    assert [told(letter)["partition"] for letter in tail.letters(0)] == ["0", "2"]
    assert [told(letter)["partition"] for letter in tail.letters(1)] == ["1"]


def test_without_a_dead_letter_topic_records_are_archived_at_once() -> None:
    tail = Tail()
    tail.settings(errors_deadletterqueue_topic_name="")
    rejected(tail)
    assert (tail.letters(), tail.start()) == ([], 2)


@pytest.mark.parametrize("level", [1, 2])
def test_there_are_letters_from_share_version_2_on(level: int) -> None:
    tail = Tail()
    if level < 2:
        set_level(tail.gateway, level, 2)
    rejected(tail)
    assert (tail.offsets(), tail.start()) == ([0, 1] if level == 2 else [], 2)


def test_the_policies_drop_and_keep() -> None:
    tail = Tail()
    tail.settings(kawal_share_deadletter_policy="drop")
    rejected(tail, 1)
    assert (tail.letters(), tail.start()) == ([], 1)
    tail.settings(kawal_share_deadletter_policy="keep")
    tail.produce(b"again", b"never")
    for name in ("m2", "m3", "m4", "m5"):
        member = tail.member(name)
        member.fetch(tail.place)
        member.acknowledge(tail.place, (1, 1, [RELEASE]))
        member.fetch(epoch=-1)
    last = tail.member("m6")
    assert acquired(last.fetch(tail.place))[0][2] == 5, "delivered beyond the limit of 2"
    last.acknowledge(tail.place, (1, 1, [REJECT]))
    assert tail.letters() == []


# --- topics that cannot be written --------------------------------------------------------------------------


def test_a_missing_topic_holds_records_until_there_is_one(caplog: pytest.LogCaptureFixture) -> None:
    tail = Tail(has_topic=False)
    rejected(tail)
    later(tail)
    assert tail.start() == 0
    stats = tail.gateway.broker.stats
    assert stats.dead_letters_held == 1
    assert stats.dead_letter_failures >= 3
    assert [text for text in caplog.messages if "'dlq.jobs' does not exist" in text] == [caplog.messages[-1]]
    create(tail.gateway.client(), "dlq.jobs", 1, **TAKES)
    later(tail)
    assert (tail.offsets(), tail.start()) == ([0, 1], 2)
    assert stats.dead_letters_held == 0


def test_a_missing_topic_is_made_if_the_server_may() -> None:
    gateway = Gateway(kawal_vnodes=1, errors_deadletterqueue_auto_create_topics_enable=True)
    tail = Tail(has_topic=False, gateway=gateway)
    rejected(tail)
    assert (tail.offsets(), tail.start()) == ([0, 1], 2)
    made = gateway.broker.find_topic("dlq.jobs")
    assert made.configs == {**TAKES, "message.timestamp.type": "CreateTime"}


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        ({}, "is not for dead letters"),
        ({**TAKES, "kawal.read.only": "true"}, "is read-only"),
        ({**TAKES, "kawal.max.partition.bytes": "10"}, "records are accepted again when"),
        ({**TAKES, "cleanup.policy": "compact"}, "is compacted"),
    ],
)
def test_a_topic_that_takes_no_letters_holds_records(
    configs: dict[str, str], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    tail = Tail(has_topic=False)
    create(tail.gateway.client(), "dlq.jobs", 1, **configs)
    rejected(tail)
    later(tail)
    assert tail.start() == 0
    assert any(reason in text for text in caplog.messages)


def test_a_name_without_the_prefix_holds_records(caplog: pytest.LogCaptureFixture) -> None:
    tail = Tail()
    create(tail.gateway.client(), "letters", 1, **TAKES)
    tail.settings(errors_deadletterqueue_topic_name="letters")
    rejected(tail)
    assert "'letters' does not begin with 'dlq.'" in caplog.text
    tail.settings(errors_deadletterqueue_topic_name="dlq.jobs")
    later(tail)
    assert tail.start() == 2


def test_turning_letters_off_ends_the_wait(caplog: pytest.LogCaptureFixture) -> None:
    tail = Tail(has_topic=False)
    rejected(tail)
    tail.settings(errors_deadletterqueue_topic_name="")
    later(tail)
    assert tail.start() == 2
    assert "gives up 2 records without dead letters" in caplog.text


def test_a_purge_ends_the_wait_and_no_letter_is_claimed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kawal.broker")
    tail = Tail(has_topic=False)
    rejected(tail)
    later(tail)
    tail.gateway.client().call(KawalQueueChangesRequest(group_id="g", action=QueueAction.PURGE), 0)
    later(tail)
    assert tail.start() == 2
    assert tail.gateway.broker.stats.dead_letters_held == 0
    assert caplog.messages[-1].endswith("waits for no dead letters any more")


def test_what_waits_fills_the_window_and_other_partitions_go_on() -> None:
    tail = Tail(has_topic=False, partitions=2)
    tail.settings(share_partition_max_record_locks="100")
    member = tail.member()
    other = (tail.topic_id, 1)
    tail.produce(*[b"x"] * 100)
    tail.produce(b"after")
    member.fetch(tail.place, other)
    member.acknowledge(tail.place, (0, 99, [REJECT]))
    assert acquired(member.fetch()) == [], "the window is full"
    tail.produce(b"elsewhere", index=1)
    assert acquired(member.fetch()) == [(0, 0, 1)]
    create(tail.gateway.client(), "dlq.jobs", 1, **TAKES)
    later(tail)
    assert tail.offsets() == list(range(100))
    assert acquired(tail.member("m2").fetch(tail.place)) == [(100, 100, 1)]


def test_a_full_disk_holds_letters_back_until_there_is_room() -> None:
    tail = Tail(vnodes=1)
    member = tail.member()
    tail.produce(b"a")
    member.fetch(tail.place)
    vnode = tail.gateway.partition("dlq.jobs").vnode
    vnode.log._state.full = True
    member.acknowledge(tail.place, (0, 0, [REJECT]))
    tail.gateway.settle()
    vnode.log._state.full = False
    assert (tail.letters(), tail.start()) == ([], 0)
    later(tail)
    assert (tail.offsets(), tail.start()) == ([0], 1)


def test_letters_of_records_that_the_log_no_longer_has_only_name_them() -> None:
    tail = Tail(has_topic=False)
    tail.settings(errors_deadletterqueue_copy_record_enable="true")
    rejected(tail, 3)
    tail.produce(b"kept")
    tail.gateway.partition("jobs").vnode.log.set_log_start(tail.gateway.partition("jobs").stream_id, 2)
    tail.gateway.settle()
    assert acquired(tail.member("m2").fetch(tail.place)) == [(3, 3, 1)]
    create(tail.gateway.client(), "dlq.jobs", 1, **TAKES)
    later(tail)
    assert [(int(told(letter)["offset"]), letter.value) for letter in tail.letters()] == [
        (0, None), (1, None), (2, b"2"),
    ]  # fmt: skip
