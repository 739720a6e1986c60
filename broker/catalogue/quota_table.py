"""The client quotas that exist: the state which their records in the catalogue's log make up.

A quota is in effect from the moment at which its record is planned, and is given up again if the record is
lost.
"""

from __future__ import annotations

import json

from broker.catalogue.catalogue_records import ClientQuotas
from broker.catalogue.database_table import Halves
from broker.catalogue.settings_plan import plan_nothing

Values = dict[str, float]
Entity = tuple[tuple[str, str | None], ...]


def record_of(entity: Entity, values: Values) -> ClientQuotas:
    """Return the record that gives an entity exactly these quotas."""
    return ClientQuotas(
        entity=json.dumps(entity), values={key: repr(float(value)) for key, value in values.items()}
    )


def entity_in(text: str) -> Entity:
    """Return the entity of a record."""
    return tuple((kind, name) for kind, name in json.loads(text))


class QuotaTable:
    """All quotas, by entity."""

    def __init__(self) -> None:
        self.values: dict[Entity, Values] = {}
        """The quotas by entity and key; not to be changed."""
        self.changes = 0
        """The number of changes so far: what was derived from the table is to be derived again."""

    def of(self, entity: Entity) -> Values:
        """Return the quotas of an entity by their keys; they are not to be changed."""
        return self.values.get(entity, {})

    def plan(self, record: ClientQuotas) -> Halves:
        """Give an entity exactly the quotas of the record."""
        entity = entity_in(record.entity)
        before = self.values.get(entity, {})
        self._put(entity, {key: float(value) for key, value in record.values.items()})
        return plan_nothing, lambda: self._put(entity, before)

    def _put(self, entity: Entity, values: Values) -> None:
        self.changes += 1
        if values:
            self.values[entity] = values
        else:
            self.values.pop(entity, None)
