"""Topic names follow Kafka's rules."""

import pytest

from broker.config.topic_names import collision_key, name_problem


@pytest.mark.parametrize("name", ["a", "a.b_c-D9", "x" * 249, "__consumer_offsets", "..."])
def test_legal_names_have_no_problem(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "empty string"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "longer than the max allowed length 249"),
        ("a b", "other than ASCII alphanumerics"),
        ("ä", "other than ASCII alphanumerics"),
        ("a\n", "other than ASCII alphanumerics"),
        ("../../etc", "other than ASCII alphanumerics"),
    ],
)
def test_illegal_names_are_refused_with_the_reason(name: str, part: str) -> None:
    problem = name_problem(name)
    assert problem is not None
    assert part in problem


def test_dots_and_underscores_are_one_for_collisions() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c")
    assert collision_key("a.b") != collision_key("ab")
