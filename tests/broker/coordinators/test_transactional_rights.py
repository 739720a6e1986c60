"""Transactional records need WRITE on their transactional id, whatever the request says."""

from __future__ import annotations

from broker.coordinators.transactional_rights import denial, is_denied
from broker.loop.slices import at_once
from broker.security.authorized_operations import Operation
from broker.security.authorizer import Authorizer
from broker.security.rights import Rights
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS
from tests.broker.guarded import ALICE, TRANSACTION, rule
from tests.broker.kit import batch, producing

RIGHTS = Rights(Authorizer(acls=[rule(Operation.WRITE, TRANSACTION, "x")]), ALICE, "10.0.0.9")


def asked(transactional_id: str | None, *, transactional: bool) -> ProduceRequest:
    data = encode_batch(
        [Record(0, START_MS, None, b"a")],
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        transactional=transactional,
    )
    request = producing(("t", 0, batch(b"a")), ("t", 1, data), ("t", 2, None))
    request.transactional_id = transactional_id
    return request


def test_the_batch_decides_not_the_request() -> None:
    assert at_once(is_denied(RIGHTS, asked(None, transactional=True)))
    assert at_once(is_denied(RIGHTS, asked("other", transactional=True)))
    assert not at_once(is_denied(RIGHTS, asked("x", transactional=True)))
    assert not at_once(is_denied(RIGHTS, asked("other", transactional=False)))


def test_the_answer_refuses_every_partition() -> None:
    answer = at_once(denial(asked(None, transactional=True)))
    codes = [part.error_code for topic in answer.responses for part in topic.partition_responses]
    assert codes == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 3
