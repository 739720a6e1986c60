"""The settings by which a group reads are made of its configurations."""

from __future__ import annotations

from broker.config.config_layers import ConfigLayers
from broker.coordinators.read_settings import PLAIN, GroupRead, ReadSettings, read_settings
from tests.broker.gateway import Gateway


def layers() -> ConfigLayers:
    return Gateway().broker.live_config.layers


def test_each_configuration_is_a_setting_and_others_are_none() -> None:
    own = {
        "kawal.consume.excluded": "true",
        "kawal.min.poll.rows": "7",
        "kawal.enable.batch.meta": "true",
        "kawal.snapshot.enable": "true",
    }
    assert read_settings(own, layers()) == ReadSettings(True, 7, True, True)
    assert read_settings({"kawal.min.poll.rows": "0"}, layers()) == PLAIN
    assert read_settings({"consumer.session.timeout.ms": "45000"}, layers()) == PLAIN


def test_groups_that_read_alike_are_not_the_same() -> None:
    assert GroupRead("g", PLAIN) != GroupRead("g", PLAIN)
