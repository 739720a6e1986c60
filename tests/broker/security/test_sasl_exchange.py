"""The outcomes of an exchange."""

from broker.security.sasl_exchange import Accepted, LoginRefused


def test_a_refusal_tells_no_reason_unless_it_is_given() -> None:
    refused = LoginRefused("user 'a': unknown")
    assert (str(refused), refused.told, refused.answered) == ("user 'a': unknown", "", True)


def test_credentials_are_valid_without_end_unless_one_is_given() -> None:
    assert Accepted("a") == ("a", b"", None, False)
