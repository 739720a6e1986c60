"""Turns of a player about topics: they come and go while others write, read, and look up times."""

from __future__ import annotations

from compat_tests.hunt.player import Player
from compat_tests.hunt.records import odd_batch
from compat_tests.hunt.world import TOPIC_CONFIGS, TOPICS, VIEW_STATEMENTS
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.kawal_messages import KawalMessagesRequest, MessageId, MessageOffset
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction, TopicItem
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PARTITIONS = 3

STORED = tuple(TOPIC_CONFIGS)


def produce(player: Player) -> None:
    """Produce odd batches to the topics that are there."""
    chance = player.chance
    link = player.link()
    try:
        if len(player.world.producers) < 5 or chance.random() < 0.05:
            wanted = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            (answer,) = player.ask(link, player.request(wanted, 4))
            player.world.producers.append((answer.producer_id, answer.producer_epoch))
        for _ in range(20):
            topic = TopicProduceData(
                name=chance.choice(STORED),
                partition_data=[
                    PartitionProduceData(
                        index=chance.randrange(PARTITIONS), records=odd_batch(chance, player.world.producers)
                    )
                    for _ in range(chance.choice((1, 1, 3)))
                ],
            )
            request = ProduceRequest(
                acks=chance.choice((-1, -1, 1)),
                timeout_ms=1_000,
                topic_data=[topic] * chance.choice((1, 1, 1, 2)),
            )
            player.ask(link, player.request(request, chance.randint(3, 12)))
    finally:
        link.close()


def wide(player: Player) -> None:
    """Produce one batch to very many partitions, most of them not there, or the same again and again."""
    chance = player.chance
    link = player.link()
    try:
        count = chance.choice((1_000, 20_000, 150_000))
        batch = odd_batch(chance, player.world.producers)
        if count * len(batch) > 24 << 20:
            batch = b""
        same = chance.random() < 0.5
        parts = [
            PartitionProduceData(index=number % PARTITIONS if same else number, records=batch)
            for number in range(count)
        ]
        topic = TopicProduceData(name=chance.choice(STORED), partition_data=parts)
        player.ask(link, player.request(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[topic]), 9))
    finally:
        link.close()


def repeated(player: Player) -> None:
    """Produce with one head again and again, which the server need not decode, and with others in between."""
    chance = player.chance
    link = player.link()
    try:
        topic = chance.choice(STORED)
        records = odd_batch(chance, [(-1, -1)])
        for _ in range(chance.choice((2, 10, 40))):
            if chance.random() < 0.2:
                topic = chance.choice(STORED)
            if chance.random() < 0.3:
                records = odd_batch(chance, player.world.producers)
            data = TopicProduceData(
                name=topic, partition_data=[PartitionProduceData(index=0, records=records)]
            )
            # Not 0: an error closes the connection then, on Kafka as well.
            request = ProduceRequest(acks=chance.choice((-1, -1, 1)), timeout_ms=1_000, topic_data=[data])
            name = chance.choice(("hunter", "hunter", "hunter", "other", None))
            sent = player.request(request, 9, client_id=name)
            player.ask(link, *[sent] * chance.choice((1, 5, 50)))
    finally:
        link.close()


def split(player: Player) -> None:
    """Split partitions by hand, look at the trees, and look up messages by their ids."""
    chance = player.chance
    link = player.link()
    try:
        for _ in range(10):
            name = chance.choice(("split", "split-ids", "split-ids", "ids", chance.choice(TOPICS)))
            partition = chance.choice((0, 1, 2, 3, 7, -1, 2**31 - 1))
            action = chance.choice((TopicAction.SPLIT, TopicAction.SPLIT, TopicAction.DESCRIBE))
            item = TopicItem(name=name, partition=partition)
            player.ask(link, player.request(KawalTopicsRequest(action=action, topics=[item]), 0))
            lookup = KawalMessagesRequest(
                topic=name,
                offsets=[
                    MessageOffset(partition=index, offset=chance.choice((0, 1, 5, 100, -1, 2**62)))
                    for index in range(chance.choice((1, 4, 300)))
                ],
                ids=[
                    MessageId(
                        ledger=chance.choice((0, 1, 2, 9, -1, 2**31 - 1)),
                        entry=chance.choice((0, 1, 7, -1, 2**62)),
                        partition=partition,
                        batch_index=chance.choice((-1, 0, 3)),
                    )
                    for _ in range(chance.choice((0, 1, 300)))
                ],
            )
            player.ask(link, player.request(lookup, 0))
    finally:
        link.close()


def read(player: Player) -> None:
    """Fetch from everywhere, look up all kinds of times, delete from the beginning."""
    chance, world = player.chance, player.world
    link = player.link()
    try:
        for _ in range(15):
            name = chance.choice(TOPICS)
            kind = chance.random()
            if kind < 0.5:
                offset = chance.choice((0, 0, 1, 5, 50, 10_000, -1, 2**63 - 1))
                parts = [
                    FetchPartition(
                        partition=index,
                        fetch_offset=offset,
                        partition_max_bytes=chance.choice((0, 1, 1_000, 1 << 20)),
                    )
                    for index in range(PARTITIONS)
                ]
                fetch = FetchRequest(
                    max_wait_ms=chance.choice((0, 0, 50)),
                    min_bytes=chance.choice((0, 1, 1 << 20)),
                    isolation_level=chance.choice((0, 1)),
                    topics=[FetchTopic(topic=name, partitions=parts)],
                )
                player.ask(link, player.request(fetch, chance.randint(4, 12)))
            elif kind < 0.9:
                asked = [
                    ListOffsetsPartition(
                        partition_index=chance.randrange(PARTITIONS), timestamp=world.integer(64)
                    )
                    for _ in range(chance.choice((1, 5, 50)))
                ]
                listing = ListOffsetsRequest(
                    replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=asked)]
                )
                player.ask(link, player.request(listing, chance.randint(1, 11)))
            else:
                cut = [
                    DeleteRecordsPartition(
                        partition_index=chance.randrange(PARTITIONS),
                        offset=chance.choice((-1, 0, 1, 5, 2**62, -2)),
                    )
                ]
                deleting = DeleteRecordsRequest(
                    topics=[DeleteRecordsTopic(name=name, partitions=cut)], timeout_ms=1_000
                )
                player.ask(link, player.request(deleting, chance.randint(0, 2)))
    finally:
        link.close()


def topics(player: Player) -> None:
    """Make the topics that are not there, delete one or two, and learn the ids of all."""
    chance, world = player.chance, player.world
    link = player.link()
    try:
        wanted = [_creation(name, configs) for name, configs in TOPIC_CONFIGS.items()]
        views = [
            _creation(name, {"kawal.sql": statement}, partitions=-1)
            for name, statement in VIEW_STATEMENTS.items()
        ]
        for made in (wanted, views):
            player.ask(link, player.request(CreateTopicsRequest(topics=made), 7))
        if chance.random() < 0.6:
            doomed = [chance.choice(TOPICS) for _ in range(chance.choice((1, 2, 6)))]
            doomed += [f"other-{number}" for number in range(30)]
            player.ask(link, player.request(DeleteTopicsRequest(topic_names=doomed, timeout_ms=1_000), 5))
        (answer,) = player.ask(link, player.request(MetadataRequest(topics=None), 12))
        if answer is not None:
            world.topic_ids = {topic.name: topic.topic_id for topic in answer.topics if topic.name}
    finally:
        link.close()


def _creation(name: str, configs: dict[str, str], partitions: int = PARTITIONS) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
