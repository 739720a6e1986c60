"""Proofs of nodes: of one role, connection, node and cluster, and of no other."""

from __future__ import annotations

from random import Random

import pytest

from broker.security.node_greeting import (
    LOG_INTERVAL_MS,
    NONCE_BYTES,
    Greeter,
    Hello,
    Reply,
    is_proof,
    proof_of_asked,
    proof_of_asking,
)
from protocol.error_codes import ErrorCode

SECRET = b"0123456789abcdef"
HELLO = Hello(1, 0, 3, "cluster", bytes(NONCE_BYTES))
REPLY = Reply(0, "cluster", 5)
NONCE = b"n" * NONCE_BYTES


def greeter(secret: bytes = SECRET) -> Greeter:
    return Greeter(secret, number=0, count=3, random=Random(1))


def test_a_node_with_the_secret_is_known() -> None:
    judge = greeter()
    proof = proof_of_asking(SECRET, HELLO, judge.nonce(7))
    assert judge.is_node(HELLO, 7, proof)
    assert is_proof(judge.prove(HELLO, 7, REPLY), proof_of_asked(SECRET, HELLO, judge.nonce(7), REPLY))


def test_a_proof_is_good_for_one_connection() -> None:
    judge = greeter()
    proof = proof_of_asking(SECRET, HELLO, judge.nonce(7))
    assert not judge.is_node(HELLO, 8, proof)
    assert not Greeter(SECRET, number=0, count=3, random=Random(2)).is_node(HELLO, 7, proof)


@pytest.mark.parametrize("proof", [b"", bytes(32), b"x" * 31, b"x" * 1000])
def test_bytes_that_are_no_proof_are_refused(proof: bytes) -> None:
    assert not greeter().is_node(HELLO, 7, proof)


def test_another_secret_is_refused() -> None:
    proof = proof_of_asking(b"another secret 16", HELLO, greeter().nonce(7))
    assert not greeter().is_node(HELLO, 7, proof)


def test_no_field_can_be_changed_or_moved_into_the_next() -> None:
    proofs = {
        proof_of_asking(SECRET, hello, nonce)
        for hello in (
            HELLO,
            HELLO._replace(number=2),
            HELLO._replace(to=2),
            HELLO._replace(nodes=4),
            HELLO._replace(cluster_id=""),
            HELLO._replace(number=10, to=3, nodes=3),
            HELLO._replace(number=1, to=3, nodes=33),
            HELLO._replace(cluster_id="cluste", nonce=b"r" + HELLO.nonce),
        )
        for nonce in (NONCE, bytes(NONCE_BYTES))
    }
    assert len(proofs) == 16


def test_a_proof_of_one_role_is_none_of_the_other() -> None:
    asking = proof_of_asking(SECRET, HELLO, NONCE)
    replies = [Reply(0, "", 0), REPLY, REPLY._replace(code=1), REPLY._replace(clock_ms=6)]
    assert len({asking, *(proof_of_asked(SECRET, HELLO, NONCE, reply) for reply in replies)}) == 5


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (HELLO, ErrorCode.NONE),
        (HELLO._replace(cluster_id=""), ErrorCode.NONE),
        (HELLO._replace(cluster_id="other"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (HELLO._replace(nodes=4), ErrorCode.INVALID_CONFIG),
        (HELLO._replace(number=3), ErrorCode.INVALID_CONFIG),
        (HELLO._replace(number=-1), ErrorCode.INVALID_CONFIG),
        (HELLO._replace(to=1), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (HELLO._replace(number=0), ErrorCode.BROKER_ID_NOT_REGISTERED),
    ],
)
def test_a_node_with_the_secret_is_told_what_is_wrong(hello: Hello, code: ErrorCode) -> None:
    assert greeter().judge(hello, "cluster") == code


def test_refusals_are_logged_once_in_a_minute() -> None:
    judge = greeter()
    assert judge.may_log(5)
    assert not judge.may_log(4 + LOG_INTERVAL_MS)
    assert judge.may_log(5 + LOG_INTERVAL_MS)
