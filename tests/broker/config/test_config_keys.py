"""Values of configuration keys: reading, refusing and writing them."""

import difflib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.config_keys import COMPARED_MAX, ConfigError, ConfigType, Key, Value, nearest, text_of


def key(type_: ConfigType, default: Value = None, **rest: Any) -> Key:
    return Key("some.key", type_, default, "", **rest)


@pytest.mark.parametrize(
    ("type_", "raw", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, False, False),
        (ConfigType.INT, " 5 ", 5),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.INT, "+7", 7),
        (ConfigType.SHORT, 32767, 32767),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.DOUBLE, "1e3", 1000.0),
        (ConfigType.DOUBLE, 1, 1.0),
        (ConfigType.DOUBLE, " .01f ", 0.01),
        (ConfigType.DOUBLE, "+1.D", 1.0),
        (ConfigType.STRING, " text ", "text"),
        (ConfigType.LIST, "a, b ,c", ("a", "b", "c")),
        (ConfigType.LIST, "", ()),
        (ConfigType.LIST, ["a", " b"], ("a", "b")),
        (ConfigType.CLASS, "org.Some", "org.Some"),
    ],
)
def test_a_value_is_read_as_kafka_reads_it(type_: ConfigType, raw: object, value: object) -> None:
    assert key(type_).parse(raw) == value


@pytest.mark.parametrize(
    ("type_", "raw"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.BOOLEAN, 1),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "٣"),
        (ConfigType.INT, "0x10"),
        (ConfigType.INT, ""),
        (ConfigType.INT, True),
        (ConfigType.INT, 1.5),
        (ConfigType.INT, "9" * 5000),
        (ConfigType.SHORT, "32768"),
        (ConfigType.LONG, "9223372036854775808"),
        (ConfigType.DOUBLE, "x"),
        (ConfigType.DOUBLE, True),
        (ConfigType.DOUBLE, "nan"),
        (ConfigType.DOUBLE, "1_0"),
        (ConfigType.DOUBLE, "infinity"),
        (ConfigType.DOUBLE, "."),
        (ConfigType.DOUBLE, float("nan")),
        (ConfigType.STRING, 5),
        (ConfigType.LIST, 5),
        (ConfigType.LIST, ["a", 1]),
    ],
)
def test_what_is_not_of_the_type_is_refused(type_: ConfigType, raw: object) -> None:
    with pytest.raises(ConfigError, match=r"some\.key.*must be"):
        key(type_, minimum=0 if type_ is ConfigType.DOUBLE else None).parse(raw)


def test_the_error_tells_key_value_and_range() -> None:
    with pytest.raises(ConfigError) as caught:
        key(ConfigType.INT, minimum=1, maximum=9).parse("12")
    assert str(caught.value) == "invalid value '12' for 'some.key': must be between 1 and 9"
    assert str(caught.value.at("kawal.toml:7")).startswith("kawal.toml:7: invalid value '12'")


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"minimum": 1}, "at least 1"),
        ({"maximum": 1}, "at most 1"),
        ({"choices": ("a", "b")}, "one of a, b"),
        ({}, ""),
    ],
)
def test_a_range_is_told_in_words(limits: dict[str, Any], text: str) -> None:
    assert key(ConfigType.STRING, **limits).range_text() == text


def test_each_member_of_a_list_must_be_a_choice() -> None:
    policy = key(ConfigType.LIST, choices=("compact", "delete"))
    assert policy.parse("delete,delete") == ("delete", "delete")
    assert policy.parse("") == ()
    with pytest.raises(ConfigError, match="a list of compact, delete"):
        policy.parse("compact,")


def test_null_is_a_value_only_where_the_default_is_null() -> None:
    assert key(ConfigType.LONG).parse(None) is None
    with pytest.raises(ConfigError, match="a value is needed"):
        key(ConfigType.LONG, default=5).parse(None)


def test_a_secret_is_not_shown_in_the_error() -> None:
    secret = key(ConfigType.PASSWORD, check=lambda value: "is too short")
    assert secret.sensitive
    with pytest.raises(ConfigError) as caught:
        secret.parse("hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        ((), ""),
        (("a", "b"), "a,b"),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (0.0001, "1.0E-4"),
        (12345678.9, "1.23456789E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_a_value_is_written_as_java_writes_it(
    value: bool | float | tuple[str, ...] | None, text: str
) -> None:
    assert text_of(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_number_is_the_number(value: float) -> None:
    written = text_of(value)
    assert written is not None
    assert float(written) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_written_integer_is_read_back(value: int) -> None:
    assert key(ConfigType.LONG).parse(text_of(value)) == value


@given(st.text(max_size=40), st.sampled_from(ConfigType))
def test_any_text_is_a_value_or_a_config_error(text: str, type_: ConfigType) -> None:
    with suppress(ConfigError):
        assert key(type_, minimum=0, maximum=10).parse(text) is not None


def test_the_nearest_name_forgives_case_and_separators() -> None:
    known = ["num.partitions", "log.retention.ms"]
    assert nearest("NUM_PARTITION", known) == "num.partitions"
    assert nearest("log-retention-m", known) == "log.retention.ms"
    assert nearest("zzz", known) == ""


def test_types_carry_the_numbers_of_the_wire() -> None:
    numbers = [(kind.text, int(kind)) for kind in ConfigType]
    assert numbers[:3] == [("boolean", 1), ("string", 2), ("int", 3)]


def test_names_of_another_length_are_not_compared_and_the_rest_only_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    find = difflib.get_close_matches

    def counted(word: str, possibilities: Sequence[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
        compared.append(len(possibilities))
        return find(word, possibilities, n, cutoff)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    known = [f"topic-{number:05}" for number in range(25_000)]
    assert nearest("x" * 32_000, known) == ""
    for _ in range(1_000):
        assert nearest("topic-0000l", known) != ""
    assert compared == [COMPARED_MAX]


def test_a_misspelt_name_is_found_among_all_keys_without_a_comparison_with_each() -> None:
    known = [f"kawal.part{number}.of.{other}" for number in range(20) for other in ("bytes", "ms", "max")]
    for name in known:
        assert nearest(name.replace("part", "pratt"), known) == name


@given(st.text("abc.", max_size=12), st.lists(st.text("abc.", max_size=12), max_size=8))
def test_the_nearest_name_is_that_of_a_comparison_with_all(name: str, known: list[str]) -> None:
    found = difflib.get_close_matches(name.strip().lower(), known, n=1, cutoff=0.6)
    assert nearest(name, known) == (found[0] if found else "")
