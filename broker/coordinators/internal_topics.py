"""The topics that keep the state of coordinators, made at the start of a cluster's controller.

A node that is alone makes each with its first record.  Several nodes must know them before they serve anyone:
the partitions say which node coordinates a group, or a transactional id.
"""

from __future__ import annotations

import logging
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic_admin import offsets_topic, transactions_topic
from broker.catalogue.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker.errors import RequestError
from broker.loop.loop import Loop
from protocol.error_codes import ErrorCode

logger = logging.getLogger("kawal.coordinators")

AGAIN_MS: Final = 1_000

MADE: Final = {OFFSETS_TOPIC: offsets_topic, TRANSACTIONS_TOPIC: transactions_topic}


def make_topics(metadata: Metadata, loop: Loop, now_ms: int) -> None:
    """Make what is missing; try again later if that cannot be recorded."""
    topics, errors = metadata.topics, list[ErrorCode]()
    try:
        for name, new in MADE.items():
            if name not in metadata.catalogue.by_name:
                record = topics.check_new(new(metadata.config), loop.clock.wall_ms(now_ms))
                topics.create(record, now_ms)
    except RequestError as error:
        logger.error("the topics of coordinators cannot be made yet: %s", error)
        errors.append(error.code)

    def durable(error: ErrorCode | None) -> None:
        if (error or errors) and not loop.stopping:
            loop.timers.add(
                loop.clock.turn_ms + AGAIN_MS, lambda later_ms: make_topics(metadata, loop, later_ms)
            )

    metadata.metadata_log.when_durable(durable, now_ms)
