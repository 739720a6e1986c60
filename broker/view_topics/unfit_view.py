"""Views of unfit records: `UNFIT topic`, the quarantine of records that queries over it leave out.

Partition i of the view shows partition i of its source, at its offsets, like every view over one topic
(broker/view_topics/query_view.py).  Nothing is copied: a crash or a change of the log affects the source and
its quarantine alike, and the quarantine can be read again like any topic.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from broker.loop.slices import WaitingSteps
from broker.view_topics.opening import with_opened
from broker.view_topics.query_view import QueryPartition

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.view_topics.view_host import ViewHost
    from views.tags import KeyTags


class UnfitPartition(QueryPartition):
    """One partition of a quarantine."""

    __slots__ = ()

    def filtered(self, batch: memoryview, tags: KeyTags | None, index: int | None = None) -> WaitingSteps:
        """Find the records of a batch that do not fit, each with its reason."""
        from views.unfit import unfit_steps

        index = self.index if index is None else index
        steps_of = partial(unfit_steps, self.evaluator, batch, partition=index, limits=self.host.limits)
        return (yield from with_opened(self.host, batch, lambda content: steps_of(content=content)))


def open_partition(host: ViewHost, topic: Topic, index: int) -> UnfitPartition:
    """Make partition `index` of a quarantine."""
    assert topic.view is not None
    return UnfitPartition(host, topic, index, host.metadata.catalogue.by_id[UUID(hex=topic.view.source_id)])
