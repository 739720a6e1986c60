"""Rules from certificates to principals, as Kafka reads them."""

import pytest

from broker.config.principal_rules import PrincipalMapper, Rule, parse_rules, rules_problem

SUBJECT = "CN=Dave,OU=dev,O=lab"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", SUBJECT),
        ("", SUBJECT),
        ("RULE:^CN=(.*?),OU=dev.*$/$1/", "Dave"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/L", "dave@dev"),
        ("RULE:^CN=(.*?),.*$/$1/U, DEFAULT", "DAVE"),
        ("RULE:^CN=nobody.*$/$1x/,DEFAULT".replace("$1", ""), SUBJECT),
        (r"RULE:^CN=([a-zA-Z]{2,9}),.*$/a\/$1/", "a/Dave"),
        ("RULE:^CN=Dave$/whole/,RULE:^.*/rest/", "rest"),
        ("RULE:.*/rest/", "restrest"),
        (r"RULE:^CN=(.*?),.*$/\$1-$1\\/", r"$1-Dave" + "\\"),
        ("RULE:CN=(.*?)/user $1/", "user Dave,OU=dev,O=lab"),
        ("RULE:^OU=.*$/x/", None),
    ],
)
def test_the_first_rule_whose_pattern_matches_the_whole_name_decides(rules: str, name: str | None) -> None:
    assert PrincipalMapper(rules).name_of(SUBJECT) == name


def test_commas_and_slashes_may_be_in_patterns() -> None:
    assert parse_rules(r"RULE:a,b\/c/x/L,DEFAULT") == (Rule(r"a,b\/c", "x", "L"), Rule(None))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("RULE:a", "is no rule"),
        ("RULE:a/b/X", "is no rule"),
        ("DEFAULTS", "is no rule"),
        ("DEFAULT,rule:a/b/", "is no rule"),
        ("RULE:(a/b/", "is wrong: missing )"),
        ("RULE:a/$1/", "group 1"),
        ("RULE:(?=a)/b/", "pattern"),
    ],
)
def test_a_wrong_rule_is_told(rules: str, message: str) -> None:
    assert message in (rules_problem(rules) or "")


def test_a_hostile_name_takes_no_time() -> None:
    assert PrincipalMapper("RULE:^CN=(a+)+$/x/").name_of("CN=" + "a" * 50_000 + "!") is None
