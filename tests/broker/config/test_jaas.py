"""Login modules as Kafka writes them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.config.jaas import module_problem, read_module

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_users_are_read_with_every_kind_of_quotes() -> None:
    module = read_module(
        f"""{PLAIN} required
          username="broker" password="x" /* not a user */ user_alice="a \\"b\\" \\\\ \\n;"
          user_bob='it"s' user_c-d=plain; // the end
        """
    )
    assert module.users == {"alice": 'a "b" \\ \n;', "bob": 'it"s', "c-d": "plain"}


def test_a_module_is_never_shown_with_its_secrets() -> None:
    assert "secret" not in repr(read_module(f'{PLAIN} required user_a="secret";'))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "at the end"),
        (f"{PLAIN} required user_a=secret", "at the end"),
        (f"{PLAIN} required; {PLAIN} required;", "one login module"),
        ("com.example.Module required;", "none of"),
        (f"{PLAIN} always;", "required, requisite"),
        (f"{PLAIN} required user_a=;", "option 1 is not NAME=VALUE"),
        (f"{PLAIN} required user_a==;", "option 1 is not NAME=VALUE"),
        (f"{PLAIN} required = = x;", "option 1 is not NAME=VALUE"),
        (f"{PLAIN} required user_a secret;", "option 1 is not NAME=VALUE"),
        (f'{PLAIN} required user_a="secret;', "put values into double quotes"),
        (f"{PLAIN} required user_a=secret!;", "put values into double quotes"),
    ],
)
def test_a_wrong_text_is_told_without_its_secrets(text: str, problem: str) -> None:
    found = module_problem(text)
    assert found is not None
    assert problem in found
    assert "secret" not in found


@example({"a": ";"})
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x10FFFF, exclude_categories=["Cs"])),
        max_size=4,
    )
)
def test_quoted_passwords_come_back(users: dict[str, str]) -> None:
    options = " ".join(
        'user_{}="{}"'.format(name, secret.replace("\\", "\\\\").replace('"', '\\"'))
        for name, secret in users.items()
    )
    assert read_module(f"{PLAIN} required {options};").users == users
