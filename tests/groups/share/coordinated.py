"""Share groups inside a whole group coordinator: heartbeats, and states that are made and deleted at once."""

from __future__ import annotations

from typing import Any

from groups.share.membership import DeleteOrder, InitOrder
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.groups.driver import Answer, Driver


class Coordinated(Driver):
    """A coordinator whose orders for states succeed, unless `outcome` is an error."""

    outcome = ErrorCode.NONE
    hold_orders = False
    deleted: list[DeleteOrder]
    held: list[InitOrder | DeleteOrder]

    def __init__(self, *topics: str, **settings: Any) -> None:
        super().__init__(*topics, **settings)
        self.deleted = []
        self.held = []

    def carry_out(self) -> None:
        """Do what the coordinator has ordered, until there is nothing more."""
        self.flush()
        self.held += self.coordinator.take_share_orders()
        while self.held and not self.hold_orders:
            order = self.held.pop(0)
            share = self.coordinator.share(self.now_ms)
            if isinstance(order, DeleteOrder):
                self.deleted.append(order)
                order.done(self.outcome)
            elif self.outcome == ErrorCode.NONE:
                share.membership.initialized(order, self.now_ms)
            else:
                share.membership.not_initialized(order, self.now_ms)
            self.flush()
            self.held += self.coordinator.take_share_orders()

    def beat_share(
        self, group_id: str, member_id: str, epoch: int = 0, *topics: str
    ) -> Answer[ShareGroupHeartbeatResponse]:
        """Send a heartbeat to a share group."""
        answer: Answer[ShareGroupHeartbeatResponse] = Answer()
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=list(topics) or None,
        )
        share = self.coordinator.share(self.now_ms)
        share.heartbeat(request, Client(1, "client", "/127.0.0.1"), answer)
        self.carry_out()
        return answer

    def delete(self, *names: str) -> Answer[DeleteGroupsResponse]:
        """Delete groups."""
        answer: Answer[DeleteGroupsResponse] = Answer()
        self.coordinator.delete_groups(DeleteGroupsRequest(groups_names=list(names)), answer, self.now_ms)
        self.carry_out()
        return answer
