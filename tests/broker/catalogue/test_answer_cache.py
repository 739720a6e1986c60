"""Answers are made once, shared by all that wait, and kept within bounds; test_metadata.py asks for some."""

from __future__ import annotations

import pytest

from broker.catalogue import answer_cache
from broker.catalogue.answer_cache import AnswerCache
from broker.catalogue.catalogue_records import GroupConfigs
from broker.catalogue.topics import Catalogue
from broker.loop.slices import Steps, Until, all_here, run_here
from protocol.messages.metadata import MetadataResponse

VERSION = 9


class Maker:
    """Makes answers in two steps, and counts them."""

    def __init__(self) -> None:
        self.begun = 0

    def __call__(self) -> Steps:
        self.begun += 1
        yield
        return MetadataResponse(brokers=[], cluster_id="x" * 100, topics=[])


def test_an_answer_is_made_anew_only_after_a_change() -> None:
    catalogue, maker = Catalogue(), Maker()
    cache = AnswerCache(catalogue)
    first = all_here(cache.answer("key", maker, VERSION, run_here))
    assert all_here(cache.answer("key", maker, VERSION, run_here)) is first
    assert maker.begun == 1
    all_here(cache.answer("other key", maker, VERSION, run_here))
    catalogue.replay(GroupConfigs(group="g", configs={}))
    assert all_here(cache.answer("key", maker, VERSION, run_here)) is not first
    assert maker.begun == 3


def test_a_lost_change_counts_as_a_change() -> None:
    catalogue, maker = Catalogue(), Maker()
    cache = AnswerCache(catalogue)
    planned = catalogue.plan(GroupConfigs(group="g", configs={"k": "v"}))
    all_here(cache.answer("key", maker, VERSION, run_here))
    planned.undo()
    all_here(cache.answer("key", maker, VERSION, run_here))
    assert maker.begun == 2


def test_one_that_waits_goes_on_when_the_maker_leaves() -> None:
    maker = Maker()
    cache = AnswerCache(Catalogue())
    making = cache.answer("key", maker, VERSION, run_here)
    next(making)
    waiting = [cache.answer("key", maker, VERSION, run_here) for _ in range(3)]
    resumed: list[int] = []
    for number, steps in enumerate(waiting):
        waits = next(steps)
        assert isinstance(waits, Until)
        waits.start(lambda number=number: resumed.append(number))  # type: ignore[misc]
    assert maker.begun == 1
    making.close()
    assert resumed == [0, 1, 2]
    answer = all_here(waiting[0])
    assert all_here(waiting[1]) is all_here(waiting[2]) is answer
    assert maker.begun == 2


def test_answers_are_kept_up_to_a_size_and_the_newest_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "CACHE_BYTES_MAX", 300)
    maker = Maker()
    cache = AnswerCache(Catalogue())
    for key in (1, 2, 3, 3, 2):
        all_here(cache.answer(key, maker, VERSION, run_here))
    assert maker.begun == 3
    all_here(cache.answer(1, maker, VERSION, run_here))
    assert maker.begun == 4
    monkeypatch.setattr(answer_cache, "CACHE_BYTES_MAX", 1)
    for key in (4, 4):
        all_here(cache.answer(key, maker, VERSION, run_here))
    assert maker.begun == 5
