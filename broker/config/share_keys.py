"""The keys of share groups; a part of the table in server_keys.py, with Kafka's names, defaults and bounds.

Source: Kafka 4.3's ShareGroupConfig and GroupCoordinatorConfig; for dead letters Kafka 4.4's (KIP-1191).
"""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key

INT: Final = ConfigType.INT

# fmt: off
SHARE_KEYS: tuple[Key, ...] = (
    Key("group.share.max.size", INT, 200, "Most members of a share group.",
        minimum=1, maximum=1000, unit="members"),
    Key("group.share.max.share.sessions", INT, 2000, "Most share sessions of the server, one a member.",
        minimum=1, unit="sessions"),
    Key("group.share.session.timeout.ms", INT, 45_000,
        "Time without a heartbeat after which a member of a share group is removed.", minimum=1, unit="ms"),
    Key("group.share.min.session.timeout.ms", INT, 45_000, "Shortest session timeout of a share group.",
        minimum=1, unit="ms"),
    Key("group.share.max.session.timeout.ms", INT, 60_000, "Longest session timeout of a share group.",
        minimum=1, unit="ms"),
    Key("group.share.heartbeat.interval.ms", INT, 5_000,
        "Heartbeat interval that members of share groups are told.", minimum=1, unit="ms"),
    Key("group.share.min.heartbeat.interval.ms", INT, 5_000, "Shortest heartbeat interval of a share group.",
        minimum=1, unit="ms"),
    Key("group.share.max.heartbeat.interval.ms", INT, 15_000, "Longest heartbeat interval of a share group.",
        minimum=1, unit="ms"),
    # Kafka's default is 1,000: a member that joins soon after another one waits for its next heartbeat.
    Key("group.share.assignment.interval.ms", INT, 0,
        "Shortest time between two assignments of a share group, to gather changes; 0: at once "
        "(Kafka: 1000).",
        minimum=0, unit="ms", dynamic=True),
    Key("group.share.min.assignment.interval.ms", INT, 0,
        "Shortest assignment interval of a share group.", minimum=0, unit="ms"),
    Key("group.share.max.assignment.interval.ms", INT, 15_000,
        "Longest assignment interval of a share group.", minimum=0, unit="ms"),
    Key("group.share.delivery.count.limit", INT, 5,
        "How often a share group delivers a record before it is given up.",
        minimum=2, maximum=10, unit="deliveries"),
    Key("group.share.min.delivery.count.limit", INT, 2, "Smallest delivery limit of a share group.",
        minimum=2, maximum=5, unit="deliveries"),
    Key("group.share.max.delivery.count.limit", INT, 10, "Largest delivery limit of a share group.",
        minimum=5, maximum=25, unit="deliveries"),
    Key("group.share.record.lock.duration.ms", INT, 30_000,
        "Time that a member of a share group has for a record before others may get it.",
        minimum=1000, maximum=3_600_000, unit="ms"),
    Key("group.share.min.record.lock.duration.ms", INT, 15_000, "Shortest lock of a share group.",
        minimum=1000, maximum=30_000, unit="ms"),
    Key("group.share.max.record.lock.duration.ms", INT, 60_000, "Longest lock of a share group.",
        minimum=30_000, maximum=3_600_000, unit="ms"),
    Key("group.share.partition.max.record.locks", INT, 2000,
        "Most records of a partition between the first that a share group has not finished and the last "
        "that it was given.", minimum=100, maximum=10_000, unit="records"),
    Key("group.share.min.partition.max.record.locks", INT, 100,
        "Smallest such number that a share group may have.", minimum=100, maximum=2000, unit="records"),
    Key("group.share.max.partition.max.record.locks", INT, 4000,
        "Largest such number that a share group may have.", minimum=2000, maximum=10_000, unit="records"),
    Key("kawal.share.states.max.bytes", ConfigType.LONG, 96 << 20,
        "Memory for the states of share groups, 1.3 KB for each partition of each group.  Without room, a "
        "group goes on with the partitions in which it has a state, and has no others until there is.",
        minimum=1024, unit="bytes", dynamic=True),
    Key("kawal.share.ranges.max.bytes", ConfigType.LONG, 64 << 20,
        "Memory for the records in flight of all share groups: 0.7 KB for each row of records in the "
        "same state.  Without room, partitions with records in flight give out no others, and an "
        "acknowledgement that leaves more rows is refused with COORDINATOR_NOT_AVAILABLE.",
        minimum=1024, unit="bytes", dynamic=True),
    Key("errors.deadletterqueue.auto.create.topics.enable", ConfigType.BOOLEAN, False,
        "Create the dead-letter topic of a share group when its first letter is written.", dynamic=True),
    Key("errors.deadletterqueue.topic.name.prefix", ConfigType.STRING, "dlq.",
        "Beginning that names of dead-letter topics must have; empty: any.", dynamic=True),
)
# fmt: on
