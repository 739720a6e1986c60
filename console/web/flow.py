"""The flow of records: topics, the views that are made of them, and the groups that read either."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from console.admin import ask_private, check
from console.wire import NotKawal
from protocol.messages.kawal_groups import KawalGroupsRequest, SubscriptionInfo
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction

COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT, LETTERS_MAX = 330, 48, 200, 34, 26
"""Measures of the drawing, in its own units, and letters that fit into a box; lags fit between columns."""


class Edge(NamedTuple):
    """A step of the flow; lag is that of a group in all partitions."""

    source: str
    target: str
    kind: str
    """The target's kind: view or group."""
    lag: int | None
    lag_seconds: float | None


class Box(NamedTuple):
    """A topic, view or group of the drawing."""

    name: str
    label: str
    kind: str
    x: int
    y: int


class Line(NamedTuple):
    """A line of the drawing, from a box's right side to the left one of another."""

    x1: int
    y1: int
    x2: int
    y2: int
    label: str


class Drawing(NamedTuple):
    """Boxes, and the lines between them."""

    boxes: list[Box]
    lines: list[Line]
    width: int
    height: int


TOPIC: Final = "topic"


def flow_of(bootstrap: str) -> list[Edge] | None:
    """Return the steps by their source; None where the broker does not tell.  Raises: CommandError."""
    try:
        topics = ask_private(bootstrap, KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=None))
        groups = ask_private(bootstrap, KawalGroupsRequest(group_ids=None))
    except NotKawal:
        return None
    check(groups.error_code, groups.error_message, "asking for the groups")
    places: defaultdict[tuple[str, str], list[SubscriptionInfo]] = defaultdict(list)
    for place in groups.subscriptions:
        places[place.topic, place.group_id].append(place)
    edges = [Edge(view.source, view.name, "view", None, None) for view in topics.topics if view.source]
    edges += [_reading(topic, group, found) for (topic, group), found in places.items()]
    return sorted(edges, key=lambda edge: (edge.source, edge.kind, edge.target))


def _reading(topic: str, group: str, places: Sequence[SubscriptionInfo]) -> Edge:
    known = [place.lag_ms for place in places if place.lag_ms >= 0]
    return Edge(
        topic, group, "group", sum(place.lag for place in places), max(known) / 1000 if known else None
    )


def around(edges: Sequence[Edge], topic: str) -> list[Edge]:
    """Return the steps that lead to a topic, and all that follow it."""
    found = _followed(edges, {topic})
    names = {topic}
    while names:
        before = [edge for edge in edges if edge.kind == "view" and edge.target in names]
        found |= set(before)
        names = {edge.source for edge in before}
    return [edge for edge in edges if edge in found]


def _followed(edges: Sequence[Edge], names: set[str]) -> set[Edge]:
    found: set[Edge] = set()
    while names:
        after = {edge for edge in edges if edge.source in names} - found
        found |= after
        names = {edge.target for edge in after if edge.kind == "view"}
    return found


def drawing_of(edges: Sequence[Edge]) -> Drawing:
    """Return where the boxes of these steps lie: a column further right with each step."""
    depths = _depths(edges)
    columns: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for node, depth in depths.items():
        columns[depth].append(node)
    boxes = {
        (kind, name): Box(name, _label(name), kind, depth * COLUMN, row * ROW)
        for depth, nodes in columns.items()
        for row, (kind, name) in enumerate(nodes)
    }
    lines = [_line(boxes[source_of(edge)], boxes[target_of(edge)], edge) for edge in edges]
    width = max((box.x for box in boxes.values()), default=0) + BOX_WIDTH
    height = max((box.y for box in boxes.values()), default=0) + BOX_HEIGHT
    return Drawing(list(boxes.values()), lines, width, height)


def source_of(edge: Edge) -> tuple[str, str]:
    """Return the box that a step begins at: views are topics, too."""
    return TOPIC, edge.source


def target_of(edge: Edge) -> tuple[str, str]:
    """Return the box that a step leads to."""
    return ("group" if edge.kind == "group" else TOPIC), edge.target


def _depths(edges: Iterable[Edge]) -> dict[tuple[str, str], int]:
    """Return the column of each box: one more than that of what is before it."""
    steps = [(source_of(edge), target_of(edge)) for edge in edges]
    depths = dict.fromkeys((node for step in steps for node in step), 0)
    for _ in range(len(depths)):  # views form no circle; a broker that says otherwise ends here
        later = {target: depths[source] + 1 for source, target in steps if depths[target] <= depths[source]}
        if not later:
            break
        depths.update(later)
    return depths


def _label(name: str) -> str:
    return name if len(name) <= LETTERS_MAX else name[: LETTERS_MAX - 1] + "…"


def _line(source: Box, target: Box, edge: Edge) -> Line:
    middle = BOX_HEIGHT // 2
    lag = "" if edge.lag is None else f"{edge.lag:,} behind"
    return Line(source.x + BOX_WIDTH, source.y + middle, target.x, target.y + middle, lag)
