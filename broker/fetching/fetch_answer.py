"""The answer to a fetch, made from what was read."""

from __future__ import annotations

from collections.abc import Iterable

from broker.fetching.fetch_items import FetchItem
from broker.fetching.fetch_sessions import FetchPlan
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData


class FetchAnswer:
    """The response in progress; within a session it has only what the client does not know yet."""

    __slots__ = ("_current", "_plan", "_response", "_served")

    def __init__(self, plan: FetchPlan) -> None:
        self._plan = plan
        self._response = FetchResponse(session_id=plan.session_id, responses=[])
        self._current: FetchableTopicResponse | None = None
        self._served: list[tuple[str | object, int]] = []

    def add(self, found: Iterable[tuple[FetchItem, PartitionData]]) -> None:
        """Add what was read of some partitions."""
        plan, current = self._plan, self._current
        for item, data in found:
            news = item.is_news(high_watermark=data.high_watermark, log_start=data.log_start_offset)
            has_records = bool(data.records)
            if plan.incremental and not (news or has_records or data.error_code or data.diverging_epoch):
                continue
            if has_records and plan.session:
                self._served.append((item.name or item.topic_id, item.index))
            if current is None or (current.topic, current.topic_id) != (item.name, item.topic_id):
                current = FetchableTopicResponse(topic=item.name, topic_id=item.topic_id, partitions=[])
                self._response.responses.append(current)
            current.partitions.append(data)
        self._current = current

    def finished(self) -> FetchResponse:
        """Return the whole response."""
        for key in self._served:
            # Partitions that gave records go to the end, so that the others have their turn (KIP-227).
            if key in self._plan.items:
                self._plan.items.move_to_end(key)  # type: ignore[arg-type]
        return self._response
