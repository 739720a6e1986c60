"""The names of mechanisms."""

from broker.config.sasl_names import MECHANISMS


def test_the_names_are_the_registered_ones() -> None:
    assert MECHANISMS == ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
