"""A topic's typed settings, and what they mean for its records."""

from __future__ import annotations

import pytest

from broker.catalogue.topic_configs import effective
from broker.config.config import Config


@pytest.mark.parametrize(
    ("policy", "deletes", "compacts"),
    [("delete", True, False), ("compact", False, True), ("compact,delete", True, True), ("", False, False)],
)
def test_the_policy_names_what_upkeep_does(policy: str, deletes: bool, compacts: bool) -> None:
    settings = effective({"cleanup.policy": policy}, Config())
    assert (settings.deletes, settings.compacts) == (deletes, compacts)


@pytest.mark.parametrize(("stamp", "append_time"), [("CreateTime", False), ("LogAppendTime", True)])
def test_append_time_is_one_of_two_kinds_of_time(stamp: str, append_time: bool) -> None:
    assert effective({"message.timestamp.type": stamp}, Config()).append_time is append_time
