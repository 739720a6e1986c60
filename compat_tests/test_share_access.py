"""Access rules in share sessions: topics that a member may not read, over raw requests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final
from uuid import UUID

import pytest

from broker.security.acls import PatternType, Permission
from broker.security.authorized_operations import Operation
from compat_tests.broker import Broker
from compat_tests.certificates import Certificates
from compat_tests.confluent import make_producer, produce
from compat_tests.test_acls import ALICE, as_alice, broker, certificates, put
from compat_tests.test_share_groups import configure
from compat_tests.times import quickest, seconds_of
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_fetch import ShareFetchRequest
from tests.broker.guarded import GROUP, TOPIC, rule
from tests.broker.share_requests import acknowledging_in, fetching_from
from tests.broker.share_requests import beating as beating_in_g
from tests.broker.shares import ACCEPT

__all__ = ["broker", "certificates"]

DENIED: Final = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
MEMBER: Final = "3d8a2c1e-0000-4000-8000-000000000003"
SHARE: Final = "s"
WAIT_MS: Final = 700

MEMBERSHIP: Final = (
    rule(Operation.READ, GROUP, SHARE, principal=ALICE),
    rule(Operation.READ, TOPIC, "t", principal=ALICE),
    rule(Operation.DESCRIBE, TOPIC, "u", principal=ALICE),
)
READ_U: Final = rule(Operation.READ, TOPIC, "u", principal=ALICE)

Place = tuple[UUID, int]


class Session:
    """Alice's share session with the topics `t`, which she may read, and `u`."""

    def __init__(self, broker: Broker, alice: RawClient, admin: RawClient) -> None:
        self.alice = alice
        self.admin = admin
        create_topic(broker, "u")
        self.t, self.u = self._place("t"), self._place("u")
        self.epoch = 0
        configure(broker, SHARE, share_auto_offset_reset="earliest")
        put(admin, *MEMBERSHIP)
        eventually(self._joined, waiting_for="the assignment")

    def _place(self, name: str) -> Place:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        return UUID(int=self.admin.call(request, 12).topics[0].topic_id.int), 0

    def _joined(self) -> bool:
        request = beating_in_g("t", "u", member_id=MEMBER)
        request.group_id = SHARE
        answer = self.alice.call(request, 1)
        return bool(answer.assignment and answer.assignment.topic_partitions)

    def fetch(self, *places: Place, said: Any = (), wait_ms: int = 300) -> dict[Place, tuple[int, int, int]]:
        """Fetch; return error, acknowledgement's error and the number of acquired ranges by partition."""
        request: ShareFetchRequest = fetching_from(SHARE, MEMBER, self.epoch, places, dict(said))
        request.max_wait_ms = wait_ms
        answer = self.alice.call(request, 2)
        assert answer.error_code == 0, answer
        self.epoch += 1
        return {
            (UUID(int=topic.topic_id.int), data.partition_index): (
                data.error_code,
                data.acknowledge_error_code,
                len(data.acquired_records),
            )
            for topic in answer.responses
            for data in topic.partitions
        }

    def acknowledge(self, place: Place, *ranges: tuple[int, int]) -> int:
        """Accept ranges of offsets; return the error of the partition."""
        answer = self.alice.call(acknowledging_in(SHARE, MEMBER, self.epoch, place, ranges), 2)
        assert answer.error_code == 0, answer
        self.epoch += 1
        code: int = answer.responses[0].partitions[0].error_code
        return code

    def lock_u(self) -> None:
        """Take away the right to read `u`, and wait until that is in effect."""
        put(self.admin, READ_U._replace(permission=Permission.DENY))
        eventually(lambda: self.fetch().get(self.u) == (DENIED, 0, 0), waiting_for="the rules")

    def unlock_u(self) -> None:
        """Give it back."""
        denials = DeleteAclsFilter(
            resource_type_filter=TOPIC,
            resource_name_filter="u",
            pattern_type_filter=PatternType.LITERAL,
            principal_filter=None,
            host_filter=None,
            operation=Operation.READ,
            permission_type=Permission.DENY,
        )
        answer = self.admin.call(DeleteAclsRequest(filters=[denials]), 3)
        assert len(answer.filter_results[0].matching_acls) == 1
        eventually(lambda: self.fetch().get(self.u, (0, 0, 0))[0] == 0, waiting_for="the rules")


@pytest.fixture
def session(broker: Broker, certificates: Certificates) -> Iterator[Session]:
    with raw_client(broker) as admin, as_alice(broker, certificates) as alice:
        yield Session(broker, alice, admin)


def test_a_partition_that_may_not_be_read_stays_in_the_session_and_is_refused_by_every_fetch(
    session: Session,
) -> None:
    refused = {session.u: (DENIED, 0, 0)}
    assert session.fetch(session.u) == refused
    assert session.fetch() == refused
    assert session.fetch((session.u[0], 7))[session.u] == (DENIED, 0, 0)


def test_acknowledgements_there_are_refused_after_their_form_and_not_applied(
    session: Session,
    broker: Broker,
) -> None:
    put(session.admin, READ_U)
    produce(make_producer(broker), "u", [b"a"])
    eventually(lambda: session.fetch(session.u).get(session.u) == (0, 0, 1), waiting_for="the record")
    session.lock_u()
    assert session.acknowledge(session.u, (0, 0)) == DENIED
    assert session.acknowledge(session.u, (5, 6), (0, 0)) == ErrorCode.INVALID_REQUEST
    said = {session.u: [(0, 0, [ACCEPT])]}
    assert session.fetch(said=said) == {session.u: (DENIED, DENIED, 0)}
    session.unlock_u()
    assert session.acknowledge(session.u, (0, 0)) == 0


def test_a_fetch_waits_for_the_partitions_that_may_be_read(session: Session) -> None:
    def waits() -> None:
        session.fetch(wait_ms=WAIT_MS)

    session.fetch(session.u)
    quickest(partial(seconds_of, waits), below_seconds=WAIT_MS / 1000)
    session.fetch(session.t)
    assert seconds_of(waits) >= WAIT_MS / 1000 - 0.05
