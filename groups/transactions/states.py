"""The states of a transactional id, and all that changes them.

               enlist                    end                         markers durable
    EMPTY ------------------> ONGOING -----------> PREPARE_COMMIT ------------------> COMPLETE_COMMIT
      ^                       ^  |                 PREPARE_ABORT                      COMPLETE_ABORT
      |                       |  +-- timeout, newer instance --> PREPARE_ABORT             |   |
      |                       +------------------------ enlist ----------------------------+   |
      +--------------------------------------- InitProducerId ---------------------------------+

The outcome is decided when the PREPARE record is durable: from then on nothing but the markers that carry it
is written for the transaction, after a crash, too. COMPLETE is stored when all markers are durable. An id
that is not used for `transactional.id.expiration.ms` is forgotten; none is while it is ONGOING or PREPARE.

Two protocols are served, as each request's version tells:

    first (TV1)   EndTxn v0-4: the epoch stays; partitions are enlisted by AddPartitionsToTxn v0-3.
    second (TV2)  EndTxn v5 raises the epoch with every transaction, so that nothing sent in one transaction
                  can reach the next. Partitions are enlisted by producing to them (Produce v12,
                  TxnOffsetCommit v5). A request with the epoch before is a repetition: its answer was lost.

The code runs on the tables below, which docs/transactions.md shows (states_markdown.py), and each row is
tested.
Source: KIP-98, KIP-360, KIP-447, KIP-588, KIP-890; Kafka 4.3's TransactionCoordinator, TransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Final

from protocol.error_codes import ErrorCode


class TransactionState(IntEnum):
    """The state of a transactional id; the numbers are those of its record."""

    EMPTY = 0
    """A producer has its id and epoch, and no transaction yet."""

    ONGOING = 1
    """Partitions are enlisted; records are written to them."""

    PREPARE_COMMIT = 2
    """The commit is decided; its markers are being written."""

    PREPARE_ABORT = 3
    """The abort is decided; its markers are being written."""

    COMPLETE_COMMIT = 4
    """All markers of the commit are durable."""

    COMPLETE_ABORT = 5
    """All markers of the abort are durable."""

    DEAD = 6
    """Forgotten; it occurs in filters only."""

    PREPARE_EPOCH_FENCE = 7
    """A state that Kafka has in memory only; it occurs in filters only."""

    @property
    def shown(self) -> str:
        """The name in Kafka's APIs."""
        return self.name.title().replace("_", "")


S = TransactionState

BY_NAME: Final[Mapping[str, TransactionState]] = {state.shown: state for state in TransactionState}


class Event(Enum):
    """An event that changes the state; the value describes it."""

    INITIALIZED = "InitProducerId"
    ENLISTED = "a partition or a group is added"
    COMMITTED = "EndTxn commits"
    ABORTED = "EndTxn aborts, a timeout, or a newer instance"
    MARKED = "all markers are durable"


TRANSITIONS: Final[Mapping[tuple[TransactionState, Event], TransactionState]] = {
    (S.EMPTY, Event.INITIALIZED): S.EMPTY,
    (S.EMPTY, Event.ENLISTED): S.ONGOING,
    # An abort that has nothing to abort raises the epoch, in the second protocol only.
    (S.EMPTY, Event.ABORTED): S.PREPARE_ABORT,
    (S.ONGOING, Event.ENLISTED): S.ONGOING,
    (S.ONGOING, Event.COMMITTED): S.PREPARE_COMMIT,
    (S.ONGOING, Event.ABORTED): S.PREPARE_ABORT,
    (S.PREPARE_COMMIT, Event.MARKED): S.COMPLETE_COMMIT,
    (S.PREPARE_ABORT, Event.MARKED): S.COMPLETE_ABORT,
    (S.COMPLETE_COMMIT, Event.INITIALIZED): S.EMPTY,
    (S.COMPLETE_COMMIT, Event.ENLISTED): S.ONGOING,
    (S.COMPLETE_COMMIT, Event.ABORTED): S.PREPARE_ABORT,
    (S.COMPLETE_ABORT, Event.INITIALIZED): S.EMPTY,
    (S.COMPLETE_ABORT, Event.ENLISTED): S.ONGOING,
    (S.COMPLETE_ABORT, Event.ABORTED): S.PREPARE_ABORT,
}
"""The state after each event. A pair that is missing cannot happen; a KeyError is our own bug."""


class Request(Enum):
    """A request whose producer id and epoch fit; the value describes it."""

    INIT = "InitProducerId"
    ENLIST = "add a partition"
    COMMIT = "commit (TV1)"
    ABORT = "abort (TV1)"
    COMMIT_2 = "commit (TV2)"
    ABORT_2 = "abort (TV2)"
    COMMIT_2_AGAIN = "commit (TV2), epoch before"
    ABORT_2_AGAIN = "abort (TV2), epoch before"


class Action(Enum):
    """The outcome of a request, if it is not an error; the value describes it."""

    ACCEPT = "done"
    FENCE = "aborts, then CONCURRENT_TRANSACTIONS"
    WAIT = "waits for the markers"
    TELL = "the same answer again"


_BUSY, _STATE, _FENCED = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
)

ANSWERS: Final[Mapping[TransactionState, Mapping[Request, Action | ErrorCode]]] = {
    S.EMPTY: {
        Request.INIT: Action.ACCEPT,
        Request.ENLIST: Action.ACCEPT,
        Request.COMMIT: _STATE,
        Request.ABORT: _STATE,
        Request.COMMIT_2: _STATE,
        Request.ABORT_2: Action.ACCEPT,
        Request.COMMIT_2_AGAIN: _FENCED,
        Request.ABORT_2_AGAIN: _FENCED,
    },
    S.ONGOING: {
        Request.INIT: Action.FENCE,
        Request.ENLIST: Action.ACCEPT,
        Request.COMMIT: Action.ACCEPT,
        Request.ABORT: Action.ACCEPT,
        Request.COMMIT_2: Action.ACCEPT,
        Request.ABORT_2: Action.ACCEPT,
        Request.COMMIT_2_AGAIN: _FENCED,
        Request.ABORT_2_AGAIN: _FENCED,
    },
    S.PREPARE_COMMIT: {
        Request.INIT: _BUSY,
        Request.ENLIST: Action.WAIT,
        Request.COMMIT: _BUSY,
        Request.ABORT: _STATE,
        Request.COMMIT_2: _FENCED,
        Request.ABORT_2: _FENCED,
        Request.COMMIT_2_AGAIN: _BUSY,
        Request.ABORT_2_AGAIN: _STATE,
    },
    S.PREPARE_ABORT: {
        Request.INIT: _BUSY,
        Request.ENLIST: Action.WAIT,
        Request.COMMIT: _STATE,
        Request.ABORT: _BUSY,
        Request.COMMIT_2: _FENCED,
        Request.ABORT_2: _FENCED,
        Request.COMMIT_2_AGAIN: _STATE,
        Request.ABORT_2_AGAIN: _BUSY,
    },
    S.COMPLETE_COMMIT: {
        Request.INIT: Action.ACCEPT,
        Request.ENLIST: Action.ACCEPT,
        Request.COMMIT: Action.TELL,
        Request.ABORT: _STATE,
        Request.COMMIT_2: _STATE,
        Request.ABORT_2: Action.ACCEPT,
        Request.COMMIT_2_AGAIN: Action.TELL,
        Request.ABORT_2_AGAIN: _STATE,
    },
    S.COMPLETE_ABORT: {
        Request.INIT: Action.ACCEPT,
        Request.ENLIST: Action.ACCEPT,
        Request.COMMIT: _STATE,
        Request.ABORT: Action.TELL,
        Request.COMMIT_2: _STATE,
        Request.ABORT_2: Action.ACCEPT,
        Request.COMMIT_2_AGAIN: _STATE,
        Request.ABORT_2_AGAIN: Action.TELL,
    },
}
"""Every state that is stored, and every request."""

UNDECIDED: Final = frozenset({S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT})
"""The states of an id that cannot be forgotten."""

PREPARED: Final = frozenset({S.PREPARE_COMMIT, S.PREPARE_ABORT})
"""The states in which markers are being written."""
