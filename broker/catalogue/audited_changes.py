"""The audit of changes: records of the catalogue as events, with what was there before.

`AUDITED` has a row for every record.  The client is the one whose request is in work while the record is
appended: `turns.task`.  A record without a request comes from the server itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from broker.catalogue import catalogue_records as records
from broker.catalogue.quota_table import entity_in
from broker.catalogue.topics import Catalogue
from broker.errors import RequestError
from broker.loop.auditor import actor_of
from broker.loop.call import Call
from broker.loop.turns import Turns
from broker.security.acls import PatternType, Permission, ResourceType
from broker.security.audit_trail import AuditTrail, refusal_text
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode

HIDDEN: Final = "(hidden)"

Shown = Mapping[str, object] | None


class Change(NamedTuple):
    """A change of the catalogue in words."""

    event: str
    kind: str
    name: str
    before: Shown = None
    after: Shown = None


class ChangeAudit:
    """Records each change once it is durable, and refuses them while that cannot be done."""

    def __init__(self, trail: AuditTrail, catalogue: Catalogue, turns: Turns) -> None:
        self._trail = trail
        self._catalogue = catalogue
        self._turns = turns

    def changing(self, record: Any) -> Callable[[str], None] | None:
        """Look at a change before it is made; return what takes its outcome, None if it is not audited.

        Raises: RequestError(POLICY_VIOLATION), if it may not be made without its event.
        """
        describe = AUDITED.get(type(record), _other)
        if describe is None:
            return None
        task = self._turns.task
        actor = actor_of(task) if isinstance(task, Call) else {"user": "(the server)"}
        if isinstance(task, Call) and self._trail.blocked:
            raise RequestError(ErrorCode.POLICY_VIOLATION, refusal_text(self._trail.blocked))
        change = describe(record, self._catalogue)

        def outcome(result: str) -> None:
            self._trail.record(
                change.event,
                outcome=result,
                **actor,
                resource={"type": change.kind, "name": change.name},
                before=change.before,
                after=change.after,
            )

        return outcome


def _topic_name(catalogue: Catalogue, topic_id: str) -> str:
    topic = catalogue.by_id.get(UUID(hex=topic_id))
    return topic_id if topic is None else topic.name


def _topic_created(record: records.TopicCreated, _: Catalogue) -> Change:
    after: dict[str, object] = {
        "id": record.topic_id,
        "database": record.database,
        "partitions": record.partition_count,
        "configs": record.configs,
    }
    if record.view is not None:
        after |= {"kind": record.view.kind, "source": record.view.source, "statement": record.view.statement}
    return Change("topic.created", "topic", record.name, after=after)


def _partitions_added(record: records.PartitionsAdded, catalogue: Catalogue) -> Change:
    topic = catalogue.by_id[UUID(hex=record.topic_id)]
    count = topic.planned_count
    return Change(
        "topic.grown", "topic", topic.name, {"partitions": count}, {"partitions": count + record.count}
    )


def _partition_split(record: records.PartitionSplit, catalogue: Catalogue) -> Change:
    topic = catalogue.by_id[UUID(hex=record.topic_id)]
    after = {"parent": record.parent, "child": record.growth.first_partition, "cut": record.cut}
    return Change("topic.split", "topic", topic.name, {"partitions": topic.planned_count}, after)


def _partitions_renewed(record: records.PartitionsRenewed, catalogue: Catalogue) -> Change:
    topic = catalogue.by_id[UUID(hex=record.topic_id)]
    before, after = _differing(topic.configs, record.configs or {})
    count = topic.planned_count
    return Change(
        "topic.split",
        "topic",
        topic.name,
        {"partitions": count, "configs": before},
        {"partitions": count + record.growth.count, "configs": after},
    )


def _topic_deleted(record: records.TopicDeleted, catalogue: Catalogue) -> Change:
    topic = catalogue.by_id.get(UUID(hex=record.topic_id))
    if topic is None:
        return Change("topic.deleted", "topic", record.name)
    before = {"id": record.topic_id, "partitions": topic.planned_count, "configs": topic.configs}
    return Change("topic.deleted", "topic", topic.name, before)


def _topic_configs(record: records.TopicConfigs, catalogue: Catalogue) -> Change:
    topic = catalogue.by_id.get(UUID(hex=record.topic_id))
    before = {} if topic is None else topic.configs
    name = _topic_name(catalogue, record.topic_id)
    return Change("configs.changed", "topic", name, *_differing(before, record.configs))


def _view_reloaded(record: records.ViewReloaded, catalogue: Catalogue) -> Change:
    topic = catalogue.by_id.get(UUID(hex=record.topic_id))
    before = None if topic is None or topic.view is None else {"statement": topic.view.statement}
    name = _topic_name(catalogue, record.topic_id)
    return Change("view.reloaded", "topic", name, before, {"statement": record.view.statement})


def _broker_configs(record: records.BrokerConfigs, catalogue: Catalogue) -> Change:
    from broker.config.config_layers import server_key

    def hidden(configs: Mapping[str, str]) -> dict[str, str]:
        found = ((name, text, server_key(name)) for name, text in configs.items())
        return {name: HIDDEN if key is None or key.sensitive else text for name, text, key in found}

    before = catalogue.broker_configs.get(record.broker_id, {})
    old, new = map(hidden, _differing(before, record.configs))
    return Change("configs.changed", "broker", record.broker_id or "(every node)", old, new)


def _group_configs(record: records.GroupConfigs, catalogue: Catalogue) -> Change:
    before = catalogue.group_configs.get(record.group, {})
    return Change("configs.changed", "group", record.group, *_differing(before, record.configs))


def _scram(record: records.ScramCredentials, catalogue: Catalogue) -> Change:
    before = catalogue.scram_credentials.get(record.user, {})
    event = "user.removed" if not record.credentials else "user.altered" if before else "user.added"
    changed = [name for name, text in record.credentials.items() if before.get(name) != text]
    old = {"mechanisms": sorted(before)} if before else None
    new = {"mechanisms": sorted(record.credentials), "new": sorted(changed)} if record.credentials else None
    return Change(event, "user", record.user, old, new)


def _acl(record: records.AclAdded | records.AclRemoved, _: Catalogue) -> Change:
    rule = {
        "pattern": PatternType(record.pattern_type).name,
        "principal": record.principal,
        "host": record.host,
        "operation": Operation(record.operation).name,
        "permission": Permission(record.permission).name,
    }
    kind = ResourceType(record.resource_type).name.lower()
    if isinstance(record, records.AclAdded):
        return Change("acl.added", kind, record.name, after=rule)
    return Change("acl.removed", kind, record.name, before=rule)


def _quotas(record: records.ClientQuotas, catalogue: Catalogue) -> Change:
    entity = entity_in(record.entity)
    before = {key: repr(value) for key, value in catalogue.quotas.of(entity).items()}
    name = ", ".join(f"{kind}={'<default>' if part is None else part}" for kind, part in entity)
    return Change("quotas.changed", "client", name, *_differing(before, record.values))


def _token_set(record: records.DelegationTokenSet, catalogue: Catalogue) -> Change:
    before = catalogue.tokens.find(record.token_id)
    old = None if before is None else {"expires_ms": before.expires_ms}
    new: dict[str, object] = {"expires_ms": record.expires_ms}
    if before is None:
        new |= {"owner": record.owner, "requester": record.requester, "renewers": list(record.renewers)}
    return Change("token.renewed" if before else "token.created", "token", record.token_id, old, new)


def _token_removed(record: records.DelegationTokenRemoved, catalogue: Catalogue) -> Change:
    before = catalogue.tokens.find(record.token_id)
    old = None if before is None else {"owner": before.owner}
    return Change("token.removed", "token", record.token_id, old)


def _feature(record: records.FeatureLevel, catalogue: Catalogue) -> Change:
    before = catalogue.feature_levels.get(record.name)
    old = None if before is None else {"level": before}
    return Change("feature.changed", "feature", record.name, old, {"level": record.level})


def _database_created(record: records.DatabaseCreated, _: Catalogue) -> Change:
    after = {"vnodes": record.vnode_count, "durability": record.durability, "configs": record.configs}
    return Change("database.created", "database", record.name, after=after)


def _vnodes_added(record: records.VnodesAdded, catalogue: Catalogue) -> Change:
    before = {"vnodes": catalogue.databases[record.name].vnode_count}
    return Change("database.grown", "database", record.name, before, {"vnodes": record.vnode_count})


def _database_configs(record: records.DatabaseConfigs, catalogue: Catalogue) -> Change:
    before = catalogue.databases[record.name].configs
    return Change("configs.changed", "database", record.name, *_differing(before, record.configs))


def _database_dropped(record: records.DatabaseDropped, _: Catalogue) -> Change:
    return Change("database.dropped", "database", record.name)


def _other(record: Any, _: Catalogue) -> Change:
    """Describe a record without a row by its kind alone: its fields may be secrets."""
    return Change("catalogue.changed", "record", type(record).__name__)


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the entries that are not the same in both."""
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    old = {name: text for name, text in sorted(before.items()) if name in changed}
    new = {name: text for name, text in sorted(after.items()) if name in changed}
    return old, new


AUDITED: Final[dict[type[Any], Callable[[Any, Catalogue], Change] | None]] = {
    records.DatabaseCreated: _database_created,
    records.DatabaseConfigs: _database_configs,
    records.VnodesAdded: _vnodes_added,
    records.DatabaseDropped: _database_dropped,
    records.DirectoryRemoved: None,
    records.TopicCreated: _topic_created,
    records.PartitionsAdded: _partitions_added,
    records.PartitionSplit: _partition_split,
    records.PartitionsRenewed: _partitions_renewed,
    records.TopicDeleted: _topic_deleted,
    records.TopicConfigs: _topic_configs,
    records.ViewReloaded: _view_reloaded,
    records.BrokerConfigs: _broker_configs,
    records.GroupConfigs: _group_configs,
    records.ScramCredentials: _scram,
    records.ClientQuotas: _quotas,
    records.DelegationTokenSet: _token_set,
    records.DelegationTokenRemoved: _token_removed,
    records.FeatureLevel: _feature,
    records.AclAdded: _acl,
    records.AclRemoved: _acl,
    records.ProducerIdBlock: None,
    records.StreamIdsUsed: None,
}
"""The events of records; None: the server's own book-keeping."""
