"""The past of topics: how far the files are read, in which batches, and what is left to the broker."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.backfill import Backfill, Past, options_of, parts_of, past_of, place_of_past
from pipeline.config import SourceSection
from pipeline.errors import PipelineError, SourceError
from pipeline.log_source.catalogue import Home
from pipeline.log_source.logs import Logs
from pipeline.positions import Positions, ranges_between
from wal.offline_log import OfflineLog

ID = "00000000-0000-0000-0000-000000000001"
BUCKET = {"backfill": "s3://lake/kawal", "topics": ["t"]}


class FixedLogs(Logs):
    """Logs with these bounds, by topic and partition."""

    def __init__(self, bounds: dict[str, list[tuple[int, int]]]) -> None:
        self._bounds = bounds
        self.files = self  # type: ignore[assignment]  # only the name is asked for
        self.name = "/data"
        self.homes = {
            topic: [Home(ID, index, "log", 0, index) for index in range(len(found))]
            for topic, found in bounds.items()
        }

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        return self._bounds[topic][partition]

    def of(self, home: Home) -> OfflineLog:
        raise AssertionError("no log is opened")


def past(bounds: list[tuple[int, int]], begins: list[int], latest: list[int]) -> Past:
    return past_of(FixedLogs({"t": bounds}), {"t": at(begins)}, {"t": at(latest)}, {"t": ID})


def at(offsets: list[int]) -> dict[str, int]:
    return {str(index): offset for index, offset in enumerate(offsets)}


def test_the_files_are_read_from_where_the_table_ends_to_where_they_end() -> None:
    found = past([(0, 50), (0, 70)], [0, 20], [90, 90])
    assert (found.begins, found.ends, found.offsets) == ({"t": at([0, 20])}, {"t": at([50, 70])}, 100)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("bounds", "begin", "latest", "end"),
    [
        ((0, 50), 60, 90, 60),  # the table is ahead of the files
        ((0, 50), 50, 90, 50),
        ((0, 50), 10, 30, 30),  # the files are ahead of the broker
        ((20, 50), 10, 90, 10),  # what is first is not in the files: the broker gives it in order
        ((10, 50), 10, 90, 50),
    ],
)
def test_no_offset_is_left_out_between_the_files_and_the_broker(
    bounds: tuple[int, int], begin: int, latest: int, end: int
) -> None:
    found = past([bounds], [begin], [latest])
    assert found.ends == {"t": {"0": end}}
    assert found.files_end == {"t": {"0": bounds[1]}}
    assert bool(found.notes) == (bounds[0] > begin)


def test_partitions_that_the_files_do_not_know_are_left_to_the_broker() -> None:
    found = past([(0, 50)], [0, 0], [90, 90])
    assert (found.ends, found.files_end) == ({"t": at([50, 0])}, {"t": {"0": 50}})


def test_a_topic_of_the_same_name_and_another_id_is_refused() -> None:
    logs = FixedLogs({"t": [(0, 5)]})
    with pytest.raises(SourceError, match=r"'t' in /data has the id 0.*1, and on the broker 0.*2"):
        past_of(logs, {"t": at([0])}, {"t": at([5])}, {"t": ID[:-1] + "2"})
    assert past_of(logs, {"t": at([0])}, {"t": at([5])}, {"t": ""}).offsets == 5, "brokers of old have no ids"


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500)), min_size=1, max_size=4), st.integers(0, 60)
)
def test_the_batches_follow_each_other_without_hole_or_overlap(
    spans: list[tuple[int, int]], most: int
) -> None:
    begins: Positions = {"t": at([begin for begin, _ in spans])}
    ends: Positions = {"t": at([begin + size for begin, size in spans])}
    found = Past(begins, ends, ends, ())
    reached, sizes = begins, list[int]()
    for until in parts_of(found, most):
        ranges = ranges_between(reached, until)
        sizes.append(sum(held.until - held.begin for held in ranges))
        assert all(held.begin == reached["t"][str(held.partition)] for held in ranges)
        reached = until
    assert sum(sizes) == found.offsets
    assert not sizes or reached == ends
    assert not most or max(sizes, default=0) <= most + len(spans)


def test_a_batch_names_every_partition_of_the_files_and_one_that_is_not_read_by_its_end() -> None:
    found = past([(0, 50), (40, 80)], [0, 20, 0], [90, 90, 90])
    source = SourceSection(**{**BUCKET, "topics": ["t"]})  # type: ignore[arg-type]
    options = options_of(source, found, found.begins, {"t": at([25, 20, 0])})
    assert json.loads(options["startingOffsets"]) == {"t": {"0": 0, "1": 80}}
    assert json.loads(options["endingOffsets"]) == {"t": {"0": 25, "1": 80}}
    assert options["subscribe"] == "t"
    assert "store" not in options
    assert options["accessKeyEnv"] == "AWS_ACCESS_KEY_ID"


def test_of_a_directory_nothing_is_said_about_a_store_but_with_one_beside_it() -> None:
    found = past([(0, 5)], [0], [5])
    plain = SourceSection(topics=["t"], backfill="/data")
    assert set(options_of(plain, found, found.begins, found.ends)) == {
        "subscribe", "startingOffsets", "endingOffsets",
    }  # fmt: skip
    beside = SourceSection(
        topics=["t"], backfill="/data", bucket=type(plain.bucket)(store="s3://lake/k", endpoint="http://x:1")
    )
    options = options_of(beside, found, found.begins, found.ends)
    assert (options["store"], options["endpoint"]) == ("s3://lake/k", "http://x:1")


def test_the_place_is_that_of_the_job_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    place = place_of_past(SourceSection(**BUCKET))  # type: ignore[arg-type]
    assert place.store is not None
    assert (place.data, place.store.place.url, place.store.keys) == ("", "s3://lake/kawal", "source.bucket.")
    plain = place_of_past(SourceSection(topics=["t"], backfill="/data"))
    assert (plain.data, plain.store) == ("/data", None)


def run(land: Callable[[Positions, Positions, int], Any], most: int = 2) -> Backfill:
    return Backfill(past([(0, 5)], [0], [5]), most, land)


def test_the_batches_are_landed_one_after_the_other() -> None:
    landed = list[tuple[int, int, int]]()
    backfill = run(lambda begin, end, number: landed.append((begin["t"]["0"], end["t"]["0"], number))).start()
    assert backfill.awaitTermination(60)
    assert landed == [(0, 1, 0), (1, 3, 1), (3, 5, 2)]


def test_a_stop_lets_the_running_batch_land_and_no_other() -> None:
    begun, may_end, landed = threading.Event(), threading.Event(), list[int]()

    def land(_begin: Positions, _end: Positions, number: int) -> None:
        begun.set()
        may_end.wait(60)
        landed.append(number)

    backfill = run(land).start()
    assert begun.wait(60)
    assert not backfill.awaitTermination(0)
    backfill.ask_to_stop()
    may_end.set()
    backfill.stop()
    assert backfill.awaitTermination(60)
    assert landed == [0]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PipelineError("refused"), PipelineError),
        (OSError(28, "no space"), PipelineError),
        (ConnectionRefusedError("gone"), ConnectionError),
        (TimeoutError("of the store"), PipelineError),
    ],
)
def test_what_ends_a_batch_ends_the_whole(error: Exception, told: type[Exception]) -> None:
    def land(*_: Any) -> None:
        raise error

    with pytest.raises(told):
        run(land).start().awaitTermination(60)
