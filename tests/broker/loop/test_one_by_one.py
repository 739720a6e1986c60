"""Steps are taken one after another, in the order in which they came, also when clients leave."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.loop.one_by_one import OneByOne
from broker.loop.slices import Until, WaitingSteps


class Line:
    """Some steps that share a line, and the order in which they are taken."""

    def __init__(self, count: int) -> None:
        self.order = OneByOne()
        self.taken: list[tuple[int, int]] = []
        self.all = [self.order.steps(self._steps(number)) for number in range(count)]
        self.resumed: list[int] = []

    def _steps(self, number: int) -> WaitingSteps:
        for step in range(3):
            self.taken.append((number, step))
            yield None
        return number

    def go_on(self, number: int) -> object:
        """Take one step; return what is yielded or, in the end, the result."""
        try:
            waits = next(self.all[number])
        except StopIteration as end:
            return end.value
        if waits is not None:
            waits.start(self._resumer(number))
        return waits

    def _resumer(self, number: int) -> Callable[[], None]:
        return lambda: self.resumed.append(number)

    def finish(self, number: int) -> None:
        while self.go_on(number) is None:
            pass


def test_those_behind_the_first_wait_and_are_woken_in_their_order() -> None:
    line = Line(3)
    assert line.go_on(0) is None
    assert isinstance(line.go_on(1), Until)
    assert isinstance(line.go_on(2), Until)
    line.finish(0)
    assert line.resumed == [1]
    line.finish(1)
    line.finish(2)
    assert line.resumed == [1, 2]
    assert line.taken == [(number, step) for number in range(3) for step in range(3)]
    assert not line.order


def test_one_that_comes_before_the_woken_one_goes_on_has_it_wait_again() -> None:
    line = Line(3)
    line.go_on(0)
    line.go_on(1)
    line.finish(0)
    line.go_on(2)
    assert isinstance(line.go_on(1), Until)
    line.finish(2)
    assert line.resumed == [1, 1]
    line.finish(1)
    assert {number for number, _ in line.taken} == {0, 1, 2}


@pytest.mark.parametrize("is_woken", [False, True])
def test_one_whose_client_leaves_while_it_waits_does_not_keep_the_others(*, is_woken: bool) -> None:
    line = Line(3)
    for number in range(3):
        line.go_on(number)
    if not is_woken:
        line.all[1].close()
    line.finish(0)
    if is_woken:
        line.all[1].close()
    assert line.resumed[-1] == 2
    line.finish(2)
    assert not line.order


def test_one_that_leaves_in_the_middle_or_fails_gives_the_turn_away() -> None:
    line = Line(3)
    for number in range(3):
        line.go_on(number)
    line.all[0].close()
    assert line.resumed == [1]
    line.go_on(1)
    with pytest.raises(ValueError, match="broken"):
        line.all[1].throw(ValueError("broken"))
    assert line.resumed == [1, 2]
    line.finish(2)
