"""Reading the statements of `kawal sql`."""

import pytest

from console.errors import UsageError
from console.sql_statement import parse


@pytest.mark.parametrize(
    ("text", "verb", "name", "lenient"),
    [
        ("CREATE TOPIC late AS SELECT * FROM flights", "create topic", "late", False),
        ("create topic if not exists a.b-c as stable flights;", "create topic", "a.b-c", True),
        ("CREATE TOPIC `my view` WITH META AS STABLE flights", "create topic", "my view", False),
        ("CREATE TOPIC t ONLY META AS DATABASE d", "create topic", "t", False),
        ("  CREATE\n\tTOPIC t\nAS SELECT\n1 FROM x  ", "create topic", "t", False),
        ("DROP TOPIC late", "drop topic", "late", False),
        ("drop topic if exists late ;", "drop topic", "late", True),
        ("SHOW TOPICS", "show topics", "", False),
        ("show  topics ; ", "show topics", "", False),
        ("SHOW CREATE TOPIC late", "show create", "late", False),
        ("DESCRIBE late", "describe", "late", False),
        ("desc topic `late`", "describe", "late", False),
        ("DESCRIBE topic", "describe", "topic", False),
    ],
)
def test_statements_are_read(text: str, verb: str, name: str, lenient: bool) -> None:
    found = parse(text)
    assert (found.verb, found.name, found.lenient) == (verb, name, lenient)
    assert found.text == text.strip().rstrip("; ").rstrip()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the statement is empty"),
        (" ; ", "the statement is empty"),
        ("SELECT * FROM flights", "CREATE TOPIC name AS SELECT"),
        ("UPDATE flights", "begin with CREATE, DROP, SHOW or DESCRIBE, not with 'UPDATE'"),
        ("CREATE TOPIC late", "write it like 'CREATE TOPIC late AS SELECT"),
        ("DROP TOPIC", "write it like 'DROP TOPIC late'"),
        ("DROP TOPIC a, b", "'DROP TOPIC a, b' is not a statement"),
        ("SHOW VIEWS", "write it like 'SHOW TOPICS'"),
        ("show consumers;", "the command 'kawal consumers' shows that"),
        ("SHOW SUBSCRIPTIONS", "the command 'kawal subscriptions' shows that"),
        ("SHOW telemetry.VGROUPS", "the command 'kawal databases describe' shows that"),
        ("-- nothing", "the statement is empty"),
        ("DESCRIBE", "write it like 'DESCRIBE late'"),
    ],
)
def test_what_is_no_statement_is_refused_with_an_example(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert sentence in str(refused.value)


def test_comments_may_stand_anywhere_but_in_quotes() -> None:
    text = "-- late ones\n/* two\nlines */ CREATE /* ! */ TOPIC t AS SELECT a FROM f WHERE b = '-- no' -- end"
    found = parse(text)
    assert (found.verb, found.name) == ("create topic", "t")
    assert found.text.endswith("WHERE b = '-- no'")
    assert parse("/* a */ SHOW TOPICS -- all").verb == "show topics"
    assert parse("DROP TOPIC `a--b` -- c").name == "a--b"
