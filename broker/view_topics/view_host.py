"""The access of views to what they share: memory, compiled statements, sources, and parts of the broker."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from uuid import UUID

    from broker.catalogue.catalogue_records import ViewDefinition
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic
    from broker.loop.loop import Loop
    from broker.loop.slices import WaitingSteps
    from broker.storage.schemas import Schemas
    from broker.storage.vnodes import Vnodes
    from broker.view_topics.compiled_views import CompiledViews
    from broker.view_topics.view_cache import CacheBudget
    from broker.view_topics.view_pacing import Pacing
    from broker.view_topics.view_source import ViewSource, Watcher
    from broker.view_topics.view_stats import ViewCounters
    from broker.view_topics.view_tags import SharedTags
    from views.evaluator import Evaluator
    from views.filtering import Limits
    from views.key_room import KeyRoom

T = TypeVar("T")


class ViewHost(Protocol):
    """The services for partitions of views, provided by `ViewHub` (view_hub.py)."""

    evaluators: CompiledViews
    """The compiled statements of views."""
    looking: int
    """The number of fetches that are scanning their sources now."""
    compiled: int
    """The number of evaluators and routers made since `ViewHub` last charged for them."""

    @property
    def metadata(self) -> Metadata:
        """The topics and settings of the node."""

    @property
    def loop(self) -> Loop:
        """The event loop of the node."""

    @property
    def schemas(self) -> Schemas:
        """The schemas that values name."""

    @property
    def vnodes(self) -> Vnodes:
        """The logs of the node."""

    @property
    def now_ms(self) -> int:
        """The time at which records last arrived, for the answers that they cause."""

    @property
    def budget(self) -> CacheBudget:
        """The memory for batches that views show."""

    @property
    def index_budget(self) -> CacheBudget:
        """The memory for the indexes of routes."""

    @property
    def pacings(self) -> dict[UUID, Pacing]:
        """The readers of the views that replay, by the view's id."""

    @property
    def tags(self) -> SharedTags:
        """The known tags of keys."""

    @property
    def key_room(self) -> KeyRoom:
        """The memory of what is known of keys."""

    @property
    def limits(self) -> Limits:
        """The limits on the work of a view on a batch in one go."""

    def shared(self, make: Callable[[ViewHost], T]) -> T:
        """Return the one object that `make` makes for all views of the host."""

    def evaluator(self, topic: Topic, definition: ViewDefinition) -> Evaluator:
        """Return the evaluator of the view's batches, by a definition that it has, or had."""

    def make_evaluator(self, topic: Topic, definition: ViewDefinition) -> WaitingSteps:
        """Return it, and have a thread make it if there is none; the caller holds it while it is in use."""

    def counters_of(self, topic: Topic) -> ViewCounters:
        """Return the counters of the view since the start."""

    def join(self, key: Hashable, wait_key: int) -> ViewSource:
        """Register a reader of the source `key`, a stream's id or a vnode."""

    def leave(self, key: Hashable, wait_key: int) -> None:
        """Remove a reader of the source."""

    def schedule(self, watcher: Watcher) -> None:
        """Have the watcher catch up soon."""
