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
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from broker.catalogue.databases import described, find_database
from broker.config.config_keys import ConfigSource
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import ITEMS_PER_SLICE, Steps, at_once, begun, chunks, tallied
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
        self._to_describe: list[DatabaseResult] = []

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
        else:
            self._to_describe.append(result)
        self._count_down()

    def all_begun(self) -> None:
        """Note that no other database is to be expected."""
        self._count_down()

    def _count_down(self) -> None:
        self._left -= 1
        if not self._left:
            steps = self._describe_all()
            if len(self._broker.catalogue.by_name) <= ITEMS_PER_SLICE:
                self._call.reply(at_once(steps))
            else:
                self._broker.scheduler.begin(self._call, steps)

    def _describe_all(self) -> Steps:
        found = yield from _contents(self._broker, {result.name for result in self._to_describe})
        for result in self._to_describe:
            if result.name in self._broker.catalogue.databases:
                describe(self._broker, result, found.get(result.name) or Content())
            yield
        return KawalDatabasesResponse(databases=self._results)


class Content:
    """The topics in a database, and the views of and over it."""

    __slots__ = ("streams", "topic_count", "views")

    def __init__(self) -> None:
        self.topic_count = 0
        self.views: set[str] = set()
        self.streams: Counter[int] = Counter()
        """By vnode."""


def _contents(broker: Broker, names: set[str]) -> Generator[None, None, dict[str, Content]]:
    """Look at all topics once: there may be 200,000, and 500 databases."""
    found = {name: Content() for name in names}
    for part in chunks(tuple(broker.catalogue.by_name.values())):
        for topic in part:
            content = found.get(topic.database)
            if content is not None and topic.view is None:
                content.topic_count += 1
                _count_streams(topic, content.streams)
            elif content is not None:
                content.views.add(topic.name)
        yield
    for name, content in found.items():
        content.views.update(view.name for view in broker.catalogue.views_over_database(name))
    return found


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


def describe(broker: Broker, result: DatabaseResult, content: Content) -> None:
    """Fill in the present state of the database."""
    catalogue = broker.catalogue
    database = catalogue.databases[result.name]
    vnodes = broker.vnodes.get(database.name, [])
    result.vnodes = database.vnode_count
    result.created_ms = database.created_ms
    result.directory = database.directory
    result.topic_count = content.topic_count
    result.view_count = len(content.views)
    result.vnode_states = _states(vnodes, content.streams)
    result.size_bytes = sum(state.size_bytes for state in result.vnode_states)
    result.settings = [
        DescribedSetting(
            name=entry.key.name,
            value=entry.value or "",
            is_default=entry.source == ConfigSource.DEFAULT_CONFIG,
        )
        for entry in described(database, broker.config)
    ]


def _states(vnodes: Sequence[Vnode], streams: Mapping[int, int]) -> list[VnodeState]:
    """Return the states of a database's vnodes, as far as this node leads them."""
    return [
        VnodeState(
            name=vnode.name,
            first_version=vnode.log.first_version,
            next_version=vnode.log.next_version,
            size_bytes=vnode.log.usage()[1],
            stream_count=streams.get(vnode.index, 0),
            state=vnode.log.state.lower(),
        )
        for vnode in vnodes
    ]


def _count_streams(topic: Topic, counts: Counter[int]) -> None:
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
