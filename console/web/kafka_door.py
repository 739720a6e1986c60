"""The door to the brokers: all requests of the console leave here.

    answer = await visit.kafka.send(MetadataRequest(topics=None), 12)
    topics = await visit.kafka.run(all_topics, visit.kafka.bootstrap)

`run` runs synchronous code in a thread, under rules (console/outgoing.py) that belong to one page:
connections are those of the person who is logged in, kept and made again; requests that change something do
not leave a console that is read-only; and when the browser leaves, its connections are closed and the work
ends.  So all helpers of `console` that send by `console.admin.ask`, `console.wire.ask` or
`console.fetcher.connect` can be used as they are.  kafka-python's clients cannot: their sockets pass no
rules, and opening one fails.

At most THREADS pieces of work run at once; others wait for their turn, within the time of their page.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

import trio

from console.exchange import api_of
from console.link import Link, LinkLost
from console.outgoing import NotAllowed, under
from console.security import PLAIN, Security
from console.web.read_only import changes_nothing
from console.web.search_bounds import Bounds
from console.web.search_job import Job, Way
from console.wire import ask as ask_server
from console.wire import not_kawal
from protocol.api_keys import PRIVATE_FROM, ApiKey

THREADS: Final = 8
STREAMS_MAX: Final = 16
"""Streams at once, for all who use the console."""
KEPT_MAX: Final = 4
"""Connections to one broker that are kept for one identity."""
CLIENT_ID: Final = "kawal-console"

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Connect = Callable[[str], Link]
RunJob = Callable[[Job], Any]


def at_once(job: Job) -> Any:
    """Do a job in this thread."""
    return job.work(*job.args, job.bounds)


def connect(address: str) -> Link:
    """Connect to a broker.  Raises: LinkLost; CommandError when the login is refused."""
    return Link(address, CLIENT_ID)


class KafkaDoor:
    """The way to one cluster for all who use the console."""

    def __init__(
        self,
        bootstrap: str,
        *,
        read_only: bool = False,
        alone: bool = False,
        connect: Connect = connect,
        search: RunJob = at_once,
    ) -> None:
        """Make a door.

        `alone`: the broker is one node, reached at `bootstrap` whatever it calls itself; `search` does the
        jobs that take a processor for seconds.
        """
        self.bootstrap = bootstrap
        self.read_only = read_only
        self.alone = alone
        self.connect = connect
        self.search = search
        self.threads = trio.CapacityLimiter(THREADS)
        self.streams = trio.CapacityLimiter(STREAMS_MAX)

    def enter(self, security: Security = PLAIN) -> Kafka:
        """Return the way for one identity, with connections of its own."""
        return Kafka(self, security)


class Kafka:
    """The way to the brokers for one identity."""

    def __init__(self, door: KafkaDoor, security: Security) -> None:
        self._door = door
        self.security = security
        self._kept: defaultdict[str, list[Link]] = defaultdict(list)
        self._lock = threading.Lock()
        self._closed = False

    @property
    def bootstrap(self) -> str:
        """The address that helpers are given."""
        return self._door.bootstrap

    @property
    def is_beside(self) -> bool:
        """Whether the broker is the gateway that has started this process, on the same machine."""
        return self._door.alone

    async def send(self, request: Any, version: int, broker: str | None = None) -> Any:
        """Send a request to a broker (None: the first that is reached) and return its answer.

        Raises: CommandError: LinkLost when no broker is reached, NotAllowed for a change while read-only.
        """
        return await self.run(ask_server, broker or self.bootstrap, request, version)

    async def run(
        self, work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Run synchronous work in a thread, under the rules of this page, and return its result.

        Raises: whatever the work raises; CommandError for what has a sentence.
        """
        return await self._in_thread(self._door.threads, partial(work, *args, **kwargs))

    async def search(self, work: Callable[..., Result], *args: Any, bounds: Bounds) -> Result:
        """Run work that may take a processor for seconds, where no page waits for it.

        It is called as `work(*args, bounds)`; it and all of these must be such that pickle can send them.
        Raises: as `run`.
        """
        door = self._door
        way = Way(door.bootstrap, self.security, door.read_only, door.alone)
        found: Result = await self.run(door.search, Job(work, args, bounds, way))
        return found

    async def follow(
        self, work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Run work as `run` does that lasts as long as a stream: it takes no thread from the pages."""
        return await self._in_thread(self._door.streams, partial(work, *args, **kwargs))

    async def _in_thread(self, limiter: trio.CapacityLimiter, work: Callable[[], Result]) -> Result:
        rules = PageRules(self, self._door)

        def inside() -> Result:
            with under(rules):
                try:
                    return work()
                finally:
                    rules.end()

        try:
            return await trio.to_thread.run_sync(inside, abandon_on_cancel=True, limiter=limiter)
        except trio.Cancelled:
            rules.abandon()
            raise

    def close(self) -> None:
        """Close what is kept, as the identity is no longer used."""
        with self._lock:
            self._closed = True
            links = [link for links in self._kept.values() for link in links]
            self._kept.clear()
        for link in links:
            link.close()

    def take(self, address: str) -> Link | None:
        """Take a connection that was kept."""
        with self._lock:
            links = self._kept.get(address)
            return links.pop() if links else None

    def keep(self, address: str, link: Link) -> None:
        """Keep a connection on which no answer is awaited."""
        with self._lock:
            if not self._closed and not link.in_flight and len(self._kept[address]) < KEPT_MAX:
                self._kept[address].append(link)
                return
        link.close()


class PageRules:
    """The rules for the work of one page."""

    def __init__(self, kafka: Kafka, door: KafkaDoor) -> None:
        self._kafka = kafka
        self._door = door
        self._in_use: set[Link] = set()
        self._abandoned = False

    @property
    def security(self) -> Security:
        """The security of its connections."""
        return self._kafka.security

    def check(self, api: ApiKey, request: Any) -> None:
        """Raise NotAllowed for a change while the console is read-only, and for anything once it is left."""
        if self._abandoned:
            raise NotAllowed("the page for which this was asked has been left")
        if self._door.read_only and not changes_nothing(api, request):
            name = api.name.lower().replace("_", " ")
            raise NotAllowed(f"the console is read-only: a request '{name}' may change something")

    def connect(self, address: str) -> Link:
        """Make a connection to a broker that names this address.  Raises: CommandError."""
        if self._abandoned:
            raise NotAllowed("the page for which this was asked has been left")
        link = self._door.connect(self._door.bootstrap if self._door.alone else address)
        self._in_use.add(link)
        self._abort_if_left(link)
        return link

    def ask(self, bootstrap: str, request: Any, version: int) -> Any:
        """Send a request to the first of these addresses that is reached, and return its answer.

        A connection that was kept may have ended since: what only shows is then asked once more.
        Raises: CommandError.
        """
        addresses = bootstrap.split(",")
        for address in addresses[:-1]:
            try:
                return self._ask_at(address, request, version)
            except Unreachable:
                continue
        return self._ask_at(addresses[-1], request, version)

    def end(self) -> None:
        """Close what the work has left open."""
        for link in self._in_use:
            link.close()
        self._in_use.clear()

    def abandon(self) -> None:
        """Let the work end soon: the browser has left.  Called by another thread."""
        self._abandoned = True
        for link in list(self._in_use):
            link.abort()

    def _abort_if_left(self, link: Link) -> None:
        """End a connection that was made while the browser left."""
        if self._abandoned:
            link.abort()

    def _ask_at(self, address: str, request: Any, version: int) -> Any:
        # A change is never sent twice, so it gets a connection that is new.
        kept = self._kafka.take(address) if changes_nothing(api_of(request), request) else None
        if kept is not None:
            self._in_use.add(kept)
            try:
                return self._call(address, kept, request, version)
            except LinkLost:
                if self._abandoned:
                    raise
        try:
            link = self.connect(address)
        except LinkLost as error:
            raise Unreachable(str(error)) from error
        try:
            return self._call(address, link, request, version)
        except LinkLost as error:
            if api_of(request) >= PRIVATE_FROM and isinstance(error.__cause__, ConnectionError):
                raise not_kawal(address, request) from error
            raise

    def _call(self, address: str, link: Link, request: Any, version: int) -> Any:
        try:
            answer = link.call(request, version)
        except BaseException:
            self._in_use.discard(link)
            link.close()
            raise
        self._in_use.discard(link)
        self._kafka.keep(address, link)
        return answer


class Unreachable(LinkLost):
    """A broker to which no connection could be made."""
