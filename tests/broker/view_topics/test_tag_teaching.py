"""A history is shown the batches between two offsets, once each, without those that views do not show."""

from __future__ import annotations

from typing import Any

from broker.loop.slices import Steps, run_here
from broker.view_topics.tag_teaching import taught, teach
from broker.view_topics.view_slices import SliceBudget
from protocol.records import read_batch_header
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.broker.transactions import end, transactional
from tests.broker.views import finished
from views.tag_history import TagHistory


def made() -> Gateway:
    gateway = Gateway()
    create(gateway.client(), "t")
    for value in (b"0", b"1"):
        send(gateway.client(), "t", batch(value, key=b"k"))
    transactional(gateway, b"2", 1)
    end(gateway, 1, commit=False)
    send(gateway.client(), "t", batch(b"4", key=b"k"))
    return gateway


class Evaluation:
    """An evaluation that notes the batches it is given."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, data: memoryview, tags: Any, index: int) -> Steps:
        self.seen.append(read_batch_header(data).base_offset)
        yield
        return index


def test_batches_are_shown_once_and_hidden_ones_are_passed() -> None:
    partition, evaluation, history = made().partition("t"), Evaluation(), TagHistory(0)
    finished(teach(evaluation, SliceBudget(), run_here, partition, history, 0, 1))
    assert (evaluation.seen, history.end) == ([0], 1)
    finished(teach(evaluation, SliceBudget(), run_here, partition, history, 0, 5))
    assert (evaluation.seen, history.end) == ([0, 1, 4], 5)
    finished(teach(evaluation, SliceBudget(), run_here, partition, history, 0, 5))
    assert evaluation.seen == [0, 1, 4]


def test_the_rest_is_left_while_another_fetch_teaches() -> None:
    partition, evaluation, history = made().partition("t"), Evaluation(), TagHistory(0)
    other = teach(evaluation, SliceBudget(), run_here, partition, history, 0, 5)
    next(iter(other))
    finished(teach(evaluation, SliceBudget(), run_here, partition, history, 0, 5))
    assert (evaluation.seen, history.end) == ([0], 0)


def test_a_batch_that_is_given_up_is_learned_by_the_next() -> None:
    partition, evaluation, history = made().partition("t"), Evaluation(), TagHistory(0)
    data = memoryview(bytes(batch(b"0", key=b"k")))
    steps = taught(evaluation, data, history, 0)
    next(steps)
    assert history.is_busy(0)
    steps.close()
    assert not history.is_busy(0)
    finished(teach(evaluation, SliceBudget(), run_here, partition, history, 0, 5))
    assert history.end == 5
