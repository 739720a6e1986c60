"""The flow of records."""

from __future__ import annotations

from typing import Any

import pytest

from console.web import flow
from console.web.flow import Edge, around, drawing_of, flow_of
from console.wire import NotKawal

EDGES = [
    Edge("t", "v", "view", None, None),
    Edge("u", "g", "group", 7, 1.5),
    Edge("v", "w", "view", None, None),
    Edge("w", "g", "group", 3, None),
]


def test_around_a_topic_is_what_leads_to_it_and_what_follows() -> None:
    assert around(EDGES, "v") == [EDGES[0], EDGES[2], EDGES[3]]
    assert around(EDGES, "u") == [EDGES[1]]
    assert around(EDGES, "x") == []


def test_each_step_leads_a_column_to_the_right_and_a_name_is_one_box() -> None:
    drawing = drawing_of(EDGES)
    at = {(box.kind, box.name): box.x for box in drawing.boxes}
    assert at["topic", "t"] < at["topic", "v"] < at["topic", "w"] < at["group", "g"]
    assert len(drawing.boxes) == len(set(at)) == 5
    assert [line.label for line in drawing.lines] == ["", "7 behind", "", "3 behind"]
    assert all(line.x1 < line.x2 for line in drawing.lines)


def test_a_group_with_the_name_of_a_topic_is_a_box_of_its_own() -> None:
    drawing = drawing_of([Edge("t", "t", "group", 0, None)])
    assert [(box.kind, box.name) for box in drawing.boxes] == [("topic", "t"), ("group", "t")]


def test_a_circle_that_no_broker_should_tell_ends() -> None:
    circle = [Edge("a", "b", "view", None, None), Edge("b", "a", "view", None, None)]
    assert len(drawing_of(circle).boxes) == 2


def test_nothing_is_an_empty_drawing() -> None:
    assert drawing_of([]).boxes == []


def test_another_broker_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: Any) -> Any:
        raise NotKawal("closed")

    monkeypatch.setattr(flow, "ask_private", closed)
    assert flow_of("h:1") is None
