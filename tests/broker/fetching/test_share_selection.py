"""Records that a group is not given: deleted ones, for all groups, now and later."""

from __future__ import annotations

from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.handlers.test_share_fetch_settings import tagged
from tests.broker.handlers.test_share_fetch_timing import put
from tests.broker.kit import read
from tests.broker.shares import RELEASE, Member, acquired, configure

SET, APPEND = 0, 2


def delete(jobs: Jobs, entries: str, operation: int = SET) -> int:
    config = AlterableConfig(name="kawal.share.deleted", config_operation=operation, value=entries)
    resource = AlterConfigsResource(resource_type=2, resource_name="jobs", configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    (result,) = jobs.gateway.client().call(request, 1).responses
    code: int = result.error_code
    return code


def test_a_deleted_record_is_given_to_no_group_before_or_after() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c", b"d")
    assert delete(jobs, "0:1") == 0
    assert delete(jobs, "0:3,1:0", APPEND) == 0
    assert acquired(member.fetch(jobs.place)) == [(0, 0, 1), (2, 2, 1)]
    configure(jobs.gateway, "later", share_auto_offset_reset="earliest")
    jobs.gateway.restart()
    jobs.gateway.settle()
    other = Member(jobs.gateway, "m2", "jobs", group="later")
    assert acquired(other.fetch(jobs.place)) == [(0, 0, 1), (2, 2, 1)]
    assert read(jobs.gateway.client(), "jobs") == [b"a", b"b", b"c", b"d"], "consumer groups read all"


def test_a_record_that_a_member_has_is_not_given_again() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    delete(jobs, "0:0-0")
    member.acknowledge(jobs.place, (0, 1, [RELEASE]))
    assert acquired(member.fetch()) == [(1, 1, 2)]


def test_what_is_no_entry_is_refused() -> None:
    assert delete(Jobs(), "0:1,everything") == 40


def test_deletion_filter_times_and_bytes_go_together() -> None:
    jobs = Jobs(
        kawal_share_filter="kind=a",
        kawal_share_timing_enable="true",
        kawal_share_partition_max_in_flight_bytes="1000000",
    )
    member = jobs.member("m1")
    tagged(jobs, "a", "b", "a", "a")
    put(jobs, {"kawal_delay_ms": 5_000})
    delete(jobs, "0:2,0:4")
    assert acquired(member.fetch(jobs.place)) == [(0, 0, 1), (3, 3, 1)]
    jobs.gateway.advance(6_000)
    assert acquired(member.fetch()) == []
