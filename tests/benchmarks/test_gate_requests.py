"""The requests and rules of benchmarks/gate_requests.py."""

from __future__ import annotations

from benchmarks.gate_requests import RULES, acl_of, consume_frames, produce_frames
from broker.security.authorizer import Authorizer


def test_no_two_rules_are_the_same_and_none_is_about_the_topics_that_are_measured() -> None:
    acls = [acl_of(number) for number in range(RULES)]
    assert len(set(acls)) == RULES
    assert not any("gate-1".startswith(acl.name) for acl in acls)
    assert Authorizer(acls=acls).operations("User:u1", "10.0.0.9", 2, "other-1")


def test_each_partition_is_written_by_a_request_of_its_own_and_read_by_one_for_all() -> None:
    assert [len(set(produce_frames("t", count, 0))) for count in (1, 100)] == [1, 100]
    assert [len(consume_frames("t", count)) for count in (1, 100)] == [1, 1]
