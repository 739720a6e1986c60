"""InitProducerId in odd cases; the codes are those of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.gateway import Gateway


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 0), (-1, -2), (0, -1)])
def test_an_id_without_epoch_or_the_reverse_is_refused(producer_id: int, epoch: int) -> None:
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=0, producer_id=producer_id, producer_epoch=epoch
    )
    answer = Gateway().client().call(request, 3)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
        ErrorCode.INVALID_REQUEST,
        -1,
        -1,
    )


def test_both_give_a_new_id() -> None:
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=0, producer_id=5, producer_epoch=2
    )
    answer = Gateway().client().call(request, 3)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 0, 0)
