"""Views of themselves, of each other and of views, and names in use: each has its code and message."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.databases import create_database
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create, creation
from tests.broker.topic_requests import asked, deleted
from tests.broker.views import make_view

COLUMNS = "id bigint, delay int"
INVALID = ErrorCode.INVALID_CONFIG


@pytest.fixture
def client() -> Client:
    """Return a client of a gateway with the topic `flights` and the view `late` over it."""
    made = Gateway().client()
    create(made, "flights", kawal_columns=COLUMNS)
    make_view(made, "late", "SELECT id FROM flights WHERE delay > 15")
    return made


def made_together(client: Client, **statements: str) -> dict[str, tuple[int, str]]:
    """Return the answers to one request for several views."""
    wanted = [creation(name, -1, kawal_sql=text) for name, text in statements.items()]
    answers = client.call(CreateTopicsRequest(topics=wanted), 7).topics
    return {answer.name: (answer.error_code, answer.error_message or "") for answer in answers}


@pytest.mark.parametrize("sql", ["SELECT * FROM me", "STABLE me", "UNFIT me", "CREATE TOPIC me AS STABLE me"])
def test_a_view_of_itself_is_refused(client: Client, sql: str) -> None:
    code, message = asked(client, "me", sql)
    assert (code, "there is no topic 'me' to read: a view cannot read itself" in message) == (INVALID, True)


def test_an_alias_of_itself_is_refused(client: Client) -> None:
    request = CreateTopicsRequest(topics=[creation("me", -1, kawal_alias_of="me")])
    (answer,) = client.call(request, 7).topics
    assert (answer.error_code, "cannot read itself" in answer.error_message) == (INVALID, True)


def test_two_views_of_each_other_are_refused_in_whatever_order(client: Client) -> None:
    for names in (("a", "b"), ("b", "a")):
        first, second = names
        answers = made_together(client, **{first: f"SELECT * FROM {second}", second: f"STABLE {first}"})
        for name, (code, message) in answers.items():
            other = second if name == first else first
            assert (code, f"there is no topic '{other}' to read" in message) == (INVALID, True)


def test_a_view_cannot_close_a_cycle_after_its_source_is_gone(client: Client) -> None:
    make_view(client, "a", "STABLE flights")
    assert deleted(client, "a", "late", "flights") == {"a": (0, ""), "late": (0, ""), "flights": (0, "")}
    code, message = asked(client, "flights", "STABLE a")
    assert (code, "there is no topic 'a'" in message) == (INVALID, True)


@pytest.mark.parametrize(
    "sql",
    ["SELECT id FROM late", "SELECT * FROM late", "STABLE late", "WITH META AS STABLE late", "UNFIT late"],
)
def test_a_view_over_a_view_is_refused_and_told_what_to_read(client: Client, sql: str) -> None:
    code, message = asked(client, "later", sql)
    assert code == INVALID
    assert "'late' is a view over 'flights'; a view reads a topic that stores records" in message
    assert message.endswith("select from 'flights'")


def test_a_view_over_a_view_of_the_same_request_is_refused(client: Client) -> None:
    answers = made_together(client, all="STABLE flights", some="STABLE all")
    assert answers["all"] == (0, "")
    assert (answers["some"][0], "'all' is a view over 'flights'" in answers["some"][1]) == (INVALID, True)


def test_an_alias_of_a_view_and_a_view_over_an_alias_are_refused(client: Client) -> None:
    create(client, "other", -1, kawal_alias_of="flights")
    for name in ("late", "other"):
        (answer,) = client.call(
            CreateTopicsRequest(topics=[creation("again", -1, kawal_alias_of=name)]), 7
        ).topics
        assert (answer.error_code, f"'{name}' is a view over" in answer.error_message) == (INVALID, True)
    code, message = asked(client, "again", "SELECT id FROM other")
    assert (code, "'other' is a view over 'flights'" in message) == (INVALID, True)


@pytest.mark.parametrize("name", ["late", "flights"])
@pytest.mark.parametrize("sql", ["STABLE flights", "UNFIT flights", "nonsense"])
def test_a_name_that_exists_is_refused_by_its_name_first(client: Client, name: str, sql: str) -> None:
    assert asked(client, name, sql) == (ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def test_a_topic_may_not_take_the_name_of_a_view_and_none_may_collide(client: Client) -> None:
    (answer,) = client.call(CreateTopicsRequest(topics=[creation("late")]), 7).topics
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'late' already exists.",
    )
    make_view(client, "l.ate", "STABLE flights")
    code, message = asked(client, "l_ate", "STABLE flights")
    assert (code, message) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "Topic 'l_ate' collides with existing topic: l.ate",
    )


def test_a_view_over_a_database_may_be_called_like_it_and_shows_no_views() -> None:
    client = Gateway().client()
    create_database(client, "d")
    create(client, "t", kawal_database="d")
    make_view(client, "d", "DATABASE d")
    assert asked(client, "again", "STABLE d")[0] == INVALID
