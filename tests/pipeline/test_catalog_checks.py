"""The properties of an Iceberg catalog: wrong ones are refused before pyiceberg is needed."""

from __future__ import annotations

import http.client
import socket
import sqlite3
from contextlib import nullcontext
from pathlib import Path

import pyiceberg.io
import pytest

from pipeline import catalog_checks
from pipeline.catalog_checks import FORMS, check_catalog, check_properties, database_of
from pipeline.errors import JobFileError, SetupError


@pytest.fixture(autouse=True)
def _without_a_configuration_of_pyiceberg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYICEBERG_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYICEBERG_CATALOG__KAWAL__URI", raising=False)


@pytest.mark.parametrize(
    ("catalog", "sentence"),
    [
        ({"typ": "rest"}, "sink.catalog has 'typ', which pyiceberg would ignore; did you mean 'type'?"),
        (
            {"type": "rest", "url": "http://a:1"},
            "has 'url', which pyiceberg would ignore; did you mean 'uri'?",
        ),
        ({"type": "rest", "s3.endpont": "http://a"}, "did you mean 's3.endpoint'?"),
        ({"type": "sql", "zzzzzz": "1"}, "has 'zzzzzz', which pyiceberg would ignore; leave it out"),
        ({"type": "sql", "echo": "maybe"}, "has 'echo' = 'maybe': expected one of 'true', 'false'"),
        (
            {"type": "sql", "s3.connect-timeout": "soon"},
            "has 's3.connect-timeout' = 'soon': expected a number",
        ),
        ({"type": "rset"}, "has type 'rset': expected one of rest, sql, hive"),
        ({"type": ""}, "has type '': expected one of"),
        ({"type": "in-memory"}, "has type 'in-memory', which forgets the table when a run ends"),
        ({"type": "rest"}, "has type 'rest', but no 'uri'; give uri = 'http://HOST:PORT"),
        ({"type": "sql"}, "has type 'sql', but no 'uri'; give uri = 'sqlite:///catalog.db"),
        ({"warehouse": "w"}, "has neither 'type' nor 'uri'"),
        ({"type": "rest", "uri": "a:1"}, "has uri 'a:1': expected http://HOST:PORT or https://HOST:PORT"),
        ({"type": "rest", "uri": "http://[::1"}, "has uri 'http://[::1', which is not an address"),
        ({"type": "hive", "uri": "http://a:1"}, "has uri 'http://a:1': expected thrift://HOST:PORT"),
        ({"type": "sql", "uri": "x.db"}, "has uri 'x.db': expected sqlite:///catalog.db"),
        ({"type": "sql", "uri": "postgres://a/b"}, "expected sqlite:///catalog.db or postgresql+psycopg2://"),
        ({"uri": "x.db"}, "expected http://HOST:PORT or https://HOST:PORT, thrift://HOST:PORT, sqlite"),
        ({"type": "sql", "uri": "sqlite:///:memory:"}, "which forgets the table when a run ends"),
        ({"type": "rest", "py-catalog-impl": "a.B"}, "'type' and 'py-catalog-impl', of which one can be"),
    ],
)
def test_properties_that_pyiceberg_would_ignore_or_refuse_are_refused(
    catalog: dict[str, str], sentence: str
) -> None:
    with pytest.raises(JobFileError) as refused:
        check_properties(catalog)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "catalog",
    [
        {},
        {"type": "glue", "glue.region": "eu-central-1"},
        {"type": "rest", "uri": "https://a/b", "token": "t", "header.X-Any": "1", "s3.anonymous": "true"},
        {"uri": "thrift://a:1"},
        {"type": "sql", "uri": "postgresql+psycopg2://u:p@a/b", "pool_pre_ping": "true"},
        {"py-catalog-impl": "own.Catalog", "own.setting": "x"},
    ],
)
def test_properties_that_pyiceberg_takes_are_taken(catalog: dict[str, str]) -> None:
    check_properties(catalog)


def test_an_address_may_come_from_pyicebergs_own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__KAWAL__URI", "http://a:1")
    check_properties({"type": "rest"})


def test_every_property_that_pyiceberg_names_for_files_is_known() -> None:
    prefixes = ("s3.", "gcs.", "adls.", "hdfs.", "hf.", "client.")
    named = {value for value in vars(pyiceberg.io).values() if isinstance(value, str)}
    assert {name for name in named if name.startswith(prefixes)} - {"s3.signer.endpoint.default"} <= {
        *FORMS,
        "s3.v4-rest-signer",
        "v1/aws/s3/sign",
    }


def test_the_file_of_a_database_is_known_by_its_address() -> None:
    assert database_of({"uri": "sqlite:////a/b.db?timeout=5"}) == Path("/a/b.db")
    assert database_of({"uri": "http://a"}) is None


def test_a_look_at_a_catalog_makes_no_file(tmp_path: Path) -> None:
    check_catalog({"type": "sql", "uri": f"sqlite:///{tmp_path}/new/catalog.db"})
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_there_is_taken(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "c.db") as database:
        database.execute("create table t (n int)")
    check_catalog({"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db"})


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("", "which is a folder; name a file in it"),
        ("/junk", "which is no file of SQLite; name another"),
        ("/junk/c.db", "is a file, so"),
    ],
)
def test_a_file_that_cannot_be_a_catalog_is_refused(tmp_path: Path, path: str, sentence: str) -> None:
    (tmp_path / "junk").write_text("this is no database")
    with pytest.raises(SetupError) as refused:
        check_catalog({"type": "sql", "uri": f"sqlite:///{tmp_path}{path}"})
    assert sentence in str(refused.value)


def test_a_place_where_no_catalog_can_be_made_is_refused() -> None:
    with pytest.raises(SetupError, match="nothing can be made in /proc"):
        check_catalog({"type": "sql", "uri": "sqlite:////proc/c.db"})


@pytest.mark.parametrize("name", ["py-catalog-impl", "py-io-impl"])
def test_a_class_that_cannot_be_imported_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match=f"has '{name}' = 'no_such.Class', but 'no_such' cannot be imported"):
        check_catalog({name: "no_such.Class"})


class _Answer:
    """A connection of HTTP that ends as it is told to."""

    def __init__(self, failure: Exception | None, status: int = 200) -> None:
        self._failure = failure
        self.status = status
        self.closed = False
        self.asked: list[object] = []

    def request(self, _method: str, path: str, headers: dict[str, str]) -> None:
        self.asked = [path, headers]
        if self._failure is not None:
            raise self._failure

    def getresponse(self) -> _Answer:
        return self

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (TimeoutError(), "it takes the connection, and says nothing within"),
        (ConnectionRefusedError(111, "Connection refused"), "(Connection refused)"),
        (socket.gaierror(-2, "Name or service not known"), "(Name or service not known)"),
        (http.client.RemoteDisconnected("no answer"), "(no answer)"),
    ],
)
def test_a_server_that_does_not_answer_is_given_up_at_once(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, told: str
) -> None:
    """One that took the connection and said nothing held a check up for more than a minute."""
    connection = _Answer(failure)
    monkeypatch.setattr(catalog_checks, "HTTPConnection", lambda *_place, timeout: connection)
    with pytest.raises(SetupError) as refused:
        check_catalog({"type": "rest", "uri": "http://a:1"})
    assert told in str(refused.value)
    assert connection.closed


def test_a_server_is_asked_what_pyiceberg_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = _Answer(None)
    monkeypatch.setattr(catalog_checks, "HTTPSConnection", lambda *_place, timeout: connection)
    login = {"token": "t", "header.X-Who": "me"}
    check_catalog({"type": "rest", "uri": "https://a:1/ice/", "warehouse": "w 1", **login})
    path, headers = connection.asked
    assert path == "/ice/v1/config?warehouse=w+1"
    assert headers == {"X-Who": "me", "Authorization": "Bearer t"}
    assert connection.closed


@pytest.mark.parametrize(
    ("status", "login", "told"),
    [
        (404, {}, "where no catalog is, or none with its 'warehouse' '': it answers 404"),
        (401, {}, "which answers 401 to what 'token' and 'header.…' say; give the 'token' or 'credential'"),
        (403, {"token": "wrong"}, "which answers 403 to what"),
        (401, {"credential": "a:b"}, ""),
        (400, {}, ""),
    ],
)
def test_a_login_that_a_server_does_not_take_is_told_before_pyiceberg_is_imported(
    monkeypatch: pytest.MonkeyPatch, status: int, login: dict[str, str], told: str
) -> None:
    monkeypatch.setattr(catalog_checks, "HTTPConnection", lambda *_place, timeout: _Answer(None, status))
    with pytest.raises(SetupError) if told else nullcontext() as refused:
        check_catalog({"type": "rest", "uri": "http://a:1", **login})
    assert refused is None or told in str(refused.value)


def test_a_password_in_an_address_is_not_told() -> None:
    with pytest.raises(JobFileError, match="expected") as told:
        check_properties({"type": "rest", "uri": "postgresql://me:hush@db/lake"})
    assert "postgresql://me:***@db/lake" in str(told.value)
    assert "hush" not in str(told.value)
