"""Messages made up from their declarations: as large and as repeated as allowed, or small and odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from broker.config.kawal_topic_keys import KAWAL_TOPIC_KEYS
from broker.config.topic_keys import TOPIC_KEYS
from compat_tests.hunt.records import odd_batch, offsets_pairs
from compat_tests.hunt.world import VIEW_STATEMENTS, World
from protocol import schema
from protocol.layout import Field, Layout, element_field, layout
from protocol.schema import ArrayOf, Fixed, declaration

TEXT_BYTES_MAX: Final = 8 << 20
"""The text and bytes of one message: with all else below the 16 MiB of a request."""

DISTINCT: Final = (1, 1, 2, 50, 2_000)
"""How many different elements a large array has: the rest repeats them."""

FIRST_FREE_TAG: Final = 40
TAGS_MAX: Final = 60
"""The gateway accepts 64 tagged fields in one struct, those that it knows among them."""

CONFIG_VALUES: Final = (
    "",
    "-1",
    "0",
    "1",
    "1000",
    "9223372036854775807",
    "-9223372036854775809",
    "1e3",
    "NaN",
    "true",
    "compact",
    "delete",
    "compact,delete",
    "LogAppendTime",
    "CreateTime",
    "server",
    "client",
    "none",
    " ",
    "ü",
    "x" * 32_000,
    "zstd",
    "0.0",
    "1:1,2:2",
    "*",
    "default",
    *VIEW_STATEMENTS.values(),
    "id bigint, id bigint",
    "SELECT (",
    f"SELECT {'(' * 2_000}1{')' * 2_000} FROM flights",
    f"SELECT id FROM flights WHERE {'NOT ' * 3_000}true",
    f"SELECT {', '.join(f'id + {n} AS c{n}' for n in range(2_000))} FROM flights",
)

CONFIG_KEYS: Final = (
    *TOPIC_KEYS,
    *("kawal.sql", "kawal.columns", "kawal.quarantine", "kawal.alias.of", "kawal.database") * 3,
    *KAWAL_TOPIC_KEYS,
    "kawal.group.assignor",
    "kawal.retention.important",
    "consumer.session.timeout.ms",
    "kawal.out.of.range",
    "internal.segment.bytes",
)
"""Keys of topics and groups; those of the server would let a client change what is measured."""


@dataclass
class Amount:
    """The rest of what a message may have: array elements, and bytes of text."""

    elements: int
    text_bytes: int
    large: float
    """The chance that an array is large."""


class Maker:
    """Makes messages for one player."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chance: Random = world.chance
        self._left = Amount(0, 0, 0.0)

    def message(self, cls: type[Any], version: int, *, large: float = 0.0, elements: int = 300) -> Any:
        """Return a message of at most so many elements; `large` is the chance that an array is large."""
        elements = min(elements, declaration(cls).elements_max - 1)
        self._left = Amount(elements, TEXT_BYTES_MAX if large else 300_000, large)
        return self._object(layout(cls, version))

    def _object(self, found: Layout) -> Any:
        name = found.cls.__name__
        values = {field.name: self._value(name, field) for field in (*found.plain, *found.tagged)}
        if found.flexible and self.chance.random() < 0.02:
            count = self.chance.choice((1, 2, max(1, min(self._left.elements, TAGS_MAX))))
            self._left.elements -= count
            if self._left.elements >= 0:
                values["unknown_tags"] = {
                    FIRST_FREE_TAG + n: self.chance.choice((b"", b"x")) for n in range(count)
                }
        return found.cls(**values)

    def _value(self, owner: str, field: Field) -> Any:
        chance = self.chance
        if field.tag is not None:
            if self._left.elements <= 0 or chance.random() < 0.5:
                return field.default
            self._left.elements -= 1
        if field.nullable and chance.random() < 0.2:
            return None
        kind = field.kind
        if isinstance(kind, type):
            assert field.layout is not None
            return self._object(field.layout)
        if isinstance(kind, ArrayOf):
            return self._array(owner, field)
        return self._plain(owner, field)

    def _array(self, owner: str, field: Field) -> list[Any]:
        chance, left = self.chance, self._left
        element = element_field(field)._replace(name=field.name)
        if chance.random() >= left.large:
            items = []
            for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
                if left.elements <= 0:
                    break
                left.elements -= 1
                items.append(self._value(owner, element))
            return items
        before = (left.elements, left.text_bytes)
        distinct: list[Any] = []
        for _ in range(chance.choice(DISTINCT)):
            if left.elements <= 0:
                return distinct
            left.elements -= 1
            distinct.append(self._value(owner, element))
            if left.elements <= before[0] // 2 or left.text_bytes <= before[1] // 2:
                break
        took = (before[0] - left.elements, before[1] - left.text_bytes)
        each = [max(1, -(-size // len(distinct))) for size in took]
        more = min(max(0, left.elements // each[0]), max(0, left.text_bytes // each[1]))
        left.elements -= more * each[0]
        left.text_bytes -= more * each[1]
        repeated = [distinct[at % len(distinct)] for at in range(more)]
        return distinct + repeated

    def _plain(self, owner: str, field: Field) -> Any:
        named = _BY_NAME.get(f"{owner}.{field.name}") or _BY_NAME.get(field.name)
        if field.kind is schema.String:
            return self._text(named)
        if named is not None and isinstance(field.kind, Fixed):
            return named(self)
        if field.kind is schema.Records:
            return self._take(self._records())
        if field.kind is schema.Bytes:
            return self._take(self._bytes())
        return self._fixed(field.kind)

    def _fixed(self, kind: object) -> Any:
        chance, world = self.chance, self.world
        if kind is schema.Bool:
            return chance.random() < 0.5
        if kind is schema.Uuid:
            return world.topic_id()
        if kind is schema.Float64:
            odd = (float("nan"), float("inf"), -float("inf"), -0.0, 1e308)
            return chance.choice((*odd, chance.uniform(-9, 9)))
        bits, signed = _INTEGERS[kind]
        return world.integer(bits, signed=signed)

    def _text(self, named: Callable[[Maker], Any] | None) -> str:
        if named is not None and self.chance.random() < 0.93:
            text = str(named(self))
        else:
            text = self.world.odd_text()
        return text if self._has_room(len(text)) else "x"

    def _take(self, data: bytes) -> bytes:
        return data if self._has_room(len(data)) else b""

    def _has_room(self, size_bytes: int) -> bool:
        if size_bytes > self._left.text_bytes:
            return False
        self._left.text_bytes -= size_bytes
        return True

    def _bytes(self) -> bytes:
        chance = self.chance
        subscription = b"\0\1\0\0\0\1\0\5plain\xff\xff\xff\xff"
        sizes = (0, 5, 200, 60_000, *((4 << 20,) if self._left.large else ()))
        return chance.choice(
            (
                subscription,
                b"\0\3" + subscription[2:] + b"\0\0\0\0\0\0\0\1\0\0",
                b"\0\0\x7f\xff\xff\xff" + subscription,
                b"\0\1\xff\xff\xff\xfe",
                bytes(chance.choice(sizes)),
                chance.randbytes(chance.choice((1, 9, 60))),
            )
        )

    def _records(self) -> bytes:
        pairs = offsets_pairs(self.chance) if self.chance.random() < 0.05 else None
        return odd_batch(self.chance, self.world.producers, pairs)


_INTEGERS: dict[object, tuple[int, bool]] = {
    schema.Int8: (8, True),
    schema.Int16: (16, True),
    schema.Int32: (32, True),
    schema.Int64: (64, True),
    schema.UInt16: (16, False),
    schema.UInt32: (32, False),
}


def _small(*often: int) -> Callable[[Maker], int]:
    return lambda maker: maker.chance.choice(often)


def _topic(maker: Maker) -> str:
    return maker.world.topic()


def _changeable(maker: Maker) -> str:
    return maker.world.changeable_topic()


def _group(maker: Maker) -> str:
    return maker.world.group()


def _config_key(maker: Maker) -> str:
    name = maker.chance.choice(CONFIG_KEYS)
    # A misspelt key makes the server look for the nearest one.
    return name if maker.chance.random() < 0.8 else name[1:] + "q"


def _config_value(maker: Maker) -> str:
    return maker.chance.choice(CONFIG_VALUES)


def _new_topic(maker: Maker) -> str:
    return f"other-{maker.chance.randrange(30)}" if maker.chance.random() < 0.9 else maker.world.topic()


_BY_NAME: dict[str, Callable[[Maker], Any]] = {
    "name": _topic,
    "topic": _topic,
    "topic_name": _topic,
    "topics": _topic,
    "topic_names": _topic,
    "resource_name": lambda maker: maker.chance.choice((_changeable(maker), _group(maker), "1", "")),
    "subscribed_topic_names": _topic,
    "DeleteTopicState.name": _changeable,
    "DeleteTopicsRequest.topic_names": _changeable,
    "DeleteRecordsTopic.name": _changeable,
    "group_id": _group,
    "groups": _group,
    "groups_names": _group,
    "group_ids": _group,
    "member_id": lambda maker: maker.world.member(),
    "group_instance_id": lambda maker: maker.chance.choice(("static-1", "static-2", "")),
    "instance_id": lambda maker: maker.chance.choice(("static-1", "static-2", "")),
    "protocol_type": lambda maker: maker.chance.choice(("consumer", "connect", "")),
    "JoinGroupRequestProtocol.name": lambda maker: maker.chance.choice(("range", "tdengine", "x", "")),
    "server_assignor": lambda maker: maker.chance.choice(("uniform", "range", "tdengine", "nearest")),
    "subscribed_topic_regex": lambda maker: maker.chance.choice((".*", "(", "(a+)+$", "fl.*", "x" * 5_000)),
    "CreatableTopic.name": _new_topic,
    "CreatableTopicConfig.name": _config_key,
    "CreatableTopicConfig.value": _config_value,
    "AlterableConfig.name": _config_key,
    "AlterableConfig.value": _config_value,
    "configuration_keys": _config_key,
    "DatabaseItem.name": lambda maker: maker.chance.choice(("default", "db-1", "db-2", "no such")),
    "DatabaseSetting.name": lambda maker: maker.chance.choice(("retention.ms", "vnodes", "WAL_LEVEL", "x")),
    "DatabaseSetting.value": lambda maker: maker.chance.choice(("1", "2", "-1", "1000", "x", "257")),
    "num_partitions": _small(-1, 1, 2, 4, 0, -2, 50),
    "replication_factor": _small(-1, 1, 1, 2, 0),
    "count": _small(1, 2, 3, 4, 5, 0, -1, 60),
    "partition": _small(0, 0, 1, 2, 3, -1, 1_000, 2**31 - 1),
    "partition_index": _small(0, 0, 1, 2, 3, -1, 1_000, 2**31 - 1),
    "partition_indexes": _small(0, 0, 1, 2, 3, -1, 1_000),
    "index": _small(0, 0, 1, 2, 3, -1, 2**31 - 1),
    "partitions": _small(0, 0, 1, 2, 3, -1, 2**31 - 1),
    "generation_id": lambda maker: maker.world.epoch(),
    "generation_id_or_member_epoch": lambda maker: maker.world.epoch(),
    "member_epoch": lambda maker: maker.world.epoch(),
    # What is parked for long holds up what is pipelined after it.
    "max_wait_ms": _small(0, 0, 0, 100, 500, -1),
    "min_bytes": _small(0, 1, 1, 100, 1 << 20, 2**31 - 1, -1),
    "max_bytes": _small(0, 1, 1 << 20, 50 << 20, 2**31 - 1, -1),
    "partition_max_bytes": _small(0, 1, 1 << 20, 50 << 20, 2**31 - 1, -1),
    "session_id": lambda maker: maker.chance.choice(maker.world.sessions)[0],
    "session_epoch": lambda maker: maker.chance.choice(maker.world.sessions)[1],
    "session_timeout_ms": _small(6_000, 6_000, 10_000, 0, -1, 2**31 - 1),
    "rebalance_timeout_ms": _small(100, 500, 1_000, 0, -1),
    "timeout_ms": _small(0, 1_000, 30_000, -1, 2**31 - 1),
    "transaction_timeout_ms": _small(60_000, 0, -1, 2**31 - 1),
    "acks": _small(-1, -1, 1, 1, 2, -2),
    "timestamp": _small(-1, -2, -3, -4, -5, -6, -7, 0, 1, 1_700_000_000_000, 2**63 - 1, -(2**63)),
    "isolation_level": _small(0, 0, 1, 2, -1),
    "resource_type": _small(2, 2, 2, 4, 8, 16, 32, 0, 127, -1),
    "config_operation": _small(0, 0, 1, 2, 3, 4, -1),
    "action": _small(0, 0, 1, 2, 3, 9),
    "validate_only": lambda maker: maker.chance.random() < 0.5,
    "replica_id": _small(-1, -1, -1, -2, 0, 1),
    "producer_id": lambda maker: maker.chance.choice(maker.world.producers)[0],
}
"""Values by the name of their field, or by its struct's and its own: most requests should mean something."""
