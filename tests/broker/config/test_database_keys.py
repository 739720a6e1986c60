"""Settings of databases: TDengine's options keep their meaning, in our units, without their traps."""

from __future__ import annotations

import pytest

from broker.config.config_keys import ConfigError
from broker.config.database_keys import ALIASES, DATABASE_KEYS, checked

MIB = 1 << 20


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"VGROUPS": "4"}, {"vnodes": "4"}),
        ({"WAL_LEVEL": "1"}, {"durability": "os"}),
        ({"WAL_LEVEL": "2"}, {"durability": "disk"}),
        ({"WAL_LEVEL": "2", "WAL_FSYNC_PERIOD": "0"}, {"durability": "disk"}),
        ({"WAL_LEVEL": "2", "WAL_FSYNC_PERIOD": "3000"}, {"durability": "os", "flush.ms": "3000"}),
        ({"WAL_FSYNC_PERIOD": "3000", "WAL_LEVEL": "1"}, {"durability": "os", "flush.ms": "3000"}),
        ({"WAL_LEVEL": "1", "WAL_FSYNC_PERIOD": "0"}, {"durability": "os"}),
        # Alone it must not weaken what the server promises.
        ({"WAL_FSYNC_PERIOD": "3000"}, {"flush.ms": "3000"}),
        ({"WAL_FSYNC_PERIOD": "0"}, {"durability": "disk"}),
        ({"WAL_RETENTION_PERIOD": "3600"}, {"wal.retention.ms": "3600000"}),
        ({"WAL_RETENTION_PERIOD": "-1"}, {"wal.retention.ms": "-1"}),
        ({"WAL_RETENTION_PERIOD": "0"}, {"wal.retention.ms": "0"}),
        ({"WAL_RETENTION_SIZE": "64"}, {"wal.retention.bytes": "65536"}),
        ({"WAL_RETENTION_SIZE": "0"}, {"wal.retention.bytes": "-1"}),
        ({"WAL_RETENTION_SIZE": "-1"}, {"wal.retention.bytes": "-1"}),
        ({"WAL_ROLL_PERIOD": "60"}, {"wal.segment.ms": "60000"}),
        ({"WAL_ROLL_PERIOD": "0"}, {"wal.segment.ms": "-1"}),
        ({"WAL_SEGMENT_SIZE": "2048"}, {"wal.segment.bytes": str(2 * MIB)}),
        ({"WAL_SEGMENT_SIZE": "1"}, {"wal.segment.bytes": str(MIB)}),
        ({"WAL_SEGMENT_SIZE": "0"}, {}),
        ({"KEEP": "3650"}, {"retention.ms": str(3650 * 86_400_000)}),
        ({"keep": "10h, 2d,30m"}, {"retention.ms": str(2 * 86_400_000)}),
        (
            {"KEEP": "1d", "WAL_RETENTION_PERIOD": "3600"},
            {"retention.ms": "86400000", "wal.retention.ms": "3600000"},
        ),
        ({"PRECISION": "us"}, {"precision": "us"}),
        ({"REPLICA": "1"}, {}),
        ({"wal_level": "2", "retention.ms": " 7 "}, {"durability": "disk", "retention.ms": "7"}),
    ],
)
def test_tdengines_options_are_translated(given: dict[str, str], meant: dict[str, str]) -> None:
    assert checked(given) == meant


def test_an_option_may_agree_with_our_name_and_must_not_contradict_it() -> None:
    assert checked({"VGROUPS": "2", "vnodes": "2"}) == {"vnodes": "2"}
    with pytest.raises(ConfigError, match="means vnodes=2, but vnodes says 3"):
        checked({"VGROUPS": "2", "vnodes": "3"})


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"WAL_LEVEL": "0"}, "every record is written"),
        ({"WAL_LEVEL": "3"}, "between 1 and 2"),
        ({"WAL_LEVEL": "two"}, "must be a whole number between 1 and 2"),
        ({"VGROUPS": "x"}, "must be a whole number between 1 and 256"),
        ({"KEEP": "ten"}, "up to three times like 3650, 10d"),
        ({"KEEP": "1,2,3,4"}, "up to three times"),
        ({"KEEP": "0"}, "up to three times"),
        ({"KEEP": None}, "up to three times"),
        ({"precision": "s"}, "must be one of ms, us, ns"),
        ({"REPLICA": "3"}, "there is one replica"),
        ({"REPLICA": "7"}, "between 1 and 1"),
        ({"BUFFER": "256"}, "those are deletion.protected, drop.policy, durability, flush.ms,"),
        ({"BUFFER": "256"}, "and TDengine's VGROUPS, WAL_LEVEL,"),
        ({"WAL_FSYNC_PERIOD": "180001"}, "between 0 and 180000"),
        ({"VGROUPS": "0"}, "between 1 and 256"),
        ({"WAL_LEVEL": None}, "must be a whole number"),
        ({"retention.ms": None}, "a value is needed"),
        ({"durability": "memory"}, "one of disk, os"),
        ({"segment.bytes": "5"}, "at least 1048576"),
        ({"retention.msec": "5"}, "did you mean 'retention.ms'"),
        ({"WAL_LEVLE": "1"}, "did you mean 'WAL_LEVEL'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, str | None], part: str) -> None:
    with pytest.raises(ConfigError) as refused:
        checked(given)
    assert part in str(refused.value)
    assert next(iter(given)) in str(refused.value)


def test_every_option_leads_to_settings_that_are_accepted() -> None:
    for name, (least, largest, _) in ALIASES.items():
        for number in (1, 999_999_999) if name == "KEEP" else (least, largest):
            assert set(checked({name: str(number)})) <= set(DATABASE_KEYS)
