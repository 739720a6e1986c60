"""Which topics a request of a share group may not read."""

from __future__ import annotations

from uuid import UUID

from broker.fetching.share_denials import ShareDenials
from broker.security.authorized_operations import Operation
from broker.security.rights import Rights
from tests.broker.guarded import ALICE, TOPIC, Guarded
from tests.broker.kit import create


def test_a_client_that_may_do_everything_is_denied_nothing() -> None:
    guarded = Guarded()
    topic_id = create(guarded.admin, "t")
    assert not ShareDenials(None, guarded.broker.catalogue).denies(topic_id)


def test_a_topic_is_decided_on_once() -> None:
    guarded = Guarded()
    assert guarded.broker.authorizer is not None
    topic_id = create(guarded.admin, "t")
    rights = Rights(guarded.broker.authorizer, ALICE, "10.0.0.9")
    denials = ShareDenials(rights, guarded.broker.catalogue)
    assert denials.denies(topic_id)
    guarded.allow(Operation.READ, TOPIC, "t")
    assert denials.denies(topic_id)
    assert not ShareDenials(rights, guarded.broker.catalogue).denies(topic_id)


def test_a_topic_that_does_not_exist_is_left_to_the_reader() -> None:
    guarded = Guarded()
    assert guarded.broker.authorizer is not None
    rights = Rights(guarded.broker.authorizer, ALICE, "10.0.0.9")
    assert not ShareDenials(rights, guarded.broker.catalogue).denies(UUID(int=99))
