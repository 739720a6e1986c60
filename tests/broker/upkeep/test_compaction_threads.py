"""Compaction's work in threads: imports, then the pass, while topics come and go."""

from __future__ import annotations

from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.compacted import fill, made, pass_time, put
from tests.broker.gateway import Client, Gateway


def test_a_topic_deleted_during_a_pass_is_gone(gateway: Gateway, client: Client) -> None:
    made(client)
    for number in range(10):
        put(client, "t", [(b"k", b"%d" % number)])
    fill(client, "t")
    log = gateway.partition("t").vnode.log
    # A thread imports what the first request needs.
    client.call(DeleteTopicsRequest(topic_names=["unknown"], timeout_ms=1_000), 5)
    gateway.broker.scheduler.offload = lambda work, done: held.append((work, done))
    held: list[tuple[object, object]] = []
    pass_time(gateway)
    assert len(held) == 1, "a thread imports what a pass needs"
    for _ in range(2):
        work, done = held.pop()
        work()  # type: ignore[operator]
        done(None)  # type: ignore[operator]
        gateway.settle()
        if held:
            break
    assert held, "a thread works for the pass"
    client.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    for work, done in held:
        work()  # type: ignore[operator]
        done(None)  # type: ignore[operator]
    pass_time(gateway)

    assert list(log.streams()) == []
    assert log.begin_copies() is not None
