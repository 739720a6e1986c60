"""All indexes of routes of a broker (route_index.py), with the compiled expressions that they share."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

from broker.view_topics.route_index import RoutedView, RouteIndex

if TYPE_CHECKING:
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_routing import Route
    from views.expressions import Expression
    from views.plan import Plan
    from views.router import Router

ROUTERS_MAX: Final = 100
"""Expressions that are kept compiled; compiling one takes 2 ms."""


class RouteIndexes:
    """All indexes of a broker, with the compiled expressions that they share."""

    def __init__(self, host: ViewHost) -> None:
        self._host = host
        self.indexes: dict[tuple[int, int], RouteIndex] = {}
        self.routers: dict[Expression, Router] = {}
        # The numbers of expressions, and of how many indexes each is: without one, it is forgotten.
        self._numbers: dict[Expression, int] = {}
        self._counts: Counter[int] = Counter()
        self._next = count()

    def number_of(self, expression: Expression) -> int:
        """Return the number of an expression: comparing trees a thousand times costs too much.

        An index of it is made, or found, next (`of`).
        """
        found = self._numbers.get(expression)
        if found is None:
            found = self._numbers[expression] = next(self._next)
        return found

    def of(self, view: RoutedView, plan: Plan, route: Route) -> RouteIndex:
        """Return the index of the values that the expression of the route has on the view's source."""
        key = view.stream_id, route.number
        index = self.indexes.get(key)
        if index is None:
            from views.router import routed_plan

            # The plan itself would stay with the index, with all of its first view's statement.
            index = self.indexes[key] = RouteIndex(
                self._host,
                partial(self._router, routed_plan(plan, route.expression), route.expression),
                vnode=view.vnode,
                stream_id=view.stream_id,
                partition=view.index,
                closed=partial(self._index_closed, key, route.expression),
            )
            self._counts[route.number] += 1
        return index

    def _index_closed(self, key: tuple[int, int], expression: Expression) -> None:
        del self.indexes[key]
        self._counts[key[1]] -= 1
        if not self._counts[key[1]]:
            del self._counts[key[1]]
            del self._numbers[expression]
            self.routers.pop(expression, None)

    def _router(self, plan: Plan, expression: Expression) -> Router:
        """Return a router, which gives the value of an expression for each record."""
        found = self.routers.get(expression)
        if found is None:
            from views.router import build_router

            if len(self.routers) >= ROUTERS_MAX:
                del self.routers[next(iter(self.routers))]
            found = self.routers[expression] = build_router(plan, expression)
            self._host.compiled += 1
        return found
