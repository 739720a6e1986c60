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
