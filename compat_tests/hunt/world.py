"""The names, ids, epochs and offsets that requests are made of: few enough that requests meet each other."""

from __future__ import annotations

from random import Random
from uuid import UUID

from protocol.schema import ZERO_UUID

TOPIC_CONFIGS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0",
        "max.compaction.lag.ms": "1000",
        "segment.ms": "500",
        "delete.retention.ms": "100",
    },
    "both": {
        "cleanup.policy": "compact,delete",
        "min.cleanable.dirty.ratio": "0",
        "segment.ms": "500",
        "retention.ms": "5000",
    },
    "short": {"retention.ms": "1000", "segment.ms": "500"},
    "small": {"retention.bytes": "100000", "segment.bytes": "1048576"},
    "appended": {"message.timestamp.type": "LogAppendTime"},
    "strict": {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "1000"},
    "large": {"max.message.bytes": "20000000"},
    "flights": {
        "kawal.columns": "id bigint, carrier string tag, origin string, delay int, at timestamp, more json",
        "kawal.quarantine": "unfit",
    },
    "split": {
        "kawal.partition.autosplit.mode": "up",
        "kawal.partition.autosplit.up.percent": "1",
        "kawal.partition.autosplit.window.ms": "300",
        "kawal.partition.write.bytes.per.sec": "1000000",
    },
    "split-ids": {
        "kawal.partition.autosplit.mode": "up",
        "kawal.message.ids": "true",
        "kawal.ledger.max.entries": "7",
        "segment.ms": "500",
        "retention.ms": "3000",
    },
    "ids": {"kawal.message.ids": "true", "kawal.ledger.max.entries": "20", "segment.ms": "500"},
    "numbered": {"kawal.dedup": "seqno", "kawal.routing": "producer-bind"},
    "stamped": {
        "kawal.session.headers": "client:hunter:a=b,client::x=y,transaction:transaction-1:t=1",
        "kawal.check.records": "open",
    },
    "queued": {
        "kawal.queue.max.records": "2000",
        "kawal.share.ttl.ms": "1000",
        "kawal.share.deleted": "0:3-9,1:5",
    },
    "dead": {"errors.deadletterqueue.group.enable": "true"},
    "folded": {
        "kawal.columns": "id bigint, carrier string tag",
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0",
        "segment.ms": "500",
    },
}
"""The topics that are there, and made again when they are not."""

VIEW_STATEMENTS: dict[str, str] = {
    "delayed": "SELECT carrier, id, delay FROM flights WHERE delay > 15",
    "tap": "STABLE flights WHERE tbname = 'TP'",
    "tap-meta": "STABLE flights WHERE carrier = 'TP' WITH META",
    "all": "SELECT * FROM flights WHERE _offset >= 0",
    "text": "SELECT concat(carrier, origin) AS x, upper(origin) AS y, id % 7 AS z FROM flights"
    " WHERE origin LIKE '%a%' OR id / 3 > 1",
    "everything": "DATABASE default",
    "last": "SELECT * FROM folded",
}
"""The views that are there."""

TOPICS = (*TOPIC_CONFIGS, *VIEW_STATEMENTS, "unfit")

INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")

GROUPS = tuple(f"group-{number}" for number in range(8))

INVALID_UTF8 = "\u00ff\u00ff\u00ff\u00ff"
"""Text whose bytes `wrong.py` replaces in the request by some that are no UTF-8."""

ODD_TEXTS = (
    "",
    ".",
    "..",
    "a" * 249,
    "a" * 250,
    "x" * 32_750,
    "x" * 32_767,
    "ünïcode",
    "🦆" * 20,
    "\0",
    "a b",
    "line\nbreak\r",
    "%s%n{0}",
    "a/../b",
    "-1",
    "*",
    "kafka-cluster",
    "default",
    "1",
    INVALID_UTF8,
)

INTEGERS = (0, 1, -1, 2, 3, 7, -2, 127, 128, 255, 32_767, 65_536, 2**31 - 1, 2**31, 2**63 - 1, -(2**63))


class World:
    """The knowledge that one player has of the server: it learns ids and members from answers."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.topic_ids: dict[str, UUID] = {}
        self.producers: list[tuple[int, int]] = [(-1, -1)]
        self.members: list[tuple[str, str, int]] = []
        """Group, member and generation or epoch, the newest last."""
        self.sessions: list[tuple[int, int]] = [(0, -1), (0, 0)]

    def topic(self) -> str:
        """Return the name of a topic that is there, or nearly."""
        chance = self.chance
        if chance.random() < 0.75:
            return chance.choice(TOPICS)
        if chance.random() < 0.3:
            return chance.choice(INTERNAL_TOPICS)
        return self.odd_text() if chance.random() < 0.3 else f"other-{chance.randrange(30)}"

    def changeable_topic(self) -> str:
        """Return the name of a topic whose change no good client notices: not one of the server's own."""
        while (name := self.topic()) in INTERNAL_TOPICS:
            continue
        return name

    def topic_id(self) -> UUID:
        """Return the id of a topic, or of none."""
        chance = self.chance
        known = [found for name, found in self.topic_ids.items() if name not in (*INTERNAL_TOPICS, "good")]
        if known and chance.random() < 0.8:
            return chance.choice(known)
        return chance.choice((ZERO_UUID, UUID(int=1), UUID(int=chance.getrandbits(128))))

    def group(self) -> str:
        """Return the name of a group."""
        return self.chance.choice(GROUPS) if self.chance.random() < 0.9 else self.odd_text()

    def member(self) -> str:
        """Return the id of a member."""
        chance = self.chance
        if self.members and chance.random() < 0.8:
            return chance.choice(self.members[-20:])[1]
        return chance.choice(("", "nobody", self.odd_text()))

    def epoch(self) -> int:
        """Return the generation or epoch of a group or member."""
        chance = self.chance
        if self.members and chance.random() < 0.7:
            return chance.choice(self.members[-20:])[2]
        return chance.choice((-2, -1, 0, 1, 2, 2**31 - 1))

    def odd_text(self) -> str:
        """Return text that few would send."""
        return self.chance.choice(ODD_TEXTS)

    def integer(self, bits: int, *, signed: bool = True) -> int:
        """Return a whole number of a field of so many bits."""
        chance = self.chance
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        odd: int = chance.choice(INTEGERS)
        number = odd if chance.random() < 0.9 else chance.randrange(least, most + 1)
        clamped: int = min(max(number, least), most)
        return clamped
