"""A database's policy: its own settings, the server's, and the rules for a new or altered one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.catalogue.catalogue_records import DatabaseCreated
from broker.catalogue.databases import (
    Database,
    altered,
    check_database_name,
    described,
    durability_of,
    find_database,
    log_options,
    value_of,
)
from broker.config.config import Config
from broker.config.config_keys import ConfigSource
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

CONFIG = replace(Config(), kawal_durability="os", kawal_tail_cache_bytes=12 << 20)


def made(name: str = "d", **configs: str) -> Database:
    texts = {key.replace("_", "."): text for key, text in configs.items()}
    database = Database(DatabaseCreated(name=name, vnode_count=3, durability="disk", configs=texts))
    database.confirm()
    return database


def test_what_a_database_does_not_say_is_the_servers() -> None:
    database = made(durability="disk", flush_ms="7")
    assert durability_of(database.configs, CONFIG) == "disk"
    assert durability_of({}, CONFIG) == "os"
    options = log_options(CONFIG, database.configs, vnode_count=3)
    assert (options.durability, options.flush_ms) == ("disk", 7)
    assert options.segment_bytes == CONFIG.kawal_segment_bytes
    assert options.tail_cache_bytes == 4 << 20
    assert value_of("retention.ms", {}, CONFIG) == str(CONFIG.retention_ms)
    assert value_of("segment.ms", {}, CONFIG) == str(CONFIG.roll_ms)
    assert value_of("retention.ms", {"wal.retention.ms": "5"}, CONFIG) == "-1"


@pytest.mark.parametrize(("vnodes", "extents"), [(1, 1 << 18), (4, 1 << 18), (16, 1 << 16), (256, 1 << 14)])
def test_many_logs_share_the_memory_for_the_indexes_of_their_newest_segments(
    vnodes: int, extents: int
) -> None:
    assert log_options(CONFIG, {}, vnode_count=vnodes).segment_extents_max == extents


def test_logs_share_the_memory_for_producers() -> None:
    config = replace(CONFIG, kawal_producers_max_bytes=30 << 20, kawal_named_producers_max_bytes=60 << 20)
    options = log_options(config, {}, vnode_count=3)
    assert (options.producers_bytes_max, options.named_bytes_max) == (10 << 20, 20 << 20)


def test_only_four_settings_are_defaults_of_its_topics() -> None:
    database = made(durability="disk", retention_ms="5", segment_bytes="2000000")
    assert database.topic_defaults == {"retention.ms": "5", "segment.bytes": "2000000"}


def test_the_description_tells_own_values_from_the_servers() -> None:
    entries = {entry.key.name: entry for entry in described(made(retention_ms="5"), CONFIG)}
    assert entries["retention.ms"][1:3] == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert entries["durability"][1:3] == ("os", ConfigSource.DEFAULT_CONFIG)
    assert entries["vnodes"][1:3] == ("3", ConfigSource.DYNAMIC_TOPIC_CONFIG)


@pytest.mark.parametrize("name", ["a", "power-2.eu", "_x", "A" * 64])
def test_ordinary_names_are_accepted(name: str) -> None:
    check_database_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "-a", "a/b", "a b", "ä", "A" * 65, "meta", "Meta", "a\n"])
def test_names_that_paths_or_people_would_stumble_over_are_refused(name: str) -> None:
    with pytest.raises(RequestError) as refused:
        check_database_name(name)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_an_unknown_database_is_answered_with_the_nearest() -> None:
    with pytest.raises(RequestError, match="did you mean 'telemetry'") as refused:
        find_database("telemetri", {"telemetry": made("telemetry")})
    assert refused.value.code == ErrorCode.RESOURCE_NOT_FOUND
    with pytest.raises(RequestError, match="existing ones: default"):
        find_database("zzz", {"default": made("default")})


def test_alterations_set_and_take_away() -> None:
    database = made(retention_ms="5", flush_ms="7")
    changes = {"retention.ms": None, "WAL_RETENTION_SIZE": "1", "vnodes": "3"}
    assert altered(database, changes, has_views=False) == {"flush.ms": "7", "wal.retention.bytes": "1024"}


@pytest.mark.parametrize(
    ("changes", "has_views", "code", "part"),
    [
        ({"vnodes": "4"}, False, ErrorCode.INVALID_CONFIG, "is fixed at 3"),
        ({"vnodes": None}, False, ErrorCode.INVALID_CONFIG, "is fixed at 3"),
        ({"retention.mss": None}, False, ErrorCode.INVALID_CONFIG, "did you mean 'retention.ms'"),
        ({"flush.ms": "x"}, False, ErrorCode.INVALID_CONFIG, "'flush.ms'"),
        ({"WAL_RETENTION_PERIOD": "0"}, True, ErrorCode.POLICY_VIOLATION, "delete the views first"),
        ({"retention.ms": "0"}, True, ErrorCode.POLICY_VIOLATION, "retention.ms=0 would leave them nothing"),
    ],
)
def test_alterations_that_cannot_be_are_refused(
    changes: dict[str, str | None], has_views: bool, code: ErrorCode, part: str
) -> None:
    with pytest.raises(RequestError) as refused:
        altered(made(), changes, has_views=has_views)
    assert refused.value.code == code
    assert part in (refused.value.message or "")


def test_a_database_without_retention_keeps_nothing_for_views() -> None:
    assert made(retention_ms="0").keeps_nothing == "retention.ms"
    assert made(wal_retention_ms="0").keeps_nothing == "wal.retention.ms"
    assert made(wal_retention_ms="0", retention_ms="0").keeps_nothing
    # The longer of the two counts.
    assert not made(wal_retention_ms="0", retention_ms="1").keeps_nothing
    assert not made(wal_retention_ms="1", retention_ms="0").keeps_nothing
    assert not made().keeps_nothing


def test_files_are_closed_by_the_age_at_which_they_are_deleted() -> None:
    def closed_at(**configs: str) -> str:
        return value_of("wal.segment.ms", made(**configs).configs, Config())

    assert closed_at() == closed_at(wal_retention_ms="-1") == closed_at(wal_retention_bytes="5") == "-1"
    assert closed_at(wal_retention_ms="90000") == "90000"
    assert closed_at(wal_retention_ms="0") == "60000"
    assert closed_at(wal_retention_ms="90000", wal_segment_ms="5") == "5"


def test_topics_of_a_database_whose_files_are_deleted_have_no_age_of_their_own() -> None:
    assert made(wal_retention_ms="5", retention_ms="7").topic_defaults == {"retention.ms": "-1"}
    assert made(wal_retention_bytes="5", retention_ms="7").topic_defaults == {"retention.ms": "7"}
