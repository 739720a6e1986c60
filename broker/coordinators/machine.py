"""A kind of coordinator: a pure state machine whose state is kept in records, and the topic that holds them.

CoordinatorRuntime (runtime.py) connects both with the disk, the clock and the catalogue.  Source: the shards
of Kafka's CoordinatorRuntime, which serve its group, share and transaction coordinators alike.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from typing import Protocol, TypeVar

from broker.catalogue.topic_admin import NewTopic
from groups.context import InternalError
from groups.effects import Effects, EncodedRecord, Stamp
from protocol.error_codes import ErrorCode


class Machine(Protocol):
    """A coordinator's state, of which nothing is loaded at first.

    It changes through `replay`, with time, and in its own methods, called inside `CoordinatorRuntime.step`.
    """

    def take_effects(self) -> list[Effects]:
        """Return the effects to append now, in this order: each is one batch for one partition."""

    def durable(self, effects: Effects, now_ms: int) -> None:
        """Learn that these records, and all before them in their partition, are durable."""

    def failed(self, effects: Effects, error: ErrorCode, now_ms: int) -> None:
        """Learn that these records, and all after them in their partition, will not be stored."""

    def replay(
        self, partition: int, key: bytes | memoryview, value: bytes | memoryview | None
    ) -> Iterable[None]:
        """Apply one stored record: it counts when the result is exhausted, which has a step for each ms.

        A client may have written it: one that lies in another partition than its key belongs into is ignored.

        Raises: ProtocolError, there or here, if no version up to this one writes it.
        """

    def needs_module(self, key: bytes | memoryview) -> str:
        """Return the name of a module that the first record of this kind imports, in 10 ms; "": none."""

    def replay_staged(
        self, partition: int, stamp: Stamp, key: bytes | memoryview, value: bytes | memoryview | None
    ) -> None:
        """Apply one stored record of a producer's transaction.  Raises: ProtocolError, as `replay`."""

    def replay_end(self, partition: int, producer_id: int, *, commit: bool) -> Iterable[None]:
        """Apply the stored end of a producer's transaction, which counts when the result is exhausted."""

    def loaded(self, partitions: Collection[int], now_ms: int) -> None:
        """Serve these partitions: all of their records have been replayed."""

    def leave_to_others(self, partitions: Collection[int]) -> None:
        """Refuse requests for these partitions, which another node leads; they are loaded like the others."""

    def unload(self, partitions: Collection[int], now_ms: int) -> None:
        """Forget these partitions and refuse the requests that wait in them."""

    def discard(self, now_ms: int) -> Generator[None, None, None]:
        """Forget everything in steps, and refuse the requests that wait; nothing more is asked for."""

    def is_whole(self, partition: int) -> bool:
        """Whether a partition is served, and all of its records have been understood.

        Only then may a snapshot stand for what is stored.
        """

    def snapshot(self, partition: int, records_max: int) -> Iterator[list[EncodedRecord]]:
        """Yield records that replay to the present state of a partition, at most so many at a time.

        Records of open transactions come as StagedRecords. Each list is appended before the machine is called
        again, so later changes come after it in the log.
        """

    def topics_changed(
        self, now_ms: int, *, created: Collection[str], deleted: Collection[str], grown: Collection[str]
    ) -> None:
        """Learn of topics that have changed, as the catalogue already shows."""

    def take_internal_errors(self) -> list[InternalError]:
        """Return the errors of our own in timers since the last call, each with its partition, if it has one.

        The state of these partitions may be wrong: they are unloaded and replayed.
        """

    def tick(self, now_ms: int) -> None:
        """Do all work that is due."""

    def next_deadline(self) -> int | None:
        """Return the monotonic time of the next `tick`, or None."""


MachineT = TypeVar("MachineT", bound=Machine)
MachineT_co = TypeVar("MachineT_co", bound=Machine, covariant=True)


class Kind(Protocol[MachineT]):
    """A kind of coordinator: its internal topic and its machines."""

    @property
    def topic_name(self) -> str:
        """The topic that keeps the state."""

    def new_topic(self) -> NewTopic:
        """Return the topic to create when the first record must be stored."""

    def new_machine(self, partition_count: int) -> MachineT:
        """Return an empty machine, whose state is divided among so many partitions."""

    def configure(self, machine: MachineT, partition_count: int) -> None:
        """Apply settings that have changed; the number of partitions stays."""
