"""Whether a client may write the transactional records of a Produce request.

The flag in a batch decides, not the request's transactional id (CVE-2018-1288): records that say that they
are part of a transaction need WRITE on the id, and without an id they are refused.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from broker.loop.slices import PLAIN_ITEMS_PER_STEP, chunks
from broker.security.authorized_operations import Operation
from broker.security.rights import Rights
from protocol.error_codes import ErrorCode
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.records import HEADER_BYTES, TRANSACTIONAL

ATTRIBUTES_AT: Final = 22
"""The position in a batch of the byte of its attributes that has the flag; the codec comes first in it."""


def is_denied(rights: Rights, request: ProduceRequest) -> Generator[None, None, bool]:
    """Whether the request has transactional records that the client may not write."""
    transactional_id = request.transactional_id
    if transactional_id is not None and rights.may_transactional_id(Operation.WRITE, transactional_id):
        return False
    for number, topic in enumerate(request.topic_data, start=1):
        for part in chunks(topic.partition_data):
            for data in part:
                records = data.records
                if records and len(records) >= HEADER_BYTES and records[ATTRIBUTES_AT] & TRANSACTIONAL:
                    return True
            yield
        if not number % PLAIN_ITEMS_PER_STEP:
            yield
    return False


def denial(request: ProduceRequest) -> Generator[None, None, ProduceResponse]:
    """Return the answer that refuses every partition."""
    response = ProduceResponse(responses=[])
    for number, topic in enumerate(request.topic_data, start=1):
        if not number % PLAIN_ITEMS_PER_STEP:
            yield
        refused: list[PartitionProduceResponse] = []
        for part in chunks(topic.partition_data):
            refused += [
                PartitionProduceResponse(
                    index=data.index,
                    base_offset=-1,
                    error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                )
                for data in part
            ]
            yield
        response.responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=refused)
        )
    return response
