"""Rules of the request log: a pattern of client ids, perhaps of one API."""

from __future__ import annotations

import pytest

from broker.config.config import config_of
from broker.config.config_keys import ConfigError
from broker.config.request_log_rules import rules_problem, split_rule


@pytest.mark.parametrize(
    ("rule", "split"),
    [
        ("spark-*", (None, "spark-*")),
        ("fetch:spark-*", ("fetch", "spark-*")),
        ("*:host:9092", (None, "host:9092")),
        ("produce:", ("produce", "")),
    ],
)
def test_a_rule_is_a_pattern_or_an_api_and_a_pattern(rule: str, split: tuple[str | None, str]) -> None:
    assert split_rule(rule) == split
    assert rules_problem((rule,)) is None


def test_an_api_that_there_is_not_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="'fetsh' before the colon is no API; did you mean 'fetch'"):
        config_of({"kawal.request.log": "a,fetsh:*"})
