"""The topics of a table by their ids: one that is deleted and made again is another, whatever its name.

Its offsets begin anew, so that going on where the table ends would leave out its first records without a
word. The broker gives every topic an id (KIP-516), which the ledger remembers; brokers before Kafka 2.8 give
none, and then nothing can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.errors import SourceError
from pipeline.ledger import Ledger
from pipeline.positions import Positions

TopicIds = Mapping[str, str]


def check_generations(ledger: Ledger, ids: TopicIds, job_file: str) -> None:
    """Refuse topics that are not those which landed so far.  Raises: SourceError."""
    made_again = recreated(ledger.topics, ids)
    if not made_again:
        return
    topic = made_again[0]
    ends = _ends(ledger.positions, topic)
    raise SourceError(
        f"the topic {topic!r} was deleted and made again since it landed in {ledger.shown}: its id was "
        f"{ledger.topics[topic]} and is {ids[topic]} now. The table ends at {ends} of the old one; nothing "
        f"of the new one has landed. To land it from its first record on: kawal pipe reset {job_file} "
        f"--topic {topic} "
        "--from-new"
    )


def recreated(before: TopicIds, now: TopicIds) -> list[str]:
    """Return the topics whose id has changed."""
    return sorted(
        topic for topic, known in before.items() if known and now.get(topic, known) not in ("", known)
    )


def removed(positions: Positions, topics: Iterable[str]) -> list[str]:
    """Return a sentence for each topic that has landed and that the job does not read any more."""
    reads = set(topics)
    return [
        f"the topic {topic!r} is no longer in source.topics; its rows, up to {_ends(positions, topic)}, stay"
        for topic in positions
        if topic not in reads
    ]


def _ends(positions: Positions, topic: str) -> str:
    ends = sorted(positions.get(topic, {}).items(), key=lambda held: int(held[0]))
    return ", ".join(f"{topic}-{partition} offset {offset:,}" for partition, offset in ends)
