"""Views over tags of a topic that is truncated, grown and restarted show the tags that its records give.

The truth is a dictionary: keys get their tags record by record, in the order in which they were written, and
keep them when the topic grows. A truncation is followed by a start, as what was learned from deleted records
is known until then. KAWAL_VIEW_MODEL_SEEDS says how many lives are tried.
"""

from __future__ import annotations

import json
import os
from random import Random
from typing import Any, Final, NamedTuple
from zlib import crc32

import pytest

from protocol.compression import Codec
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.compacted import pass_time
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, offset_of, send
from tests.broker.topic_changes import grow
from tests.broker.view_topics.view_model import consume

SEEDS = int(os.environ.get("KAWAL_VIEW_MODEL_SEEDS", "4"))
STEPS: Final = 60
CHECKED: Final = 10
TAGS: Final = ("city", "kind")
VIEWS: Final = {
    "in_porto": "SELECT v, city, kind FROM t WHERE city = 'Porto'",
    "all_tagged": "SELECT v, city, kind FROM t",
    "stable": "STABLE t WHERE kind = 'a'",
}


class Written(NamedTuple):
    """A record: where it is, and the tags it carries."""

    partition: int
    offset: int
    key: bytes
    v: int
    tags: dict[str, str]
    batch_end: int
    is_deleted: bool = False


class TagsModel:
    """One gateway, a topic with tags, views over it, and what was written in its order."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.gateway = Gateway()
        self.count = self.chance.choice([1, 2])
        self.written: list[Written] = []
        columns = "v int, city varchar(20) tag, kind string tag"
        create(self.client, "t", self.count, kawal_columns=columns)
        for name, text in VIEWS.items():
            create(self.client, name, -1, kawal_sql=text)

    @property
    def client(self) -> Client:
        return self.gateway.client()

    # --- what happens ----------------------------------------------------------------------------------

    def produce(self) -> None:
        """Write a batch of keys that a partitioner sends to one partition."""
        keys = [b"m%d" % number for number in range(8)]
        index = crc32(self.chance.choice(keys)) % self.count
        there = [key for key in keys if crc32(key) % self.count == index]
        made, told = [], []
        for place in range(self.chance.randrange(1, 7)):
            key, v = self.chance.choice(there), self.chance.randrange(100)
            tags = self._some_tags()
            record, carried = self._record(place, key, v, tags)
            made.append(record)
            told.append((key, v, carried))
        codec = self.chance.choice([Codec.NONE, Codec.LZ4])
        base = send(self.client, "t", encode_batch(made, codec=codec), index).base_offset
        for place, (key, v, carried) in enumerate(told):
            self.written.append(Written(index, base + place, key, v, carried, base + len(told)))

    def _some_tags(self) -> dict[str, str]:
        values = {"city": ["Porto", "Faro", "Lisboa"], "kind": ["a", "b"]}
        return {name: self.chance.choice(values[name]) for name in TAGS if self.chance.random() < 0.2}

    def _record(self, place: int, key: bytes, v: int, tags: dict[str, str]) -> tuple[Record, dict[str, str]]:
        """Return a record whose tags are in headers or members; headers count where both name one."""
        content: dict[str, Any] = {"v": v}
        headers: list[tuple[str, bytes | None]] = []
        for name, value in tags.items():
            if self.chance.random() < 0.5:
                content[name] = value
            else:
                headers.append((f"kawal.tag.{name}", value.encode()))
                if self.chance.random() < 0.3:
                    content[name] = "another"
        return Record(place, START_MS, key, json.dumps(content).encode(), tuple(headers)), tags

    def truncate(self) -> None:
        """Delete records from the start of a partition, and start again."""
        index = self.chance.randrange(self.count)
        start, end = (offset_of(self.client, "t", which, index).offset for which in (-2, -1))
        before = self.chance.randint(start, end)
        asked = DeleteRecordsPartition(partition_index=index, offset=before)
        topic = DeleteRecordsTopic(name="t", partitions=[asked])
        self.client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1), 2)
        # Of a batch that is deleted in part, all tags still count.
        self.written = [
            record._replace(is_deleted=record.is_deleted or self._is_below(record, index, before))
            for record in self.written
            if record.partition != index or record.batch_end > before
        ]
        self.restart()

    @staticmethod
    def _is_below(record: Written, index: int, before: int) -> bool:
        return record.partition == index and record.offset < before

    def grow(self) -> None:
        if self.count < 5:
            self.count += 1
            grow(self.client, "t", self.count)

    def restart(self) -> None:
        if self.chance.random() < 0.5:
            self.gateway.restart()
        else:
            self.gateway.settle()
            self.gateway.crash()
        pass_time(self.gateway, 1)

    def step(self) -> str:
        """Let something happen; return what."""
        name = self.chance.choice(["produce"] * 14 + ["truncate", "grow", "restart"])
        getattr(self, name)()
        return name

    # --- what is shown ---------------------------------------------------------------------------------

    def truth(self, name: str) -> dict[int, list[tuple[int, bytes, dict[str, Any]]]]:
        """Return what a view must show, by partition: offset, key, and v with the tags of the moment."""
        known: dict[bytes, dict[str, str]] = {}
        shown: dict[int, list[Any]] = {index: [] for index in range(self.count)}
        for record in self.written:
            tags = known[record.key] = {**known.get(record.key, {}), **record.tags}
            row = {"v": record.v, "city": tags.get("city"), "kind": tags.get("kind")}
            is_shown = {"in_porto": row["city"] == "Porto", "stable": row["kind"] == "a"}.get(name, True)
            if is_shown and not record.is_deleted:
                shown[record.partition].append((record.offset, record.key, row))
        return shown

    def check(self) -> None:
        """Read each view from its start and from anywhere, in any order of the partitions."""
        for name in self.chance.sample(sorted(VIEWS), len(VIEWS)):
            truth = self.truth(name)
            for index in self.chance.sample(range(self.count), self.count):
                start, end = (offset_of(self.client, name, which, index).offset for which in (-2, -1))
                for offset in (start, self.chance.randint(start, end)):
                    wanted = [item for item in truth[index] if item[0] >= offset]
                    if name == "stable":
                        wanted = [(place, key, {"v": row["v"]}) for place, key, row in wanted]
                    found = self._shown(name, index, offset)
                    assert found == wanted, f"{name}-{index} from {offset}: {found} is not {wanted}"

    def _shown(self, name: str, index: int, offset: int) -> list[Any]:
        found = []
        for record in consume(self.client, name, index, offset, self.chance):
            row = json.loads(record.value or b"{}")
            found.append((record.offset, record.key, {"v": row["v"]} if name == "stable" else row))
        return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_views_show_the_tags_that_the_records_give_whatever_happens_to_the_topic(seed: int) -> None:
    model = TagsModel(seed)
    happened = []
    try:
        for number in range(STEPS):
            happened.append(model.step())
            if number % CHECKED == CHECKED - 1 or model.chance.random() < 0.1:
                model.check()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, after {' '.join(happened)}: {error}") from error
