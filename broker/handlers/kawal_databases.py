"""KawalDatabases: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: describes, creates, alters, splits or drops databases, each on its own.  The answer leaves when the
changes are durable; a new database, or vnode, can be used from then on.  A name given twice answers
INVALID_REQUEST once.
Differences from Apache Kafka: Kafka has no such API, and closes the connection.
Version notes: none.
"""

from __future__ import annotations

# What the first error that suggests a name needs, which took 5 ms of the loop.
import difflib as difflib
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from broker.catalogue.databases import described, find_database
from broker.config.config_keys import ConfigSource
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Steps, begun, tallied
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_databases import (
    DatabaseAction,
    DatabaseItem,
    DatabaseResult,
    DescribedSetting,
    KawalDatabasesRequest,
    KawalDatabasesResponse,
    VnodeState,
)

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.core import Broker
    from broker.storage.vnode import Vnode


class Answer:
    """The answer in progress: some databases have to wait for the catalogue's log and the disk."""

    def __init__(self, broker: Broker, call: Call[KawalDatabasesRequest]) -> None:
        self._broker = broker
        self._call = call
        # One for those that are still to begin.
        self._left = 1
        self._results: list[DatabaseResult] = []

    def expect(self, name: str) -> DatabaseResult:
        """Return the result of the next database, for which `done` will be called."""
        result = DatabaseResult(name=name, settings=[])
        self._results.append(result)
        self._left += 1
        return result

    def done(self, result: DatabaseResult, refusal: RequestError | None) -> None:
        """Record the outcome for one database; answer after the last one."""
        if refusal is not None:
            result.error_code, result.error_message = refusal.code, refusal.message
        elif result.name in self._broker.catalogue.databases:
            describe(self._broker, result)
        self._count_down()

    def all_begun(self) -> None:
        """Note that no other database is to be expected."""
        self._count_down()

    def _count_down(self) -> None:
        self._left -= 1
        if not self._left:
            self._call.reply(KawalDatabasesResponse(databases=self._results))


def handle(broker: Broker, call: Call[KawalDatabasesRequest]) -> KawalDatabasesResponse | Parked | Steps:
    """Perform the requested action on every database that is named."""
    answer: KawalDatabasesResponse | Parked | Steps = begun(_perform(broker, call))
    return answer


def _perform(broker: Broker, call: Call[KawalDatabasesRequest]) -> Steps:
    request = call.request
    items = request.databases
    if items is None:
        names = sorted(database.name for database in broker.catalogue.databases.values() if database.recorded)
        # Only for DESCRIBE: every other action has to name its databases.
        items = [DatabaseItem(name=name, settings=[]) for name in names]
    times = yield from tallied(item.name for item in items)
    if not times:
        return KawalDatabasesResponse(databases=[])
    by_name = dict(zip(map(attrgetter("name"), items), items, strict=True))
    answer = Answer(broker, call)
    for name in times:
        result = answer.expect(name)
        try:
            if times[name] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate database name.")
            if request.databases is None and request.action != DatabaseAction.DESCRIBE:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Name the databases.")
            _begin(broker, call, by_name[name], result, answer)
        except RequestError as refusal:
            # The cause of the refusal may not be durable yet, and may be lost.
            broker.metadata_log.when_durable(_refused(answer, result, refusal), call.received_ms)
        yield
    answer.all_begun()
    return PARKED


def _begin(
    broker: Broker,
    call: Call[KawalDatabasesRequest],
    item: DatabaseItem,
    result: DatabaseResult,
    answer: Answer,
) -> None:
    now_ms, validate_only = call.received_ms, call.request.validate_only
    settings = {setting.name: setting.value for setting in item.settings}
    if len(settings) != len(item.settings):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"A setting of {item.name!r} is given twice.")
    match call.request.action:
        case DatabaseAction.DESCRIBE:
            find_database(item.name, broker.catalogue.databases)
            answer.done(result, None)
            return
        case DatabaseAction.CREATE:
            done = _done(answer, result)
            if broker.databases.create(item.name, settings, now_ms, done, validate_only=validate_only):
                return
        case DatabaseAction.ALTER:
            broker.databases.alter(item.name, settings, now_ms, validate_only=validate_only)
        case DatabaseAction.SPLIT:
            done = _done(answer, result)
            if broker.databases.split(item.name, now_ms, done, validate_only=validate_only):
                return
        case DatabaseAction.DROP:
            broker.databases.drop(item.name, now_ms, validate_only=validate_only)
        case unknown:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"There is no action {unknown}.")
    broker.metadata_log.when_durable(_recorded(answer, result), now_ms)


def _done(answer: Answer, result: DatabaseResult) -> Callable[[RequestError | None], None]:
    return lambda refusal: answer.done(result, refusal)


def _refused(
    answer: Answer, result: DatabaseResult, refusal: RequestError
) -> Callable[[ErrorCode | None], None]:
    def recorded(error: ErrorCode | None) -> None:
        answer.done(result, refusal if error is None else RequestError(error, "try again"))

    return recorded


def _recorded(answer: Answer, result: DatabaseResult) -> Callable[[ErrorCode | None], None]:
    def recorded(error: ErrorCode | None) -> None:
        answer.done(result, None if error is None else RequestError(error, "the change was lost; try again"))

    return recorded


def describe(broker: Broker, result: DatabaseResult) -> None:
    """Fill in the present state of the database."""
    catalogue = broker.catalogue
    database = catalogue.databases[result.name]
    vnodes = broker.vnodes.get(database.name, [])
    result.vnodes = database.vnode_count
    result.created_ms = database.created_ms
    result.directory = database.directory
    views = catalogue.views_over_database(database.name)
    inside = [topic for topic in catalogue.by_name.values() if topic.database == database.name]
    stored = [topic for topic in inside if topic.view is None]
    result.topic_count = len(stored)
    result.view_count = len({*inside, *views}) - len(stored)
    result.vnode_states = _states(vnodes, database.vnode_count, stored)
    result.size_bytes = sum(state.size_bytes for state in result.vnode_states)
    result.settings = [
        DescribedSetting(
            name=entry.key.name,
            value=entry.value or "",
            is_default=entry.source == ConfigSource.DEFAULT_CONFIG,
        )
        for entry in described(database, broker.config)
    ]


def _states(vnodes: Sequence[Vnode], count: int, topics: Iterable[Topic]) -> list[VnodeState]:
    """Return the states of a database's vnodes, as far as this node leads them; `count`: of all."""
    counts = [0] * count
    for topic in topics:
        _count_streams(topic, counts)
    return [
        VnodeState(
            name=vnode.name,
            first_version=vnode.log.first_version,
            next_version=vnode.log.next_version,
            size_bytes=vnode.log.usage()[1],
            stream_count=counts[vnode.index],
            state=vnode.log.state.lower(),
        )
        for vnode in vnodes
    ]


def _count_streams(topic: Topic, counts: list[int]) -> None:
    """Count the streams of a topic: a run's partitions lie on one vnode after the other."""
    spread_end = topic.partition_count
    if topic.home is not None:
        spread_end = min(spread_end, topic.home_from)
        counts[topic.home] += topic.partition_count - spread_end
    ends = [*(first for first, _ in topic.ranges[1:]), spread_end]
    for (first, _), end, spread in zip(topic.ranges, ends, topic.spreads, strict=True):
        whole, rest = divmod(max(0, min(end, spread_end) - first), spread)
        for step in range(spread):
            counts[(topic.first_vnode + first + step) % spread] += whole + (step < rest)
