"""The table of streams names the owner of every stream, whatever is created, grown and deleted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.catalogue.catalogue_records import PartitionsAdded, TopicCreated, TopicDeleted
from broker.catalogue.topics import Catalogue


def created(number: int, first_stream: int, count: int) -> TopicCreated:
    return TopicCreated(
        name=f"t{number}",
        topic_id=f"{number + 1:032x}",
        database="default",
        first_stream=first_stream,
        partition_count=count,
        first_vnode=0,
        created_ms=0,
        replication_factor=1,
        configs={},
        view=None,
    )


STEP = st.tuples(st.sampled_from(["create", "grow", "delete"]), st.integers(1, 4), st.booleans())


@given(st.lists(STEP, max_size=30))
def test_every_stream_is_found_and_no_other(steps: list[tuple[str, int, bool]]) -> None:
    """A change that is lost with its record leaves the table as it was."""
    catalogue = Catalogue()
    for number, (kind, count, is_lost) in enumerate(steps):
        topics = list(catalogue.by_name.values())
        if kind == "create":
            change = catalogue.plan(created(number, catalogue.next_stream, count))
        elif not topics:
            continue
        elif kind == "grow":
            topic = topics[count % len(topics)]
            record = PartitionsAdded(
                topic_id=topic.topic_id.hex, first_stream=catalogue.next_stream, count=count
            )
            change = catalogue.plan(record)
        else:
            topic = topics[count % len(topics)]
            change = catalogue.plan(TopicDeleted(topic_id=topic.topic_id.hex, name=topic.name))
        (change.undo if is_lost else change.confirm)()
    owned = {
        stream_id: (topic, index)
        for topic in catalogue.by_name.values()
        for index, stream_id in enumerate(topic.stream_ids())
    }
    for stream_id in range(-1, catalogue.next_stream + 3):
        assert catalogue.streams.find(stream_id) == owned.get(stream_id)
