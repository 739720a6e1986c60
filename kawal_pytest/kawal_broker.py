"""The object by which a test uses a broker: its address, and methods that act on it."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kawal_pytest.host import Host

POLL_SECONDS = 0.01

Bytes = bytes | str | None
"""The types of keys and values; text is encoded in UTF-8, None stays None."""


class KawalError(Exception):
    """Something that cannot be done; the text is one sentence that names it and the reason."""


class Record(NamedTuple):
    """A record as it lies in a partition; its timestamp is in milliseconds since 1970."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Fault:
    """Something that goes wrong until it is used up or healed, or the `with` block around it ends."""

    def __init__(self, broker: KawalBroker, number: int) -> None:
        self._broker = broker
        self._number = number

    @property
    def hits(self) -> int:
        """The number of requests, or commits, it has met."""
        met: int = self._broker.ask("fault_hits", number=self._number)
        return met

    def wait(self, hits: int = 1, *, within_seconds: float = 30) -> None:
        """Wait until it has met `hits` requests, or commits.  Raises: KawalError when time is up."""
        deadline = time.monotonic() + within_seconds
        while (met := self.hits) < hits:
            if time.monotonic() > deadline:
                raise KawalError(f"the fault met {met} of {hits} requests or commits in {within_seconds} s")
            time.sleep(POLL_SECONDS)

    def heal(self) -> None:
        """End the fault."""
        self._broker.ask("heal", number=self._number)

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.heal()


class Clock:
    """A broker's time.  While it is stopped nothing expires, and a fetch that finds nothing waits."""

    def __init__(self, broker: KawalBroker) -> None:
        self._broker = broker

    @property
    def now(self) -> datetime:
        """The broker's time."""
        return datetime.fromtimestamp(self._broker.status()["now_ms"] / 1000, UTC)

    @property
    def now_ms(self) -> int:
        """The time in milliseconds since 1970, as in the timestamps of records."""
        now_ms: int = self._broker.status()["now_ms"]
        return now_ms

    def stop(self) -> None:
        """Stop time, so that it passes only by `advance`."""
        self._broker.ask("stop_clock")

    def go(self) -> None:
        """Let time pass again, from where it stopped."""
        self._broker.ask("start_clock")

    def advance(self, seconds: float) -> None:
        """Move time on: whatever falls due on the way happens, in its order, before this returns."""
        self._broker.ask("advance", ms=round(seconds * 1000))


class KawalBroker:
    """A broker in memory for one test, a Kafka cluster of one node; it is running when you get it.

    Every method raises `KawalError`, one sentence, when it cannot do what it says.
    """

    def __init__(self, host: Host, name: str, port: int) -> None:
        self._host = host
        self.name = name
        """Its name in the host, such as `broker-1`."""
        self.host = "127.0.0.1"
        self.port = port
        """The port, the same after a restart."""
        self.bootstrap = f"{self.host}:{port}"
        """The address for `bootstrap.servers`."""
        self.bootstrap_servers = self.bootstrap
        """The same, under the name that Python clients give it."""
        self.clock = Clock(self)
        self.is_closed = False

    def __enter__(self) -> KawalBroker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<KawalBroker {self.name} on {self.bootstrap}>"

    def ask(self, operation: str, **arguments: Any) -> Any:
        """Have the host do something to this broker; the other methods are made of this one."""
        return self._host.ask({"do": operation, "broker": self.name, **arguments})

    # --- topics and records, without any client library ---

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> str:
        """Create a topic and return its name; `retention_ms=1000` and the like are Kafka's topic configs."""
        named = {key.replace("_", "."): str(value) for key, value in configs.items()}
        self.ask("create_topic", topic=name, partitions=partitions, configs=named)
        return name

    def create_view(self, name: str, sql: str, **configs: object) -> str:
        """Create a topic that shows what a query finds in others, and return its name (docs/views.md)."""
        return self.create_topic(name, 1, **{"kawal.sql": sql, **configs})

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self.ask("delete_topic", topic=name)

    def topics(self) -> dict[str, int]:
        """Return the number of partitions by topic."""
        found: dict[str, int] = self.ask("topics")
        return found

    def produce(
        self,
        topic: str,
        *values: Bytes,
        key: Bytes = None,
        partition: int = 0,
        timestamp_ms: int | None = None,
        headers: Mapping[str, Bytes] | Sequence[tuple[str, Bytes]] = (),
    ) -> list[int]:
        """Append a record for each value to one partition of a topic that exists; return their offsets."""
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        common = {
            "key": _sent(key),
            "timestamp_ms": timestamp_ms,
            "headers": [(name, _sent(value)) for name, value in pairs],
        }
        records = [{"value": _sent(value), **common} for value in values]
        offsets: list[int] = self.ask("produce", topic=topic, partition=partition, records=records)
        return offsets

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """Return the records of a topic, or of one partition, partition by partition in order of offsets."""
        return [
            Record(
                record["partition"],
                record["offset"],
                record["timestamp_ms"],
                _received(record["key"]),
                _received(record["value"]),
                tuple((name, _received(value)) for name, value in record["headers"]),
            )
            for record in self.ask("records", topic=topic, partition=partition)
        ]

    def values(self, topic: str, partition: int | None = None) -> list[bytes | None]:
        """Return only the values of a topic's records."""
        return [record.value for record in self.records(topic, partition)]

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets a consumer group has committed, by topic and partition."""
        return {(topic, index): offset for topic, index, offset in self.ask("committed", group=group)}

    # --- its lifetime ---

    def restart(self) -> None:
        """Stop cleanly and start again with the same data on the same port."""
        self.ask("restart")

    def stop(self) -> None:
        """Stop cleanly, as after SIGTERM; clients are refused until `start`."""
        self.ask("stop")

    def start(self) -> None:
        """Start again after `stop` or `kill`."""
        self.ask("start")

    def kill(self, *, power_cut: bool = False) -> None:
        """End it at once, as SIGKILL does; a power cut also loses what was not synced to the disk."""
        self.ask("kill", power_cut=power_cut)

    def pause(self) -> None:
        """Serve no client until `resume`: connections stay open, and nothing is answered."""
        self.ask("pause")

    def resume(self) -> None:
        """Serve again."""
        self.ask("resume")

    def disconnect(self) -> int:
        """Close every client's connection; return how many there were."""
        closed: int = self.ask("disconnect")
        return closed

    def close(self) -> None:
        """End it for good; the fixtures do so when the test ends.  Closing twice is allowed."""
        if not self.is_closed:
            self.is_closed = True
            self.ask("close")

    # --- what goes wrong ---

    def fail_produce(
        self,
        error: str = "NOT_ENOUGH_REPLICAS",
        *,
        topic: str | None = None,
        partition: int | None = None,
        times: int | None = 1,
    ) -> Fault:
        """Answer the next produce requests (None: all) with an error of Kafka's; nothing is stored.

        Other partitions than those named are stored as usual.
        """
        return self._fault("fail_produce", error=error, topic=topic, partition=partition, times=times)

    def fail_sync(self, *, times: int | None = 1) -> Fault:
        """Let the sync of the next commits to the disk fail: records are lost, and producers are told so."""
        return self._fault("fail_sync", times=times)

    def lose_answer(self, api: str = "Produce", *, times: int | None = 1) -> Fault:
        """Carry out the next requests, but close the connection instead of answering.

        The client must ask again, and an idempotent producer's records must be there once.
        """
        return self._fault("lose_answer", api=api, times=times)

    def drop(self, api: str = "Produce", *, times: int | None = 1) -> Fault:
        """Close the connection when the next requests of this kind arrive, without carrying them out."""
        return self._fault("drop", api=api, times=times)

    def slow(self, seconds: float, *, api: str | None = None, times: int | None = None) -> Fault:
        """Delay answers by `seconds` of the broker's time, to requests of one kind with `api`, as "Fetch"."""
        return self._fault("slow", api=api, times=times, delay_ms=round(seconds * 1000))

    def slow_disk(self, seconds: float, *, times: int | None = None) -> Fault:
        """Delay commits by `seconds` of the broker's time; acknowledgements wait for them."""
        return self._fault("slow_disk", times=times, delay_ms=round(seconds * 1000))

    def heal(self) -> None:
        """End every fault."""
        self.ask("heal")

    def _fault(self, kind: str, **arguments: Any) -> Fault:
        return Fault(self, self.ask("add_fault", kind=kind, **arguments))

    # --- what it has seen ---

    def requests(self, api: str) -> int:
        """Return how many requests of this kind, such as "Produce", clients have sent since it was started.

        The calls of this object's methods do not count.
        """
        found: dict[str, int] = self.status()["requests"]
        wanted = api.replace("_", "").lower()
        return sum(count for name, count in found.items() if name.replace("_", "") == wanted)

    @property
    def connections(self) -> int:
        """The number of open client connections."""
        count: int = self.status()["connections"]
        return count

    @property
    def is_running(self) -> bool:
        """Whether it is running: False between `stop` or `kill` and `start`."""
        running: bool = self.status()["running"]
        return running

    def status(self) -> dict[str, Any]:
        """Return all figures at once."""
        found: dict[str, Any] = self.ask("status")
        return found

    @property
    def log(self) -> str:
        """The last thousand lines of its log; also shown with a test that fails."""
        return "\n".join(self.ask("log"))


def _sent(data: Bytes) -> str | None:
    if data is None:
        return None
    return b64encode(data.encode() if isinstance(data, str) else data).decode()


def _received(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
