"""The settings of partitions that split."""

from __future__ import annotations

from broker.catalogue.topic_configs import checked, effective
from broker.config.config import Config
from broker.config.split_keys import BARRIER_KEY, MODE_KEY, SPLIT_KEYS, STREAMS_KEY


def test_by_default_nothing_splits_and_the_values_in_effect_are_those_of_the_keys() -> None:
    settings = effective({}, Config())
    for key in SPLIT_KEYS:
        if key not in (STREAMS_KEY, BARRIER_KEY):
            assert getattr(settings, key.name.replace(".", "_")) == key.default
    assert not settings.routes_records
    assert not settings.opens_batches


def test_both_other_modes_have_the_server_choose_partitions() -> None:
    for mode in ("up", "paused"):
        kept = checked({MODE_KEY.name: mode, "kawal.partition.write.bytes.per.sec": "1000"}, Config())
        settings = effective(kept, Config())
        assert settings.routes_records
        assert not settings.opens_batches, "keys are read where there is more than one partition"
