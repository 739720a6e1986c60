"""Tests of groups/sorted_names.py: names are sorted and encoded apart, and written as they always are."""

from __future__ import annotations

import pytest

from groups.consumer_heartbeat import _wanted
from groups.consumer_member import MemberMetadata
from groups.record_keys import MemberKey
from groups.records import decode_record, encode_record
from groups.sorted_names import READY_NAMES_MIN, SortedNames, chars_of, sorted_names, to_write
from groups.topics import Client
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.primitives import ReadyStrings

MANY = [f"t{number}" for number in range(READY_NAMES_MIN)]


@pytest.mark.parametrize("names", [["b", "a", "b"], [*reversed(MANY), "t1"]], ids=["few", "many"])
def test_names_are_in_order_each_once(names: list[str]) -> None:
    found = sorted_names(names)
    assert found == tuple(sorted(set(names)))
    assert sorted_names(found) == found


def test_names_that_a_thread_has_sorted_are_not_sorted_again() -> None:
    found = sorted_names(MANY)
    assert sorted_names(found) is found


def test_a_members_record_takes_the_bytes_that_were_made_before_and_they_are_kept_no_longer() -> None:
    """Bug: names of 19,000 topics were sorted and encoded on the event loop, in 12 ms."""
    names = sorted_names([*MANY, "é" * 90])
    assert isinstance(names, SortedNames)
    ready = names.ready
    assert isinstance(ready, ReadyStrings)
    ready.compact = ready.compact.replace(b"\x03t1", b"\x03T1")
    key, member = MemberKey("g", "m"), MemberMetadata(client_id="c", client_host="/h", topics=names)
    made_of_the_bytes = encode_record(key, member)
    assert names.ready is None
    again = encode_record(key, member)
    for (written_key, value), first in ((made_of_the_bytes, "T1"), (again, "t1")):
        found = decode_record(written_key, value)
        assert found is not None
        assert first in found[1].topics
        assert len(found[1].topics) == len(names)


def test_few_names_are_written_as_they_are() -> None:
    assert to_write(sorted_names(["b", "a"])) == ["a", "b"]


def test_what_is_asked_of_all_names_is_known_without_a_visit_to_each() -> None:
    """Bug: each heartbeat of a member with 19,000 topics counted and hashed their names, 3 ms each time."""
    names = sorted_names([*reversed(MANY), "é" * 90])
    assert isinstance(names, SortedNames)
    assert chars_of(names) == names.chars == sum(map(len, names)) == chars_of(list(names))
    assert hash(names) == names.known_hash == hash(tuple(names))
    assert {names: 1} == {tuple(names): 1}


def naming(topics: list[str]) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=topics
    )


def test_a_member_that_names_the_same_topics_keeps_the_names_that_it_had() -> None:
    client = Client(1, "c", "/h")
    known = _wanted(naming(MANY), client, None)
    again = _wanted(naming([*MANY]), client, known)
    assert again.topics is known.topics
    fewer = _wanted(naming(MANY[1:]), client, known)
    assert fewer.topics == sorted_names(MANY[1:])
