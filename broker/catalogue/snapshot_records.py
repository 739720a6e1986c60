"""The records that replay to the present catalogue, kept up to date with each change.

A snapshot of the catalogue is this list: taking it copies references, and a change costs the same however
much exists.  Databases and counters are few; they are added when the snapshot is taken.
"""

from __future__ import annotations

from itertools import chain

from msgspec.structs import replace

from broker.catalogue.catalogue_records import (
    AclAdded,
    AclRemoved,
    BrokerConfigs,
    CatalogueRecord,
    ClientQuotas,
    DelegationTokenRemoved,
    DelegationTokenSet,
    FeatureLevel,
    GroupConfigs,
    PartitionsAdded,
    PartitionSplit,
    PartitionsRenewed,
    ScramCredentials,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
    ViewReloaded,
    acl_of,
)


class SnapshotRecords:
    """The durable records that count, by what they are about, in the order in which that was made.

    So a source comes before the views over it.
    """

    def __init__(self) -> None:
        self._by_subject: dict[tuple[type, str], list[CatalogueRecord]] = {}

    def apply(self, record: CatalogueRecord) -> None:
        """Take in a record that has become durable."""
        match record:
            case TopicCreated():
                self._by_subject[TopicCreated, record.topic_id] = [record]
            case PartitionsAdded() | PartitionSplit() | PartitionsRenewed():
                self._grow(record)
            case TopicConfigs() | ViewReloaded():
                known = self._by_subject[TopicCreated, record.topic_id]
                view = {"view": record.view} if isinstance(record, ViewReloaded) else {}
                known[0] = replace(known[0], configs=record.configs, **view)
            case TopicDeleted():
                self.forget(record.topic_id)
            case BrokerConfigs():
                self._put((BrokerConfigs, record.broker_id), record, is_set=bool(record.configs))
            case GroupConfigs():
                self._put((GroupConfigs, record.group), record, is_set=bool(record.configs))
            case ScramCredentials():
                self._put((ScramCredentials, record.user), record, is_set=bool(record.credentials))
            case ClientQuotas():
                self._put((ClientQuotas, record.entity), record, is_set=bool(record.values))
            case FeatureLevel():
                self._put((FeatureLevel, record.name), record, is_set=True)
            case DelegationTokenSet() | DelegationTokenRemoved():
                is_set = isinstance(record, DelegationTokenSet)
                self._put((DelegationTokenSet, record.token_id), record, is_set=is_set)
            case AclAdded() | AclRemoved():
                subject = AclAdded, repr(acl_of(record))
                self._put(subject, record, is_set=isinstance(record, AclAdded))
            case _:
                pass

    def _grow(self, record: PartitionsAdded | PartitionSplit | PartitionsRenewed) -> None:
        known = self._by_subject[TopicCreated, record.topic_id]
        if isinstance(record, PartitionsRenewed) and record.configs is not None:
            known[0] = replace(known[0], configs=record.configs)
            record = replace(record, configs=None)
        known.append(record)

    def forget(self, topic_id: str) -> None:
        """Leave out a topic although no record says that it was deleted."""
        self._by_subject.pop((TopicCreated, topic_id), None)

    def _put(self, subject: tuple[type, str], record: CatalogueRecord, *, is_set: bool) -> None:
        if is_set:
            self._by_subject[subject] = [record]
        else:
            self._by_subject.pop(subject, None)

    def all(self) -> list[CatalogueRecord]:
        """Return the records: 250,000 references take about 5 ms."""
        return list(chain.from_iterable(self._by_subject.values()))
