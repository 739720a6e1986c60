"""ConsumerGroupHeartbeat: join, stay in and leave a consumer group (KIP-848).

One heartbeat: find or make the group and the member, store what changed, count that as a new group epoch,
compute the target if it is due, reconcile the member with it, restart its session. Its records are one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final
from uuid import UUID

from groups.changes import Changes, nothing
from groups.consumer_group import ConsumerGroup
from groups.consumer_leave import leave
from groups.consumer_member import AWAY_EPOCH, JOINING_EPOCH, LEAVING_EPOCH, MemberMetadata
from groups.consumer_members import check_epoch, check_size, new_member_id, replace_static, set_metadata
from groups.consumer_sessions import heartbeat_interval_ms, note_beat, start_session, take_step
from groups.consumer_target import assign_when_due, bump_unless_assigned
from groups.context import Context
from groups.errors import (
    CoordinatorNotAvailable,
    FencedInstance,
    GroupError,
    InvalidRequest,
    UnknownMember,
    UnreleasedInstance,
    UnsupportedAssignor,
)
from groups.next_step import LargeStep, NextStep
from groups.reconciliation import Owned
from groups.sorted_names import sorted_names
from groups.topic_room import check_topics
from groups.topics import Client
from groups.upgrade import consumer_group_for
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

UNCHANGED_MS = -1
"""A rebalance timeout that was not sent."""

NAMES_MAX: Final = 20_000
"""The topics that a member may name: they are one record, and each change of a topic looks at all of them."""

OUTDATED_MAX: Final = 3
"""The steps that may be worked out in vain; the next one is taken at once, as its group may always change."""

Reply = Callable[[ConsumerGroupHeartbeatResponse], None]


def refused(code: ErrorCode, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    """Return the answer to a request that is refused."""
    return ConsumerGroupHeartbeatResponse(
        error_code=code, error_message=message, member_epoch=0, heartbeat_interval_ms=0
    )


def consumer_group_heartbeat(
    context: Context, request: ConsumerGroupHeartbeatRequest, client: Client, reply: Reply
) -> None:
    """Serve one heartbeat.

    Raises: GroupError.
    """
    check_request(context, request, client.version)
    context.check_loaded(request.group_id)
    if request.member_epoch in (LEAVING_EPOCH, AWAY_EPOCH):
        leave(context, request, reply)
    else:
        context.regexes.asking = client.sees
        _beat(context, request, client, reply)


def check_request(context: Context, request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Check what can be checked without the group.

    Raises: InvalidRequest, UnsupportedAssignor.
    """
    epoch = request.member_epoch
    if not request.member_id and (version >= 1 or epoch > JOINING_EPOCH or epoch == LEAVING_EPOCH):
        raise InvalidRequest("MemberId can't be empty.")
    for name, value in (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and not value.strip():
            raise InvalidRequest(f"{name} can't be empty.")
    if len(request.subscribed_topic_names or ()) > NAMES_MAX:
        raise InvalidRequest(
            f"SubscribedTopicNames may have at most {NAMES_MAX} names; use a regular expression."
        )
    if epoch == JOINING_EPOCH:
        _check_join(request)
    elif epoch == AWAY_EPOCH and request.instance_id is None:
        raise InvalidRequest("InstanceId can't be null.")
    elif epoch < AWAY_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    allowed = context.config.group_consumer_assignors
    if request.server_assignor is not None and request.server_assignor not in allowed:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
            f"{', '.join(allowed)}."
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == UNCHANGED_MS:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidRequest(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _beat(context: Context, request: ConsumerGroupHeartbeatRequest, client: Client, reply: Reply) -> None:
    joins = request.member_epoch == JOINING_EPOCH
    owned = _owned(request)
    with Changes(context, request.group_id) as changes:
        group = consumer_group_for(context, changes, request.group_id, joins=joins)
        member_id = request.member_id or new_member_id(context)
        check_size(context, group, member_id)
        check_topics(context, request.group_id, request.subscribed_topic_names or ())
        known = _find_member(changes, group, request, member_id, owned)
        beat = Beat(context, request, client, reply, member_id, owned)
        beat.resubscribed = set_metadata(context, changes, group, member_id, _wanted(request, client, known))
        bump_unless_assigned(context, changes, group)
        began = assign_when_due(context, changes, group)
        if group.assigning is not None and (began or not group.target_epoch):
            # Without any target there is no epoch to tell.
            group.assigning.append(beat.go_on)
            start_session(context, group, member_id)
            changes.commit(nothing, beat.refuse)
        else:
            beat.reconcile(changes, group)


class Beat:
    """A heartbeat whose member is known, and what is still to be done for it."""

    __slots__ = (
        "_answered", "_client", "_context", "_member_id", "_outdated", "_owned", "_reply", "_request",
        "resubscribed",
    )  # fmt: skip

    def __init__(
        self,
        context: Context,
        request: ConsumerGroupHeartbeatRequest,
        client: Client,
        reply: Reply,
        member_id: str,
        owned: Owned,
    ) -> None:
        self._context = context
        self._request = request
        self._client = client
        self._reply = reply
        self._member_id = member_id
        self._owned = owned
        self._answered = False
        self._outdated = 0
        self.resubscribed = False

    def refuse(self, code: ErrorCode, message: str | None = None) -> None:
        """Answer with an error, unless there was an answer."""
        if not self._answered:
            self._answered = True
            self._reply(refused(code, message))

    def go_on(self) -> None:
        """Do the rest now that the target is there, which the heartbeat waited for."""
        context, group_id = self._context, self._request.group_id
        if self._answered:
            return
        try:
            context.check_loaded(group_id)
            group = context.consumer(group_id)
            if group is None or self._member_id not in group.metadata:
                raise UnknownMember(f"Member {self._member_id} is not a member of group {group_id}.")
            if not group.target_epoch:
                raise CoordinatorNotAvailable(f"The first assignment of group {group_id} could not be made.")
            with Changes(context, group_id) as changes:
                self.reconcile(changes, group)
        except GroupError as error:
            self.refuse(error.code, error.message)

    def reconcile(self, changes: Changes, group: ConsumerGroup) -> None:
        """Bring the member nearer to its target, and answer once that is stored.

        Raises: FencedMemberEpoch.
        """
        context = self._context
        tells = self._request.member_epoch == JOINING_EPOCH or _is_full(self._request)
        step = NextStep(
            context, group, self._member_id, self._owned, resubscribed=self.resubscribed, tells=tells
        )
        start_session(context, group, self._member_id)
        if step.is_large and self._outdated < OUTDATED_MAX:
            if group.stepping is None:
                LargeStep(step, self._stepped).begin()
            else:
                group.stepping.append(self.go_on)
            changes.commit(nothing, self.refuse)
            return
        step.work_out()
        self._take(changes, step)

    def _stepped(self, step: NextStep, error: Exception | None) -> None:
        """Go on when a thread has worked out a step, or with another one if that is out of date."""
        if not step.is_current():
            self._outdated += 1
            self.go_on()
        elif isinstance(error, GroupError):
            self.refuse(error.code, error.message)
        elif error is not None:
            self.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
            raise error
        elif not self._answered:
            with Changes(self._context, step.group.group_id) as changes:
                self._take(changes, step)

    def _take(self, changes: Changes, step: NextStep) -> None:
        """Let the member take the step, and answer once that is stored."""
        context, group, member_id = self._context, step.group, self._member_id
        take_step(changes, step)
        note_beat(
            context, group, member_id, self._client,
            polled=_is_full(self._request), subscribed=self.resubscribed, moved=step.has_moved,
        )  # fmt: skip
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=step.found.epoch,
            heartbeat_interval_ms=heartbeat_interval_ms(context, group.group_id),
        )
        if step.on_the_wire is not None:
            response.assignment = Assignment(topic_partitions=step.on_the_wire)
        changes.commit(lambda: self._reply(response), self.refuse)


def _owned(request: ConsumerGroupHeartbeatRequest) -> Owned:
    if request.topic_partitions is None:
        return None
    owned: dict[UUID, set[int]] = {}
    for topic in request.topic_partitions:
        owned.setdefault(topic.topic_id, set()).update(topic.partitions)
    return {topic_id: indexes for topic_id, indexes in owned.items() if indexes}


def _find_member(
    changes: Changes,
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    owned: Owned,
) -> MemberMetadata | None:
    """Return the member's known metadata, None if it is new; a static one replaces its id's old holder."""
    joins = request.member_epoch == JOINING_EPOCH
    instance_id = request.instance_id
    if instance_id is not None and instance_id not in group.instances and not joins:
        raise UnknownMember(f"Instance id {instance_id} is unknown in group {group.group_id}.")
    holder = member_id if instance_id is None else group.instances.get(instance_id, member_id)
    known = group.metadata.get(holder)
    if known is None:
        if joins:
            return None
        raise UnknownMember(f"Member {member_id} is not a member of group {group.group_id}.")
    if holder == member_id:
        check_epoch(group, member_id, request.member_epoch, owned)
        return known
    if not joins:
        raise FencedInstance(
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}."
        )
    if known.classic is None and not group.away(holder):
        raise UnreleasedInstance(
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the "
            f"instance id is owned by {holder} member."
        )
    replace_static(changes, group, holder, member_id)
    return known


def _wanted(
    request: ConsumerGroupHeartbeatRequest, client: Client, known: MemberMetadata | None
) -> MemberMetadata:
    """Return what the member wants after this request; null fields change nothing."""
    changed = MemberMetadata(client_id=client.client_id, client_host=client.host)
    if known is not None:
        changed = replace(known, client_id=client.client_id, client_host=client.host, classic=None)
    if request.instance_id is not None:
        changed = replace(changed, instance_id=request.instance_id)
    if request.rack_id is not None:
        changed = replace(changed, rack_id=request.rack_id)
    if request.rebalance_timeout_ms != UNCHANGED_MS:
        changed = replace(changed, rebalance_timeout_ms=request.rebalance_timeout_ms)
    if request.server_assignor is not None:
        changed = replace(changed, assignor=request.server_assignor)
    if request.subscribed_topic_names is not None:
        topics = sorted_names(request.subscribed_topic_names)
        if known is not None and known.topics == topics:
            # What is the same object need not be compared name by name again.
            topics = known.topics
        changed = replace(changed, topics=topics)
    if request.subscribed_topic_regex is not None:
        changed = replace(changed, regex=request.subscribed_topic_regex)
    return changed


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the request carries all fields: clients send them when they join and after errors."""
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return (
        request.rebalance_timeout_ms != UNCHANGED_MS and subscribes and request.topic_partitions is not None
    )
