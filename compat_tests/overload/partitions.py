"""50,000 partitions: made in one go, written to at random, the gateway killed and ready again."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from random import Random

from compat_tests.batches import Batch
from compat_tests.broker import Broker, answers_api_versions
from compat_tests.overload.figures import memory_of, peak_memory_of
from compat_tests.overload.frames import request_frame
from compat_tests.requests import produce_request
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest

PIPELINED = 100


@dataclass(frozen=True)
class PartitionFigures:
    """Times in seconds, memory in MiB."""

    partitions: int
    records: int
    create: float
    metadata: float
    produce: float
    ready_again: float
    memory_peak: float
    memory_again: float

    @property
    def line(self) -> str:
        """The figures for people."""
        return (
            f"{self.partitions} partitions made in {self.create:.2f} s, metadata in {self.metadata:.2f} s,"
            f" {self.records} records written at random in {self.produce:.1f} s;"
            f" after SIGKILL ready in {self.ready_again:.2f} s\n"
            f"    memory {self.memory_peak:.0f} MiB at most, {self.memory_again:.0f} MiB after the restart"
        )


def measure_partitions(
    broker: Broker, *, partitions: int, topics: int, records: int, seed: int
) -> PartitionFigures:
    """Take the figures; fail unless every acknowledged record is there after the kill."""
    chance = Random(seed)
    each = partitions // topics
    with raw_client(broker) as client:
        create = _timed(lambda: _create(client, topics, each))
        metadata = _timed(lambda: client.call(MetadataRequest(topics=None), 12))
        written: dict[tuple[int, int], int] = {}
        produce = _timed(lambda: _produce(client, chance, topics, each, records, written))
    peak = peak_memory_of(broker)
    broker.kill()
    began = time.monotonic()
    broker.restart()
    eventually(lambda: answers_api_versions(broker.port), waiting_for="an answer")
    ready_again = time.monotonic() - began
    with raw_client(broker) as client:
        _check(client, topics, each, written)
    return PartitionFigures(
        partitions=topics * each,
        records=records,
        create=create,
        metadata=metadata,
        produce=produce,
        ready_again=ready_again,
        memory_peak=peak,
        memory_again=memory_of(broker),
    )


def _timed(work: object) -> float:
    began = time.monotonic()
    assert callable(work)
    work()
    return time.monotonic() - began


def _create(client: RawClient, topics: int, each: int) -> None:
    client.socket.settimeout(120)
    asked = [
        CreatableTopic(
            name=f"t{number}", num_partitions=each, replication_factor=1, assignments=[], configs=[]
        )
        for number in range(topics)
    ]
    answer = client.call(CreateTopicsRequest(topics=asked), 7)
    assert {topic.error_code for topic in answer.topics} == {0}


def _produce(
    client: RawClient,
    chance: Random,
    topics: int,
    each: int,
    records: int,
    written: dict[tuple[int, int], int],
) -> None:
    batch = Batch(values=[b"x" * 100]).encode()
    for _ in range(0, records, PIPELINED):
        places = [(chance.randrange(topics), chance.randrange(each)) for _ in range(PIPELINED)]
        client.socket.sendall(
            b"".join(
                request_frame(produce_request(f"t{topic}", batch, partition=partition), 9)
                for topic, partition in places
            )
        )
        for place in places:
            frame = client.receive_frame()
            # header v1 (id, tags), one topic, its name, one partition: index, error code
            name = frame[6] - 1
            _, code = struct.unpack_from(">ih", frame, 7 + name + 1)
            assert code == 0, code
            written[place] = written.get(place, 0) + 1


def _check(client: RawClient, topics: int, each: int, written: dict[tuple[int, int], int]) -> None:
    asked = [
        ListOffsetsTopic(
            name=f"t{topic}",
            partitions=[ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(each)],
        )
        for topic in range(topics)
    ]
    client.socket.settimeout(60)
    answer = client.call(ListOffsetsRequest(replica_id=-1, topics=asked), 5)
    found = {
        (int(topic.name[1:]), part.partition_index): part.offset
        for topic in answer.topics
        for part in topic.partitions
        if part.offset
    }
    assert found == written
