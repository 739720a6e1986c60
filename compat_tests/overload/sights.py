"""Loads on views that are wide, various or read all over: what they know, compile and keep is bounded."""

from __future__ import annotations

from random import Random

from compat_tests.batches import Batch
from compat_tests.hunt.records import record
from compat_tests.overload.load import (
    Target,
    create_topics,
    frame,
    load,
    produce_many,
    rounds,
    skip_answer,
)
from compat_tests.overload.wide import MANY_PARTITIONS
from compat_tests.requests import fetch_request, produce_request
from protocol.compression import compress
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

STREAMS = 50_000
STATEMENTS = 100
READERS = 40
KEYS = 60_000
TAGGED_BATCHES = 60
RECORDS_EACH = 1_000
COLUMNS = "id bigint, text string, more json, room string tag, ts timestamp"

SMALL_CACHE = {"kawal.views.cache.bytes": "4194304"}


def packed(values: list[bytes], keys: list[bytes | None] | None = None, *, codec: int = 4) -> Batch:
    """Return a compressed batch of records."""
    names = keys or [None] * len(values)
    content = b"".join(record(at, 0, names[at], value) for at, value in enumerate(values))
    return Batch(
        attributes=codec,
        payload=compress(codec, content),
        count=len(values),
        last_offset_delta=len(values) - 1,
    )


def _read_all(target: Target, frames: list[list[bytes]]) -> str:
    """Send each of some clients its requests, one after the other, and read the answers."""
    clients = [target.client() for _ in frames]
    answered = 0
    for number in rounds(target):
        for client, own in zip(clients, frames, strict=True):
            client.socket.sendall(own[number % len(own)])
        for client in clients:
            skip_answer(client)
            answered += 1
    return f"{answered} fetches"


# --- a database of very many streams ------------------------------------------------------------------------


def _make_wide(target: Target) -> None:
    """Make a view over a database of 50,000 streams, each with a batch that opens to a megabyte."""
    count = target.dose(STREAMS)
    create_topics(target, ["streams"], count, {"kawal.columns": COLUMNS})
    create_topics(target, ["streams-all"], -1, {"kawal.sql": "DATABASE default"})
    create_topics(target, ["streams-meta"], -1, {"kawal.sql": "WITH META AS DATABASE default"})
    data = packed([b'{"id":%d,"text":"%s"}' % (at, b" " * 10_000) for at in range(20)]).encode()

    def writing(first: int) -> ProduceRequest:
        indexes = range(first, min(first + 5_000, count))
        parts = [PartitionProduceData(index=index, records=data) for index in indexes]
        topic = TopicProduceData(name="streams", partition_data=parts)
        return ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[topic])

    produce_many(target, map(writing, range(0, count, 5_000)), window=1)


@load("view-streams", prepare=_make_wide, settings=MANY_PARTITIONS)
def view_streams(target: Target) -> str:
    """40 clients read a view over a database of 50,000 streams, all over, whose batches open wide."""
    chance, most = Random(7), target.dose(STREAMS) * 20
    frames = [
        [
            frame(fetch_request(name, chance.randrange(most), max_wait_ms=100), 11)
            for name in ("streams-all", "streams-meta")
            for _ in range(50)
        ]
        for _ in range(READERS)
    ]
    return _read_all(target, frames)


# --- statements ---------------------------------------------------------------------------------------------


def statements(number: int) -> list[str]:
    """Return statements that are as long, as deep and as hard to match as they may be, and unlike others."""
    rest = f"id <> {number}"
    listed = ", ".join(str(at * 7 + number) for at in range(900))
    deep = "id"
    for at in range(55):
        deep = f"abs({deep} + {at})" if at < 22 else f"{deep} + {at}"
    likes = " OR ".join(f"text LIKE '%a%b%a%b%{at}{number}'" for at in range(30))
    patterns = " OR ".join(f"text MATCH '(a|b|ab)*c{at}{number}(a+b+)*$'" for at in range(30))
    members = " OR ".join(f"more -> 'm{at}' -> 'n' -> 'o' CONTAINS 'p{number}'" for at in range(60))
    grown = "CONCAT(" + ", ".join(["REPEAT(text, 60)"] * 30) + ")"
    return [
        f"SELECT id FROM hard WHERE id IN ({listed}) AND {rest}",
        f"SELECT {deep} AS deep FROM hard WHERE {rest}",
        f"SELECT id FROM hard WHERE ({likes}) AND {rest}",
        f"SELECT id FROM hard WHERE ({patterns}) AND {rest}",
        f"SELECT id FROM hard WHERE ({members}) AND {rest}",
        f"SELECT LENGTH({grown}) AS grown FROM hard WHERE {rest}",
        f"STABLE hard WHERE room LIKE '%a%b%{number}'",
    ]


def _make_hard(target: Target) -> None:
    create_topics(target, ["hard"], 1, {"kawal.columns": COLUMNS})
    text = b"ab" * 2_000
    nested = b'{"m":' * 50 + b"1" + b"}" * 50
    values = [
        b'{"id":%d,"text":"%s","more":%s,"room":"%s"}' % (at, text, nested, text[:200]) for at in range(400)
    ]
    assert produce_many(target, [produce_request("hard", packed(values))] * 5) == 5


@load("view-statements", prepare=_make_hard)
def view_statements(target: Target) -> str:
    """Hundreds of views with the hardest statements are made, read and deleted, again and again."""
    client, made = target.client(), 0
    for number in rounds(target):
        texts = [text for at in range(target.dose(STATEMENTS)) for text in statements(number * 1_000 + at)]
        names = [f"hard-{at}" for at in range(len(texts))]
        topics = [
            CreatableTopic(
                name=name,
                num_partitions=-1,
                replication_factor=1,
                assignments=[],
                configs=[CreatableTopicConfig(name="kawal.sql", value=text)],
            )
            for name, text in zip(names, texts, strict=True)
        ]
        answer = client.call(CreateTopicsRequest(topics=topics, timeout_ms=300_000), 7)
        made += sum(topic.error_code == 0 for topic in answer.topics)
        for name in names:
            client.socket.sendall(frame(fetch_request(name, 0, max_wait_ms=0), 11))
        for _ in names:
            skip_answer(client)
        states = [DeleteTopicState(name=name) for name in names]
        client.send(DeleteTopicsRequest(topics=states, timeout_ms=60_000), 6)
        skip_answer(client)
    return f"{made} views"


# --- sub-tables and tags ------------------------------------------------------------------------------------


def _make_tables(target: Target) -> None:
    """Make a topic whose records declare sub-tables, and views that tell of them."""
    settings = {"kawal.columns": COLUMNS, "kawal.tables.declare": "auto"}
    create_topics(target, ["tables"], 1, settings)
    create_topics(target, ["tables-meta"], -1, {"kawal.sql": "WITH META AS STABLE tables"})
    create_topics(target, ["tables-only"], -1, {"kawal.sql": "ONLY META AS STABLE tables"})
    create_topics(target, ["tables-room"], -1, {"kawal.sql": "SELECT tbname, room FROM tables WHERE id > 0"})
    create_topics(target, ["tables-first"], -1, {"kawal.alias.of": "tables", "kawal.snapshot": "true"})


@load("view-tables", prepare=_make_tables)
def view_tables(target: Target) -> str:
    """60,000 keys get other tags with each record, and views of sub-tables are read all over."""
    writer, chance, written = target.client(), Random(7), 0
    names = ("tables-meta", "tables-only", "tables-room", "tables-first")
    readers = [(target.client(), name) for name in names for _ in range(3)]
    keys = target.dose(KEYS)
    for number in rounds(target):
        for _ in range(target.dose(TAGGED_BATCHES)):
            some = [chance.randrange(keys) for _ in range(RECORDS_EACH)]
            values = [b'{"id":%d,"room":"room %d of %d"}' % (at, number, written + at) for at in some]
            batch = packed(values, [b"key-%d" % at for at in some])
            writer.send(produce_request("tables", batch), 9)
            skip_answer(writer)
            written += RECORDS_EACH
        for reader, name in readers:
            offset = chance.randrange(written)
            reader.socket.sendall(frame(fetch_request(name, offset, max_wait_ms=100), 11))
        for reader, _name in readers:
            skip_answer(reader)
    return f"{written} records of {keys} keys"


# --- readers everywhere -------------------------------------------------------------------------------------


def _make_read(target: Target) -> None:
    create_topics(target, ["read"], 1, {"kawal.columns": COLUMNS})
    for number in range(target.dose(20)):
        statement = f"SELECT id, text FROM read WHERE id % 3 = {number % 3} AND id <> {number}"
        create_topics(target, [f"read-{number}"], -1, {"kawal.sql": statement})
    values = [b'{"id":%d,"text":"%s"}' % (at, b"x" * 300) for at in range(RECORDS_EACH)]
    wanted = target.dose(300)
    assert produce_many(target, [produce_request("read", packed(values))] * wanted) == wanted


@load("view-everywhere", prepare=_make_read, settings=SMALL_CACHE)
def view_everywhere(target: Target) -> str:
    """40 clients read 20 views at 50 places each, with a cache for a few of these."""
    chance, most = Random(7), target.dose(300) * RECORDS_EACH
    frames = [
        [
            frame(
                fetch_request(
                    f"read-{chance.randrange(target.dose(20))}", chance.randrange(most), max_wait_ms=100
                ),
                11,
            )
            for _ in range(50)
        ]
        for _ in range(READERS)
    ]
    return _read_all(target, frames)
