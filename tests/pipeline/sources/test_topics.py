"""The offsets at which a job begins, by the broker's answers; the broker here is a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError
from kafka.structs import OffsetAndTimestamp

from pipeline.errors import SourceError
from pipeline.sources.kafka import EARLIEST, LATEST
from pipeline.sources.topics import Topics, open_topics
from tests.pipeline.made import LAKE, job


class TableConsumer:
    """A consumer of topic t with partitions 0 (offsets 10 to 20) and 1 (empty, at 7); `failing` raises."""

    def __init__(self) -> None:
        self.failing = False
        self.first = {TopicPartition("t", 0): 10, TopicPartition("t", 1): 7}
        self.end = {TopicPartition("t", 0): 20, TopicPartition("t", 1): 7}

    def topics(self) -> set[str]:
        self._fail()
        return {"t", "flights", "__consumer_offsets"}

    def partitions_for_topic(self, topic: str) -> set[int]:
        assert topic == "t"
        return {1, 0}

    def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        assert partitions == list(self.first)
        return self.first

    def end_offsets(self, _partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        self._fail()
        return self.end

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        assert set(times.values()) == {1_356_998_400_000}
        return {
            TopicPartition("t", 0): OffsetAndTimestamp(15, 1_356_998_400_005, 0),
            TopicPartition("t", 1): None,
        }

    def _fail(self) -> None:
        if self.failing:
            raise KafkaTimeoutError("no broker there")


def topics(consumer: TableConsumer | None = None, **source: Any) -> Topics:
    return Topics(consumer or TableConsumer(), job(LAKE, source=source).source)


def test_earliest_and_latest_are_known_by_partition() -> None:
    assert topics().earliest() == {"t": {"0": 10, "1": 7}}
    assert topics().latest() == {"t": {"0": 20, "1": 7}}


@pytest.mark.parametrize(("start", "word"), [("earliest", EARLIEST), ("latest", LATEST)])
def test_a_first_run_begins_where_the_job_file_says(start: str, word: int) -> None:
    assert topics(start=start).starting_offsets({}) == {"t": {"0": word, "1": word}}


def test_a_start_in_time_is_the_first_record_of_that_time_or_else_the_end() -> None:
    assert topics(start="2013-01-01").starting_offsets({}) == {"t": {"0": 15, "1": LATEST}}


def test_a_table_goes_on_where_it_ends_and_a_new_partition_from_its_first_record() -> None:
    start = topics(start="latest").starting_offsets({"t": {"0": 12}})
    assert start == {"t": {"0": 12, "1": EARLIEST}}


def test_words_are_resolved_to_offsets() -> None:
    resolved = topics().resolved({"t": {"0": LATEST, "1": EARLIEST}})
    assert resolved == {"t": {"0": 20, "1": 7}}
    assert topics().resolved({"t": {"0": 12}}) == {"t": {"0": 12}}


def test_a_topic_that_is_not_there_is_refused_naming_the_nearest() -> None:
    with pytest.raises(SourceError, match=r"there is no topic 'flihts' on 127.* did you mean 'flights'\?"):
        topics(topics=["flihts"])


def test_a_topic_like_no_other_is_refused_naming_the_topics() -> None:
    with pytest.raises(SourceError, match=r"its topics are flights, t$"):
        topics(topics=["zzz"])


def test_a_broker_that_stops_answering_is_one_error() -> None:
    consumer = TableConsumer()
    known = topics(consumer)
    consumer.failing = True
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:9092 does not answer: .*no broker there"):
        known.latest()


def test_an_address_without_port_is_refused() -> None:
    source = msgspec.structs.replace(job(LAKE).source, bootstrap="a:1, b")
    with pytest.raises(SourceError, match="'b' has no port; write HOST:PORT"), open_topics(source):
        pass
