"""The judge of records, one by one: whether they fit the columns of an UNFIT plan.

It runs the generated loop of queries over rows (`evaluator.build_row_scan`): what fits here fits there, and
the other way round.  Whether a record fits depends on itself alone: earlier tags of its key do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from protocol.record_reader import Record
from views.bounds import EVERYTHING
from views.code_scan import HEADERS_MAX
from views.evaluator import build_row_scan
from views.plan import Plan, UnfitPlan
from views.tags import KeyTags
from views.unfit_reasons import Explainer


class FitTags(KeyTags):
    """A stand-in for the tags of keys where only a record's own tags count; it remembers none."""

    def __init__(self) -> None:
        self.by_key = {}

    def resolve(
        self,
        readers: Sequence[tuple[str, Callable[[str], Any]]],
        key: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        own: Sequence[Any],
    ) -> list[Any]:
        """Read the headers that carry tags.  Raises: UnfitTag."""
        return super().resolve(readers, None, headers, own) if headers else list(own)


FIT_TAGS: Final = FitTags()


class Judge:
    """The judge of a plan's records; made for the first batch in which a record is unfit."""

    def __init__(self, plan: UnfitPlan) -> None:
        self.plan = plan
        self.reads_headers = "headers" in plan.needs
        self._record_bytes_max = plan.record_bytes_max
        self._fits = build_row_scan(replace(plan, predicate=None))
        self._explainer = Explainer(plan.uses)
        self.asks: frozenset[str] = frozenset()
        """The parts of each record that WHERE needs, as in `Plan.needs`."""
        self._fulfils: Callable[..., int] | None = None
        if plan.where is not None:
            where = Plan(plan.statement, (), plan.where, None, EVERYTHING)
            self.asks, self._fulfils = where.needs, build_row_scan(where)

    def unfit(self, columns: dict[str, list[Any]], count: int) -> list[int]:
        """Return which of `count` records do not fit, by their values and, for tags, keys and headers."""
        taken: list[int] = []
        self._fits(count, columns, FIT_TAGS, taken, [])
        if len(taken) == count:
            return []
        fitting = set(taken)
        return [at for at in range(count) if at not in fitting]

    def misfits(self, records: Sequence[Record]) -> list[tuple[int, str]]:
        """Return the places of the records that do not fit, and why; what is beyond the bounds does not."""
        found = [(at, why) for at, record in enumerate(records) if (why := self._beyond(record)) is not None]
        beyond = {at for at, _ in found}
        places = [at for at in range(len(records)) if at not in beyond]
        columns: dict[str, list[Any]] = {"value": [records[at].value for at in places]}
        if self.reads_headers:
            columns["key"] = [records[at].key for at in places]
            columns["headers"] = [records[at].headers for at in places]
        for at in self.unfit(columns, len(places)):
            record = records[places[at]]
            found.append((places[at], self.explain(record.value, record.headers)))
        return sorted(found)

    def _beyond(self, record: Record) -> str | None:
        size = len(record.value or b"")
        if size > self._record_bytes_max:
            return f"a value of {size} bytes is not looked at; at most {self._record_bytes_max} are allowed"
        if self.reads_headers and len(record.headers) > HEADERS_MAX:
            return (
                f"tags are looked for in {HEADERS_MAX} headers at most, and there are {len(record.headers)}"
            )
        return None

    def explain(self, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()) -> str:
        """Return why a record does not fit."""
        return self._explainer.explain(value, headers)

    def asked_for(self, columns: dict[str, list[Any]], count: int) -> Iterable[int]:
        """Return which of `count` unfit records WHERE takes; `columns` has the parts that it `asks` for."""
        if self._fulfils is None:
            return range(count)
        taken: list[int] = []
        self._fulfils(count, columns, FIT_TAGS, taken, [])
        return taken


@lru_cache(maxsize=64)
def judge_of(plan: UnfitPlan) -> Judge:
    """Return the judge of a plan, compiled once: about 3 ms."""
    return Judge(plan)
