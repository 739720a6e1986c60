"""ListTransactions: v0-2.

Behaviour: the transactional ids that all filters let through; names of states that do not exist are told.
Differences from Apache Kafka: none known.
Version notes: v1 duration (KIP-994); v2 pattern (KIP-1152), by the engine and syntax that Kafka uses (RE2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.transactions import Transactions as Transactions
from broker.loop.call import Call
from broker.loop.slices import Steps, WaitingSteps, in_thread
from broker.security.authorized_operations import Operation
from groups.errors import InvalidRegularExpression
from groups.regexes import compiled
from groups.transactions.show import Filter, states_of
from protocol.error_codes import ErrorCode
from protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[ListTransactionsRequest]) -> WaitingSteps:
    """List what the filters let through."""
    request = call.request
    pattern = request.transactional_id_pattern
    matches: Callable[[str], bool] | None = None
    try:
        if pattern:
            # The first one imports what compiles it, which takes 10 ms.
            matches = yield from in_thread(broker.scheduler.offload, lambda: _matcher(pattern))
    except InvalidRegularExpression as error:
        return _refused(error.code)
    states, unknown = states_of(request.state_filters)
    wanted = Filter(states, frozenset(request.producer_id_filters), request.duration_filter, matches)
    return (yield from _list(broker, call, wanted, unknown))


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that tells whether a name matches as a whole.  Raises: InvalidRegularExpression."""
    expression = compiled(pattern)
    return lambda name: expression.fullmatch(name) is not None


def _refused(code: ErrorCode) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=code, unknown_state_filters=[], transaction_states=[])


def _list(broker: Broker, call: Call[ListTransactionsRequest], wanted: Filter, unknown: list[str]) -> Steps:
    now_ms, rights = call.received_ms, call.rights
    with broker.transactions.step(now_ms) as machine:
        if machine.is_loading:
            return _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        listing = machine.listed(wanted, now_ms)
    found: list[TransactionState] = []
    for known in listing:
        if known is None:
            yield
            continue
        if rights is not None and not rights.may_transactional_id(Operation.DESCRIBE, known.transactional_id):
            continue
        found.append(
            TransactionState(
                transactional_id=known.transactional_id,
                producer_id=known.producer_id,
                transaction_state=known.state.shown,
            )
        )
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=found)
