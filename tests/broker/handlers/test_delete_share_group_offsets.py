"""DeleteShareGroupOffsets: groups that begin anew in a topic."""

from __future__ import annotations

from typing import Any

from broker.loop.slices import ITEMS_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, acquired


def delete(jobs: Jobs, *names: str, group_id: str = "g") -> Any:
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
    return jobs.gateway.client().call(DeleteShareGroupOffsetsRequest(group_id=group_id, topics=topics), 0)


def test_a_group_begins_anew_where_its_progress_was_deleted() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 0, [ACCEPT]), epoch=-1)
    member.beat(epoch=-1)
    answer = delete(jobs, "jobs", "other")
    codes = [topic.error_code for topic in answer.responses]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    (again,) = delete(jobs, "jobs").responses
    assert again.error_message == "There is no offset information to delete."
    assert acquired(jobs.member("m2").fetch(jobs.place)) == [(0, 0, 1)]


def test_a_group_with_members_and_one_that_does_not_exist_stay() -> None:
    jobs = Jobs()
    jobs.member("m1")
    assert delete(jobs, "jobs").error_code == ErrorCode.NON_EMPTY_GROUP
    assert delete(jobs, "jobs", group_id="other").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_very_many_topics_are_looked_for_in_slices() -> None:
    jobs = Jobs()
    jobs.member("m1").beat(epoch=-1)
    names = [*(f"other{number}" for number in range(40 * ITEMS_PER_STEP)), "jobs"]
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
    client = jobs.gateway.client()
    client.send(DeleteShareGroupOffsetsRequest(group_id="g", topics=topics), 0)
    steps = 0
    while jobs.gateway.broker.scheduler.pending:
        jobs.gateway.broker.scheduler.run()
        steps += 1
    assert steps >= 10
    jobs.gateway.settle()
    (answer,) = client.answers()
    codes = [topic.error_code for topic in answer.responses]
    assert codes == [*[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 40 * ITEMS_PER_STEP, 0]
