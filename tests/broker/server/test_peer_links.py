"""Requests to other workers: one answer or None, a connection kept while it is good, nothing sent twice."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from broker.server.peer_links import ANSWER_SECONDS, LinkBroken, PeerLinks, UnixWire, answer_in, request_frame
from protocol.headers import decode_request_header, encode_response_header
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.wire import encode, joined

REQUEST = FindCoordinatorRequest(key="g")
VERSION = 1


def answer_frame(correlation_id: int, node_id: int = 3, version: int = VERSION) -> bytes:
    answer = FindCoordinatorResponse(node_id=node_id, host="h", port=2)
    body = encode_response_header(10, version, correlation_id) + joined(encode(answer, version))
    return len(body).to_bytes(4, "big") + body


class FakeWorker:
    """A worker that answers by a script: bytes, b"" for an end, or an error, for each request."""

    def __init__(self, *script: bytes | OSError) -> None:
        self.script = list(script)
        self.received: list[bytes] = []
        self.addresses: list[str] = []
        self.sockets: list[FakeSocket] = []
        self.has_ended = False

    def __call__(self, family: int, kind: int) -> FakeSocket:
        assert family == socket.AF_UNIX
        self.sockets.append(FakeSocket(self))
        return self.sockets[-1]


class FakeSocket:
    """A connection to that worker."""

    def __init__(self, worker: FakeWorker) -> None:
        self.worker = worker
        self.incoming = bytearray()
        self.closed = False

    def settimeout(self, seconds: float) -> None:
        assert seconds >= 0

    def connect(self, address: str) -> None:
        self.worker.has_ended = False
        self.worker.addresses.append(address)

    def sendall(self, data: bytes) -> None:
        self.worker.received.append(data)
        head = self.worker.script.pop(0)
        if isinstance(head, OSError):
            raise head
        self.incoming += head

    def recv(self, size: int) -> bytes:
        if self.worker.has_ended:
            return b""
        raise BlockingIOError

    def recv_into(self, buffer: memoryview) -> int:
        count = min(len(buffer), len(self.incoming), 5)
        buffer[:count] = self.incoming[:count]
        del self.incoming[:count]
        return count

    def close(self) -> None:
        self.closed = True


class Links:
    """Links whose threads work at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, worker: FakeWorker) -> None:
        monkeypatch.setattr("broker.server.peer_links.socket.socket", worker)
        self.answers: list[Any] = []
        self.links = PeerLinks("kawal-worker-1", lambda _node: UnixWire("/two"), self._submit)

    def _submit(
        self, node_id: int, work: Callable[[], object], done: Callable[[Exception | None], None]
    ) -> None:
        assert node_id == 2
        error: Exception | None = None
        try:
            work()
        except Exception as failure:  # noqa: BLE001
            error = failure
        done(error)

    def call(self) -> Any:
        self.links.call(2, REQUEST, VERSION, self.answers.append)
        return self.answers.pop()


def test_a_request_has_an_ordinary_header() -> None:
    frame = memoryview(request_frame(REQUEST, VERSION, 8, "kawal-worker-1"))
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header = decode_request_header(frame[4:])
    assert (header.api_key, header.api_version, header.correlation_id) == (10, VERSION, 8)
    assert header.client_id == "kawal-worker-1"


def test_answers_come_on_one_connection_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = FakeWorker(answer_frame(1, 5), answer_frame(2, 6))
    links = Links(monkeypatch, worker)
    assert [links.call().node_id, links.call().node_id] == [5, 6]
    assert worker.addresses == ["/two"]


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        answer_frame(1)[:-1],
        answer_frame(9),
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x02ab",
        BrokenPipeError(),
        TimeoutError(),
    ],
)
def test_whatever_goes_wrong_is_none_and_nothing_is_sent_twice(
    monkeypatch: pytest.MonkeyPatch, bad: bytes | OSError
) -> None:
    worker = FakeWorker(bad, answer_frame(2))
    links = Links(monkeypatch, worker)
    assert links.call() is None
    assert len(worker.received) == 1
    assert worker.sockets[0].closed
    assert links.call().node_id == 3
    assert len(worker.addresses) == 2
    assert links.links.counts.of(2) == (2, 1)


def test_a_worker_that_has_started_again_is_asked_on_a_new_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = FakeWorker(answer_frame(1), answer_frame(2))
    links = Links(monkeypatch, worker)
    assert links.call() is not None
    worker.has_ended = True
    assert links.call() is not None
    assert len(worker.addresses) == 2


def test_the_time_in_the_queue_of_threads_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("broker.server.peer_links.time.monotonic", lambda: now[0])
    monkeypatch.setattr("broker.server.peer_links.socket.socket", FakeWorker())
    queued: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
    answers: list[Any] = []
    links = PeerLinks(
        "kawal-worker-1", lambda _id: UnixWire("/two"), lambda _node, work, done: queued.append((work, done))
    )
    links.call(2, REQUEST, VERSION, answers.append)
    now[0] = ANSWER_SECONDS
    (work, done) = queued.pop()
    with pytest.raises(TimeoutError) as failure:
        work()
    done(failure.value)
    assert answers == [None]


def test_before_the_loop_a_worker_is_asked_until_it_answers_or_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr("broker.server.peer_links.time.monotonic", lambda: now[0])
    monkeypatch.setattr("broker.server.peer_links.time.sleep", sleep)
    links = Links(monkeypatch, FakeWorker(b"", ConnectionResetError(), answer_frame(3)))
    assert links.links.ask(2, REQUEST, VERSION) is not None
    links = Links(monkeypatch, FakeWorker(*[b""] * 100))
    assert links.links.ask(2, REQUEST, VERSION, within_seconds=1) is None
    assert now[0] < 2


def test_an_answer_that_cannot_be_read_is_a_broken_link() -> None:
    with pytest.raises(LinkBroken, match="cannot be read"):
        answer_in(memoryview(answer_frame(1)[4:-1]), REQUEST, VERSION, 1)
