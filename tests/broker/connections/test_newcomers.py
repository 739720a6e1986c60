"""Unfinished handshakes: above the limit the oldest one ends."""

from broker.connections.newcomers import Newcomers
from tests.broker.gateway import Gateway


def test_the_oldest_newcomer_makes_room_and_those_that_are_ready_stay() -> None:
    gateway = Gateway()
    connections = [gateway.client().connection for _ in range(4)]
    for connection in connections:
        connection.ready_by_ms = gateway.now_ms + 10
    newcomers = Newcomers(limit=2)
    connections[0].ready_by_ms = None
    for connection in connections[:3]:
        newcomers.enter(connection)
    assert [connection.aborted for connection in connections] == [False, False, False, False]
    newcomers.enter(connections[3])
    assert [connection.aborted for connection in connections] == [False, True, False, False]


def test_a_crowd_above_the_limit_is_looked_through_now_and_then_only() -> None:
    gateway = Gateway()
    newcomers = Newcomers(limit=16)
    connections = [gateway.client().connection for _ in range(100)]
    for connection in connections:
        connection.ready_by_ms = gateway.now_ms + 10
        newcomers.enter(connection)
        assert len(newcomers._waiting) <= 16
    assert [connection.aborted for connection in connections] == [True] * 84 + [False] * 16


def test_clients_that_have_become_ready_make_room_for_others_within_an_eighth_of_the_limit() -> None:
    gateway = Gateway()
    newcomers = Newcomers(limit=16)
    connections = [gateway.client().connection for _ in range(40)]
    for number, connection in enumerate(connections):
        connection.ready_by_ms = gateway.now_ms + 10 if number == 0 else None
        newcomers.enter(connection)
    assert not connections[0].aborted, "one that is slow stays while all others have been let in"
