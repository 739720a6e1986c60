"""The records of the catalogue: the content of `meta` WAL entries, as JSON objects tagged by `type`.

Replaying them in order rebuilds the catalogue.  A record's form is never changed once a release has written
it: fields are only added, with a default.  Source: docs/adr/0003-one-log-for-many-partitions.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from broker.security.acls import Acl


class DatabaseCreated(msgspec.Struct, tag="database_created", frozen=True, kw_only=True):
    """A database with its vnodes exists from here on.

    `directory` is where its vnodes lie ("": the directory has the database's name); `durability` is the class
    that was in effect at that time.  `first_vnode_count` is the number of vnodes that it was made with, if a
    snapshot was taken after others were added (0: `vnode_count`).
    """

    name: str
    vnode_count: int
    durability: str
    first_vnode_count: int = 0
    directory: str = ""
    created_ms: int = 0
    configs: dict[str, str] = {}


class VnodesAdded(msgspec.Struct, tag="vnodes_added", frozen=True, kw_only=True):
    """The database has so many vnodes from here on; what exists stays where it is."""

    name: str
    vnode_count: int


class DatabaseConfigs(msgspec.Struct, tag="database_configs", frozen=True, kw_only=True):
    """The database's own settings are exactly these from here on."""

    name: str
    configs: dict[str, str]


class DatabaseDropped(msgspec.Struct, tag="database_dropped", frozen=True, kw_only=True):
    """The database was deleted; its directory may still be there and is to be removed."""

    name: str
    directory: str


class DirectoryRemoved(msgspec.Struct, tag="directory_removed", frozen=True, kw_only=True):
    """Nothing is left of a dropped database's directory."""

    directory: str


class ViewDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The definition of a view; everything else about the view is derived from this text alone.

    `source` is the name of the topic or database it reads, `source_id` the topic's id ("" for a database).
    `schema` is the JSON that DescribeConfigs shows, with the types of `used_columns` as they were when the
    view was made; the source must keep these columns.  `start`, `end` and `speed` are those of
    broker/config/view_bounds.py.
    """

    kind: str
    source: str
    source_id: str = ""
    statement: str = ""
    meta: str = "none"
    used_columns: tuple[str, ...] = ()
    schema: str = ""
    start: str = ""
    end: str = ""
    speed: str = ""
    snapshot: str = ""
    """`true`: readers begin with the last record of each key."""

    @property
    def is_windowed(self) -> bool:
        """Whether the view has bounds, a pace or snapshots."""
        return bool(self.start or self.end or self.speed or self.snapshot)


class TopicCreated(msgspec.Struct, tag="topic_created", frozen=True, kw_only=True):
    """A topic exists; partition i is stream `first_stream + i` on vnode `(first_vnode + i) mod V`.

    V is `vnode_count` (0: the number of vnodes that the database was made with).  A view has a definition
    and no streams, so these numbers have no meaning for it.
    """

    name: str
    topic_id: str
    database: str
    first_stream: int
    partition_count: int
    first_vnode: int
    created_ms: int
    vnode_count: int = 0
    replication_factor: int = 1
    configs: dict[str, str] = {}
    view: ViewDefinition | None = None
    one_vnode: bool = False
    """Whether all partitions lie on `first_vnode`, as those do that split."""


class PartitionsAdded(msgspec.Struct, tag="partitions_added", frozen=True, kw_only=True):
    """The topic has grown by `count` partitions whose streams begin at `first_stream`.

    `first_partition` is the first of them (-1 in older records: the topic's count until then).
    `ends` are the ends of the decided records of the partitions that it had, if it declares columns: tags
    that keys have there are inherited by the partitions in which the keys lie from then on.  They lie on
    vnodes as those that the topic was made with, with the `vnode_count` of this record.
    """

    topic_id: str
    first_stream: int
    count: int
    vnode_count: int = 0
    first_partition: int = -1
    ends: tuple[int, ...] = ()


class PartitionSplit(msgspec.Struct, tag="partition_split", frozen=True, kw_only=True):
    """A partition was split in place: `growth` is the new one, and the rest is what became whose.

    From offset `cut` on the parent gets no key whose place (groups/partition_tree.py) is `bound` or above.
    """

    topic_id: str
    growth: PartitionsAdded
    parent: int
    cut: int
    bound: int
    at_ms: int
    epoch: int = 0
    """The leader epoch that the parent begins."""


class PartitionsRenewed(msgspec.Struct, tag="partitions_renewed", frozen=True, kw_only=True):
    """Each partition of a topic got a successor that takes its keys: `growth` has them, in order.

    It comes with the settings that have the server choose partitions (`configs`; None: in a snapshot, where
    the topic's own record has them). `cuts` are the ends of the partitions that there were.
    """

    topic_id: str
    growth: PartitionsAdded
    cuts: tuple[int, ...]
    at_ms: int
    epoch: int = 0
    """The leader epoch that all of them begin."""
    configs: dict[str, str] | None = None


class TopicDeleted(msgspec.Struct, tag="topic_deleted", frozen=True, kw_only=True):
    """The topic and all its streams were deleted."""

    topic_id: str
    name: str = ""


class TopicConfigs(msgspec.Struct, tag="topic_configs", frozen=True, kw_only=True):
    """The topic's own configs are exactly these from here on."""

    topic_id: str
    configs: dict[str, str]


class ViewReloaded(msgspec.Struct, tag="view_reloaded", frozen=True, kw_only=True):
    """The view has this definition, and these configs, from here on; its source is the same as before."""

    topic_id: str
    configs: dict[str, str]
    view: ViewDefinition


class BrokerConfigs(msgspec.Struct, tag="broker_configs", frozen=True, kw_only=True):
    """The clients' settings for a node are exactly these from here on; the empty id stands for every node."""

    broker_id: str
    configs: dict[str, str]


class GroupConfigs(msgspec.Struct, tag="group_configs", frozen=True, kw_only=True):
    """The group's own configs are exactly these from here on, whether the group exists or not."""

    group: str
    configs: dict[str, str]


class ScramCredentials(msgspec.Struct, tag="scram_credentials", frozen=True, kw_only=True):
    """The user's SCRAM credentials, by mechanism (security/scram.py), are exactly these from here on."""

    user: str
    credentials: dict[str, str]


class ClientQuotas(msgspec.Struct, tag="client_quotas", frozen=True, kw_only=True):
    """The entity's quotas, by key, are exactly these from here on.

    `entity` is the JSON of its parts, [[type, name or null for the default], …] in the order of the types.
    The values are decimal numbers, or "inf", which JSON has not.
    """

    entity: str
    values: dict[str, str]


class DelegationTokenSet(msgspec.Struct, tag="delegation_token_set", frozen=True, kw_only=True):
    """The delegation token exists, with these times (ms since 1970), from here on.

    Its HMAC follows from its id and the secret key of the server's settings, and is not recorded.
    """

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...] = ()
    issued_ms: int
    expires_ms: int
    ends_ms: int
    """The time beyond which it cannot be renewed."""


class DelegationTokenRemoved(msgspec.Struct, tag="delegation_token_removed", frozen=True, kw_only=True):
    """The delegation token exists no longer."""

    token_id: str


class AclAdded(msgspec.Struct, tag="acl_added", frozen=True, kw_only=True):
    """The access rule is in effect from here on; the numbers are those of Kafka's protocol."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class AclRemoved(msgspec.Struct, tag="acl_removed", frozen=True, kw_only=True):
    """The access rule is no longer in effect."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


def acl_of(record: AclAdded | AclRemoved) -> Acl:
    """Return the rule that a record is about."""
    from broker.security.acls import Acl  # most servers start without rules

    return Acl(*msgspec.structs.astuple(record))


class FeatureLevel(msgspec.Struct, tag="feature_level", frozen=True, kw_only=True):
    """The feature (broker/config/features.py) runs at this level from here on."""

    name: str
    level: int


class ProducerIdBlock(msgspec.Struct, tag="producer_ids", frozen=True, kw_only=True):
    """All producer ids below `next_id` may have been given out; none is ever given out again."""

    next_id: int


class StreamIdsUsed(msgspec.Struct, tag="stream_ids", frozen=True, kw_only=True):
    """Every stream id below `next_id` has been given out, also those whose topics were deleted.

    `deleted` has (first, count) of streams that may still be in the logs although their topics were deleted.
    """

    next_id: int
    deleted: list[tuple[int, int]] = []


CatalogueRecord: TypeAlias = (
    DatabaseCreated
    | DatabaseConfigs
    | VnodesAdded
    | DatabaseDropped
    | DirectoryRemoved
    | TopicCreated
    | PartitionsAdded
    | PartitionSplit
    | PartitionsRenewed
    | TopicDeleted
    | TopicConfigs
    | ViewReloaded
    | BrokerConfigs
    | GroupConfigs
    | ScramCredentials
    | ClientQuotas
    | DelegationTokenSet
    | DelegationTokenRemoved
    | AclAdded
    | AclRemoved
    | FeatureLevel
    | ProducerIdBlock
    | StreamIdsUsed
)

_decoder: msgspec.json.Decoder[CatalogueRecord] = msgspec.json.Decoder(CatalogueRecord)
_encoder = msgspec.json.Encoder()


def encode_record(record: CatalogueRecord) -> bytes:
    """Return a record as the bytes of a catalogue entry."""
    return _encoder.encode(record)


def decode_record(data: bytes | memoryview) -> CatalogueRecord:
    """Return the record of a catalogue entry.

    Raises: msgspec.DecodeError for an unknown entry; the CRC of its frame was right, so a newer release has
    written it.
    """
    return _decoder.decode(data)
