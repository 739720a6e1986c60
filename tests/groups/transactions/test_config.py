"""The settings are the server's, under the same names."""

from __future__ import annotations

from dataclasses import fields

from groups.transactions.config import TransactionConfig
from tests.groups.transactions.driver import Driver


def test_a_changed_setting_applies_to_the_next_request() -> None:
    driver = Driver()
    assert driver.init(timeout_ms=5_000).code == 0
    settings = {field.name: getattr(driver.config, field.name) for field in fields(TransactionConfig)}
    driver.machine.configure(TransactionConfig(**{**settings, "transaction_max_timeout_ms": 4_999}))
    assert driver.init(timeout_ms=5_000).code == 50
