"""Client quotas at work: what a client uses is counted, and a client above its quota waits.

    Produce               counted by its size when it comes; done, answered at once, and no more is served
                          from the connection for throttle_time_ms (KIP-219)
    Fetch                 counted by its records; above the quota it is answered empty, its records are not
                          counted, and the connection waits
    every request         counted by the time that it took of the event loop, in percent of one thread
    CreateTopics, DeleteTopics, CreatePartitions
                          counted by partitions; above the quota a topic is refused with
                          THROTTLING_QUOTA_EXCEEDED, or by older versions changed, and the connection waits

A fetch is given no more than the quota allows in all windows but one.  The use of clients that have not been
heard of for longest is forgotten when there are very many.  Without any quota nothing here runs.
Source: KIP-13, KIP-124, KIP-219, KIP-599; Kafka 4.3's ClientQuotaManager, KafkaApis.processResponse of Fetch.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from broker.catalogue.quota_table import QuotaTable
from broker.connections.answer_encoding import part_size_bytes
from broker.loop.call import Call
from broker.loop.loop import Loop
from broker.loop.muting import mute
from broker.security.quota_rates import Rate, TokenBucket, Windows
from broker.security.quotas import (
    FETCH_RATE,
    MUTATION_RATE,
    PRODUCE_RATE,
    REQUEST_SHARE,
    Counted,
    levels,
)
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.fetching.fetch_sessions import FetchSessions

RATES_MAX: Final = 20_000
"""The rates that are kept, some 20 MB.  Clients that change their ids to get around a quota need one by
user."""

REFUSES_SINCE: Final = {ApiKey.CREATE_TOPICS: 6, ApiKey.DELETE_TOPICS: 5, ApiKey.CREATE_PARTITIONS: 3}
"""The APIs that change topics, and the first versions whose clients know THROTTLING_QUOTA_EXCEEDED."""

UNCOUNTED: Final = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""The APIs of clients that are not known yet."""

NAME_KEPT: Final = 128
"""The characters of a user or client id that are kept: with the 32,767 that clients may send, 20,000 rates
would take 650 MB."""

LIMITS_MAX: Final = 20_000
"""The answers remembered to which quota is in effect for a client."""

NS_PER_PERCENT: Final = 1e7
"""One percent of a second."""

PRINCIPAL_TYPE: Final = "User:"


class Limit(NamedTuple):
    """A quota in effect for a client, and whose use is counted for it."""

    value: float
    counted: Counted


class Node(Loop, Protocol):
    """The parts of the broker that quotas need."""

    fetch_sessions: FetchSessions


def client_of(call: Call[Any]) -> tuple[str, str]:
    """Return a call's user and client id, as quotas have them."""
    return call.connection.principal.removeprefix(PRINCIPAL_TYPE), call.client_id or ""


def _short(name: str) -> str:
    """Return what stands for a name in the tables here: a long one is not kept, but told apart by its sum."""
    if len(name) <= NAME_KEPT:
        return name
    return f"{name[:NAME_KEPT]} {sha256(name.encode()).hexdigest()}"


class Limits:
    """The quotas that are in effect for clients, remembered until one is changed."""

    def __init__(self, table: QuotaTable) -> None:
        self._table = table
        self._known: dict[tuple[str, str, str], Limit | None] = {}
        self._changes = table.changes

    def find(self, user: str, client_id: str, key: str) -> Limit | None:
        """Return the quota of this key for a client, if it has one."""
        if self._changes != self._table.changes or len(self._known) > LIMITS_MAX:
            self._known.clear()
            self._changes = self._table.changes
        place = _short(user), _short(client_id), key
        if place not in self._known:
            self._known[place] = self._search(user, client_id, key)
        return self._known[place]

    def _search(self, user: str, client_id: str, key: str) -> Limit | None:
        for entity, counted in levels(user, client_id):
            value = self._table.of(entity).get(key)
            if value is not None:
                shortened = _short(counted[0]), _short(counted[1])
                return None if math.isinf(value) else Limit(value, shortened)
        return None


class Throttling:
    """The use that clients make of the server, and the consequences."""

    def __init__(self, table: QuotaTable, node: Node, windows: Windows, change_windows: Windows) -> None:
        """`change_windows` are those of changes of topics."""
        self._limits = Limits(table)
        self._node = node
        self._windows = windows
        self._change_windows = change_windows
        self._rates: OrderedDict[tuple[str, Counted], Rate] = OrderedDict()
        self._buckets: OrderedDict[Counted, TokenBucket] = OrderedDict()

    def meet(self, call: Call[Any]) -> None:
        """Have a request counted, now or when it is answered."""
        if call.api_key in UNCOUNTED:
            return
        user, client_id = client_of(call)
        share = self._limits.find(user, client_id, REQUEST_SHARE)
        if share is not None:
            call.amend_with(partial(self._count_time, call, share))
        match call.api_key:
            case ApiKey.PRODUCE:
                self._meet_produce(call, self._limits.find(user, client_id, PRODUCE_RATE))
            case ApiKey.FETCH | ApiKey.SHARE_FETCH:
                self._meet_fetch(call, self._limits.find(user, client_id, FETCH_RATE))
            case ApiKey.CREATE_TOPICS | ApiKey.DELETE_TOPICS | ApiKey.CREATE_PARTITIONS:
                self._meet_change(call, self._limits.find(user, client_id, MUTATION_RATE))

    # --- time and bytes --------------------------------------------------------------------------------

    def _count_time(self, call: Call[Any], share: Limit, response: Any) -> None:
        percent = _loop_ns(call) / NS_PER_PERCENT
        wait_ms = min(self._count(REQUEST_SHARE, share, percent), self._windows.length_ms)
        self._throttle(call, response, REQUEST_SHARE, wait_ms)

    def _meet_produce(self, call: Call[Any], limit: Limit | None) -> None:
        """Count a produce now: others of the connection, sent without waiting for it, wait already."""
        if limit is None:
            return
        wait_ms = self._count(PRODUCE_RATE, limit, call.size_bytes)
        if wait_ms:
            self._throttle(call, None, PRODUCE_RATE, wait_ms)
            call.amend_with(lambda response: _tell(response, wait_ms))

    def _meet_fetch(self, call: Call[Any], limit: Limit | None) -> None:
        if limit is None:
            return
        most = limit.value * max(1, self._windows.number - 1) * self._windows.length_ms / 1_000
        call.request.max_bytes = int(max(1, min(call.request.max_bytes, most)))
        call.amend_with(partial(self._count_fetch, call, limit))

    def _count_fetch(self, call: Call[Any], limit: Limit, response: Any) -> None:
        size_bytes = records_bytes(response)
        is_first = not self._rate(FETCH_RATE, limit).total(self._now_ms)
        wait_ms = self._count(FETCH_RATE, limit, size_bytes)
        if wait_ms and call.api_key == ApiKey.FETCH and not is_first:
            # Records of share groups are acquired already: they are given.  So is what a client fetches
            # first, as a batch may be larger than all that the quota allows.
            self._rate(FETCH_RATE, limit).count(-size_bytes, self._now_ms)
            self._empty(call, response)
        self._throttle(call, response, FETCH_RATE, wait_ms)

    def _empty(self, call: Call[Any], response: Any) -> None:
        """Leave out all partitions; a session that this answer was to begin is not begun."""
        response.responses = []
        if response.session_id and not call.request.session_epoch:
            self._node.fetch_sessions.cache.end(response.session_id)
            response.session_id = 0

    @property
    def _now_ms(self) -> int:
        return self._node.clock.turn_ms

    def _count(self, key: str, limit: Limit, amount: float) -> int:
        """Count what a client has used; return how long it has to wait."""
        rate = self._rate(key, limit)
        rate.count(amount, self._now_ms)
        return rate.wait_ms(limit.value, self._now_ms)

    def _rate(self, key: str, limit: Limit) -> Rate:
        place = key, limit.counted
        rate = self._rates.get(place)
        if rate is None:
            rate = self._rates[place] = Rate(self._windows)
            if len(self._rates) > RATES_MAX:
                self._rates.popitem(last=False)
        else:
            self._rates.move_to_end(place)
        return rate

    # --- changes of topics -----------------------------------------------------------------------------

    def _meet_change(self, call: Call[Any], limit: Limit | None) -> None:
        if limit is None:
            return
        refuses = call.version >= REFUSES_SINCE[ApiKey(call.api_key)]
        changes = ChangeQuota(self._bucket(limit), limit.value, self._node, refuses=refuses)
        call.changes = changes
        call.amend_with(partial(self._count_changes, call, changes))

    def _count_changes(self, call: Call[Any], changes: ChangeQuota, response: Any) -> None:
        self._throttle(call, response, MUTATION_RATE, changes.wait_ms)

    def _bucket(self, limit: Limit) -> TokenBucket:
        bucket = self._buckets.get(limit.counted)
        if bucket is None:
            bucket = TokenBucket(self._change_windows, limit.value, self._now_ms)
            self._buckets[limit.counted] = bucket
            if len(self._buckets) > RATES_MAX:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(limit.counted)
        return bucket

    # --- the consequences ------------------------------------------------------------------------------

    def _throttle(self, call: Call[Any], response: Any, key: str, wait_ms: int) -> None:
        """Tell a client to wait, and read no more from it until then."""
        if not wait_ms:
            return
        if response is not None:
            _tell(response, wait_ms)
        stats = self._node.stats
        stats.throttled[key] += 1
        stats.throttled_ms[key] += wait_ms
        mute(call.connection, self._now_ms + wait_ms, self._node.timers)


class ChangeQuota:
    """The quota on changes of topics, for one request (the ChangeQuota of a Call)."""

    def __init__(self, bucket: TokenBucket, quota: float, node: Node, *, refuses: bool) -> None:
        self._bucket = bucket
        self._quota = quota
        self._node = node
        self._refuses = refuses
        self.wait_ms = 0
        """How long the client has to wait."""

    def refuses(self, partitions: int) -> bool:
        """Count a change of so many partitions, or say that it must wait."""
        now_ms = self._node.clock.turn_ms
        wait_ms = self._bucket.wait_ms(self._quota, now_ms)
        if wait_ms and self._refuses:
            self.wait_ms = wait_ms
            return True
        self._bucket.take(partitions, self._quota, now_ms)
        if not self._refuses:
            self.wait_ms = self._bucket.wait_ms(self._quota, now_ms)
        return False


def _tell(response: Any, wait_ms: int) -> None:
    if hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = max(response.throttle_time_ms, wait_ms)


def _loop_ns(call: Call[Any]) -> int:
    """Return the time that a request has taken of the event loop up to now."""
    turns = call.connection.stats.turns
    return call.local_ns + (turns.clock_ns() - turns.mark_ns if turns.task is call else 0)


def records_bytes(response: Any) -> int:
    """Return the size of the records in the answer to a fetch."""
    return sum(
        part_size_bytes(partition.records)
        for topic in response.responses
        for partition in topic.partitions
        if partition.records is not None
    )
