"""The keys of listeners' security."""

from broker.config.security_keys import SECURITY_KEYS
from broker.config.server_keys import KEYS


def test_the_keys_are_part_of_the_table() -> None:
    assert all(KEYS[key.name] is key for key in SECURITY_KEYS)
    assert SECURITY_KEYS[0].default == (
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
    )
