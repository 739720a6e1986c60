"""Some actors for some seconds, in a process of its own.

    python -m compat_tests.hunt.player PORT HTTP_PORT SEED SECONDS DIR PORTS WORKERS [ACTOR ...]

It prints one line of JSON at its end: requests, bytes and connections, and the acts of all actors.
What it finds is in DIR: a text, and the bytes that were sent before.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, cast

from broker.handlers import APIS, OF_NODES, Api
from compat_tests.hunt.link import Journal, Link, Lost, Sent, message_of
from compat_tests.hunt.memory_watch import Act
from compat_tests.hunt.values import Maker
from compat_tests.hunt.world import INVALID_UTF8, World
from compat_tests.hunt.wrong import without_utf8
from compat_tests.overload.figures import internal_errors, metrics_of
from protocol.api_keys import ApiKey
from protocol.errors import Unencodable
from protocol.framing import REQUEST_BYTES_MAX
from protocol.headers import encode_request_header
from protocol.messages import request_type
from protocol.messages.produce import ProduceRequest
from protocol.wire import encode

THREADS: Final = 3
PATIENCE_SECONDS: Final = 120.0
FINDINGS_MAX: Final = 3
"""Findings kept of a kind: the others are most often the same."""

PARKED: Final = frozenset({ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
"""APIs whose requests may wait as long as they say."""

PARKED_SECONDS: Final = 8.0
"""The time after which a client gives up a request that may wait."""

DECODED_BYTES_MAX: Final = 1 << 20

CLIENT_IDS: Final = (
    "hunter",
    "hunter",
    "hunter",
    "",
    None,
    "__admin_client",
    "x" * 32_750,
    INVALID_UTF8,
    "ü\n%s",
)


PLAIN_REQUEST_BYTES_MAX: Final = 16 << 20
"""The default of kawal.request.max.bytes: a larger request that is no Produce ends its connection."""


class Findings:
    """Keeps what was found."""

    def __init__(self, directory: Path, journal: Journal) -> None:
        self._directory = directory
        self._journal = journal
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def report(self, kind: str, text: str, *, connection: int | None = None, seconds: float = 20.0) -> None:
        """Write what happened, and the bytes of the last seconds."""
        with self._lock:
            self._counts[kind] += 1
            if self._counts[kind] > FINDINGS_MAX:
                return
            path = self._directory / f"{kind}-{self._counts[kind]}"
            path.with_suffix(".txt").write_text(text + "\n")
            self._journal.save(path.with_suffix(".bin"), connection=connection, seconds=seconds)
            print(f"found {kind}: {text.splitlines()[0][:200]}", file=sys.stderr, flush=True)


class Player:
    """One thread's hands: what its actors send with."""

    def __init__(
        self,
        port: int,
        http_port: int,
        chance: Random,
        journal: Journal,
        findings: Findings,
        ends_at: float,
        other_ports: Mapping[str, int] | None = None,
        workers: int = 1,
    ) -> None:
        """`other_ports`: those of listeners with logins, by name, if there are any.

        `workers`: the number of ports from `port` on, each of another node of the cluster.
        """
        self._first_port = port
        self._workers = workers
        self.other_ports = dict(other_ports or {})
        self.http_port = http_port
        self.chance = chance
        self.world = World(chance)
        self.maker = Maker(self.world)
        self.journal = journal
        self.findings = findings
        self.ends_at = ends_at
        self.acts: list[Act] = []
        self.sent: Counter[str] = Counter()

    @property
    def port(self) -> int:
        """The port of one of the nodes, another one each time."""
        return self._first_port + (self.chance.randrange(self._workers) if self._workers > 1 else 0)

    def link(self, port: int | None = None) -> Link:
        """Return a new connection."""
        return Link(self.port if port is None else port, self.journal)

    def any_api(self) -> tuple[Api, int]:
        """Return an API, the more often served ones no more often than the others, in one of its versions."""
        api = self.chance.choice(list(APIS.values()))
        return api, self.chance.randint(api.minimum, api.maximum)

    def make(self, api: Api, version: int, *, large: float = 0.0, elements: int = 300) -> Sent:
        """Return a request made up from its declaration."""
        for _ in range(20):
            message = self.maker.message(request_type(api.key), version, large=large, elements=elements)
            try:
                return self.request(message, version)
            except Unencodable:
                continue
        raise AssertionError(f"nothing made up for {api.name} v{version} can be written")

    def request(self, message: Any, version: int, client_id: str | None = "") -> Sent:
        """Return a message as a request, from a client of some name."""
        from protocol.schema import declaration

        api = declaration(type(message)).api
        assert api is not None
        body = b"".join(cast("list[bytes]", encode(message, version)))
        correlation_id = self.chance.randrange(2**31)
        name = self.chance.choice(CLIENT_IDS) if client_id == "" else client_id
        header = encode_request_header(
            api_key=api, api_version=version, correlation_id=correlation_id, client_id=name
        )
        frame = without_utf8(header + body, self.chance)
        limit = REQUEST_BYTES_MAX if isinstance(message, ProduceRequest) else PLAIN_REQUEST_BYTES_MAX
        # What is for nodes alone ends a client's connection, as in Kafka.
        sound = INVALID_UTF8.encode() not in body and len(frame) <= limit and api not in OF_NODES
        self.sent[APIS[api].name] += 1
        answered = not (isinstance(message, ProduceRequest) and message.acks == 0)
        data = len(frame).to_bytes(4, "big") + frame
        return Sent(data, int(api), version, correlation_id, answered, sound)

    def ask(self, link: Link, *requests: Sent, within_seconds: float = PATIENCE_SECONDS) -> list[Any]:
        """Return the answers to requests that a client may send; those that cannot be read are findings.

        Raises: Lost, after the finding has been reported if there is one.
        """
        if any(sent.api in PARKED for sent in requests):
            within_seconds = min(within_seconds, PARKED_SECONDS)
        try:
            found = link.exchange(requests, within_seconds=within_seconds)
        except Lost as lost:
            self._judge(lost, link)
            raise
        return [self._message(link, sent, frame) for sent, frame in found]

    def _judge(self, lost: Lost, link: Link) -> None:
        """Report a connection that was closed, or not answered, without need."""
        if any(not sent.sound for sent in lost.unanswered):
            return
        if lost.timed_out and any(sent.api in PARKED for sent in lost.unanswered):
            return
        kind = "unanswered" if lost.timed_out else "closed"
        self.findings.report(kind, f"connection {link.number}: {lost}", connection=link.number, seconds=300)

    def _message(self, link: Link, sent: Sent, frame: bytes) -> Any:
        if len(frame) > DECODED_BYTES_MAX:
            return None
        try:
            return message_of(sent, frame)
        except Exception:  # noqa: BLE001  (whatever is wrong with the answer is a finding)
            text = f"the answer to api {sent.api} v{sent.version} cannot be read\n{traceback.format_exc()}"
            self.findings.report("answer", text, connection=link.number)
            return None


def play(player: Player, names: list[str], weights: list[int]) -> None:
    """Take turns until the time is up or the server has ended."""
    from compat_tests.hunt.actors import ACTORS

    while time.monotonic() < player.ends_at:
        (name,) = player.chance.choices(names, weights)
        began = time.monotonic()
        try:
            ACTORS[name].act(player)
        except Lost:
            continue
        except ConnectionRefusedError:
            return
        except OSError:
            time.sleep(0.05)
        finally:
            player.acts.append(Act(began, time.monotonic(), name))


def watch(http_port: int, findings: Findings, ends_at: float) -> None:
    """Look at the server's own count of its faults, every second."""
    known: dict[str, int] = {}
    while time.monotonic() < ends_at:
        try:
            found = internal_errors(metrics_of(http_port))
        except OSError:
            time.sleep(0.5)
            continue
        if found != known:
            findings.report("internal-error", f"the server met faults of its own: {found}", seconds=10)
            known = found
        time.sleep(1)


def main() -> None:
    """Play with several hands, and say what was done."""
    port, http_port, seed, seconds, directory, other_ports, workers, *wanted = sys.argv[1:]
    from compat_tests.hunt.actors import ACTORS

    names = [name for name in ACTORS if not wanted or name in wanted]
    weights = [ACTORS[name].weight for name in names]
    journal = Journal()
    findings = Findings(Path(directory), journal)
    ends_at = time.monotonic() + float(seconds)
    players = [
        Player(
            int(port),
            int(http_port),
            Random(f"{seed} {number}"),
            journal,
            findings,
            ends_at,
            json.loads(other_ports),
            int(workers),
        )
        for number in range(THREADS)
    ]
    threads = [threading.Thread(target=play, args=(player, names, weights)) for player in players]
    threads.append(threading.Thread(target=watch, args=(int(http_port), findings, ends_at)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = {
        "requests": journal.requests,
        "bytes": journal.bytes,
        "connections": journal.connections,
        "acts": [act for player in players for act in player.acts],
        "sent": dict(sum((player.sent for player in players), Counter())),
    }
    # The bytes before an end that only the server's log explains.
    journal.save(Path(directory) / "last.bin", seconds=15)
    print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
