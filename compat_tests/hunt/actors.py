"""The turns that a player takes: each is a few requests of a kind, on connections of its own."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from broker.handlers import APIS, Api
from compat_tests.broker import HOST
from compat_tests.hunt.group_actors import consumer_group, offsets_records, old_group
from compat_tests.hunt.link import Link, Lost, Sent
from compat_tests.hunt.login_actors import logins
from compat_tests.hunt.pages import odd_page_request
from compat_tests.hunt.player import Player
from compat_tests.hunt.share_actors import share_group
from compat_tests.hunt.topic_actors import produce, read, repeated, split, topics, wide
from compat_tests.hunt.transaction_actors import transactions
from compat_tests.hunt.wrong import spoiled, without_utf8
from protocol.api_keys import ApiKey

PIPELINED = 300
CROWD = 150
TOGETHER = 40

LISTING = (
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.FETCH,
    ApiKey.LIST_GROUPS,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_FETCH,
)
"""APIs whose answers may be far larger than their requests."""


@dataclass(frozen=True)
class Actor:
    """A kind of turn, and how often it is taken."""

    act: Callable[[Player], None]
    weight: int


def small(player: Player) -> None:
    """Send a few requests of any API, odd but whole, one after the other."""
    link = player.link()
    try:
        for _ in range(20):
            player.ask(link, player.make(*player.any_api()))
    finally:
        link.close()


def large(player: Player) -> None:
    """Send one request as large, and as repeated, as its API allows."""
    link = player.link()
    api, version = player.any_api()
    try:
        player.ask(link, player.make(api, version, large=0.6, elements=1 << 30))
    finally:
        link.close()


def pipelined(player: Player) -> None:
    """Send hundreds of requests, of one API or of many, without waiting for an answer."""
    link = player.link()
    chance = player.chance
    try:
        made = [_unparked(player) for _ in range(chance.choice((1, 5, 20)))]
        elements = chance.choice((300, 300, 2_000))
        sent = [player.make(*api, large=0.3, elements=elements) for api in made]
        player.ask(link, *(chance.choice(sent) for _ in range(PIPELINED)))
    finally:
        link.close()


def _unparked(player: Player) -> tuple[Api, int]:
    while (found := player.any_api())[0].key in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP):
        continue
    return found


def wrong(player: Player) -> None:
    """Send requests in which something is wrong, until the server has had enough of the connection."""
    chance = player.chance
    for _ in range(30):
        link = player.link()
        frame = player.make(*player.any_api()).frame
        data = b"".join(spoiled(frame, chance) for _ in range(chance.choice((1, 1, 5))))
        link.throw(data, read_seconds=0.05)
        link.reset() if chance.random() < 0.3 else link.close()


def versions(player: Player) -> None:
    """Ask for APIs and versions that there are not, of which ApiVersions alone is answered."""
    chance = player.chance
    for _ in range(10):
        link = player.link()
        frame = bytearray(player.make(*player.any_api()).frame)
        frame[4:6] = chance.choice((*APIS, 0, 100, 32_767, -1)).to_bytes(2, "big", signed=True)
        frame[6:8] = chance.choice((0, 1, 19, 127, 32_767, -1)).to_bytes(2, "big", signed=True)
        link.throw(bytes(frame), read_seconds=0.05)
        link.close()


def crowd(player: Player) -> None:
    """Open many connections that ask for much, or half of it, and read nothing or leave at once."""
    chance = player.chance
    links: list[Link] = []
    try:
        for _ in range(chance.choice((10, CROWD))):
            links.append(player.link())
            sent = player.make(*player.any_api(), large=0.05, elements=5_000)
            frame = sent.frame[: chance.randrange(len(sent.frame))] if chance.random() < 0.5 else sent.frame
            links[-1].throw(frame * chance.choice((1, 1, 3)), read_seconds=0.002)
        time.sleep(0.2)
    finally:
        for link in links:
            link.reset() if chance.random() < 0.5 else link.close()


def together(player: Player) -> None:
    """Have many connections ask for the same, of which the answer may be large, and read it late or never."""
    chance = player.chance
    links: list[Link] = []
    try:
        for _ in range(3):
            api = APIS[chance.choice(LISTING)]
            version = chance.randint(api.minimum, api.maximum)
            sent = player.make(api, version, large=0.6, elements=chance.choice((1_000, 20_000, 1 << 30)))
            for _ in range(TOGETHER):
                links.append(player.link())
                links[-1].throw(sent.frame, read_seconds=0.002)
        for link in links:
            link.throw(b"", read_seconds=chance.choice((0.0, 0.02, 0.1)))
    finally:
        for link in links:
            link.close()


def pages(player: Player) -> None:
    """Send odd HTTP to the port of the metrics, and Kafka's requests as well; and HTTP to Kafka's."""
    chance = player.chance
    kept = []
    for _ in range(20):
        port = player.port if chance.random() < 0.05 else player.http_port
        client = socket.create_connection((HOST, port), timeout=10)
        data = odd_page_request(chance)
        if chance.random() < 0.03:
            data = player.make(*player.any_api()).frame
        player.journal.note(0, data)
        client.settimeout(0.5)
        try:
            client.sendall(data)
            client.recv(1 << 16)
        except OSError:
            client.close()
            continue
        kept.append(client)
    for client in kept:
        client.close()


def left_in_the_middle(player: Player) -> None:
    """Leave while answers are made: large ones, and those that wait."""
    chance = player.chance
    for _ in range(10):
        link = player.link()
        sent: list[Sent] = [player.make(*player.any_api(), large=0.2, elements=20_000) for _ in range(3)]
        try:
            link.exchange(sent, within_seconds=chance.choice((0.0, 0.01, 0.1)))
        except Lost:
            link.reset() if chance.random() < 0.5 else link.close()
        else:
            link.close()


def no_utf8(player: Player) -> None:
    """Send a client id that is no UTF-8: the answer must come, as from Kafka."""
    link = player.link()
    api, version = player.any_api()
    try:
        sent = player.make(api, version)
        player.ask(link, sent._replace(frame=without_utf8(sent.frame, player.chance)))
    finally:
        link.close()


ACTORS: dict[str, Actor] = {
    "small": Actor(small, 10),
    "large": Actor(large, 8),
    "pipelined": Actor(pipelined, 6),
    "wrong": Actor(wrong, 6),
    "versions": Actor(versions, 1),
    "crowd": Actor(crowd, 2),
    "together": Actor(together, 2),
    "pages": Actor(pages, 3),
    "left": Actor(left_in_the_middle, 3),
    "no-utf8": Actor(no_utf8, 2),
    "produce": Actor(produce, 14),
    "wide": Actor(wide, 3),
    "read": Actor(read, 10),
    "topics": Actor(topics, 5),
    "old-group": Actor(old_group, 5),
    "consumer-group": Actor(consumer_group, 5),
    "offsets-records": Actor(offsets_records, 3),
    "transactions": Actor(transactions, 8),
    "share-group": Actor(share_group, 8),
    "logins": Actor(logins, 2),
    "split": Actor(split, 3),
    "repeated": Actor(repeated, 4),
}
