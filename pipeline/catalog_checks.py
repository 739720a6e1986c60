"""The properties of an Iceberg catalog in a job file ([sink.catalog]): known ones, of the right form, in use.

Source: pyiceberg 0.12, its modules `catalog` and `io` (a test compares the names).
"""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib import util
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

from pipeline.errors import JobFileError, SetupError
from pipeline.job_paths import SQLITE
from pipeline.option_forms import problem_of
from pipeline.places import nearest_folder, problem_in
from registry.client import address_problem

CATALOGS: Final = ("rest", "sql", "hive", "glue", "dynamodb", "bigquery")
"""The types of catalogs that pyiceberg knows, but for `in-memory`, which forgets the table."""

SCHEMES: Final = {"rest": "http://HOST:PORT or https://HOST:PORT", "hive": "thrift://HOST:PORT"}
"""By type, what its address looks like; a type that is not here and not `sql` needs none."""

SQL_URI: Final = re.compile(r"(\w+)(\+\w+)?://.*")
SQL_EXAMPLE: Final = "sqlite:///catalog.db or postgresql+psycopg2://HOST/DATABASE"

FLAG: Final = "~true|false|yes|no|on|off|t|f|y|n|1|0"

FORMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        """
        type uri warehouse token credential scope audience resource prefix oauth2-server-uri py-catalog-impl
        py-io-impl namespace-separator snapshot-loading-mode scan-planning-mode ssl auth
        rest.signing-region rest.signing-name schema_version location
        client.profile-name client.region client.access-key-id client.secret-access-key client.session-token
        client.role-arn client.role-session-name
        s3.profile-name s3.access-key-id s3.secret-access-key s3.session-token s3.region s3.proxy-uri
        s3.signer s3.signer.uri s3.signer.endpoint s3.role-arn s3.role-session-name s3.retry-strategy-impl
        s3.endpoint s3.server-side-encryption s3.sse-kms-key-id
        hdfs.host hdfs.user hdfs.kerberos_ticket
        adls.connection-string adls.credential adls.account-name adls.account-key adls.sas-token
        adls.tenant-id adls.client-id adls.client-secret adls.account-host adls.blob-storage-authority
        adls.dfs-storage-authority adls.blob-storage-scheme adls.dfs-storage-scheme adls.token
        gcs.oauth2.token gcs.project-id gcs.access gcs.consistency gcs.session-kwargs gcs.service.host
        gcs.default-bucket-location hf.endpoint hf.token
        hive.kerberos-service-name owner comment
        glue.id glue.endpoint glue.profile-name glue.region glue.access-key-id glue.secret-access-key
        glue.session-token glue.retry-mode
        table-name dynamodb.profile-name dynamodb.region dynamodb.access-key-id dynamodb.secret-access-key
        dynamodb.session-token
        gcp.bigquery.project-id gcp.bigquery.location gcp.bigquery.credential-file
        gcp.bigquery.credentials-info
        """.split(),  # noqa: SIM905  (a hundred names in a column would fill two screens)
        "text",
    ),
    **dict.fromkeys(
        """
        echo pool_pre_ping init_catalog_tables rest.sigv4-enabled view-endpoints-supported s3.anonymous
        s3.force-virtual-addressing s3.resolve-region adls.anon gcs.requester-pays gcs.version-aware
        hive.hive2-compatible hive.kerberos-authentication glue.skip-archive
        """.split(),  # noqa: SIM905
        FLAG,
    ),
    **dict.fromkeys(
        """
        rest-page-size hdfs.port rest.sigv4.max-retries glue.max-retries gcs.oauth2.token-expires-at
        gcs.cache-timeout lock-check-retries
        """.split(),  # noqa: SIM905
        "long[0,]",
    ),
    **dict.fromkeys(
        ("s3.connect-timeout", "s3.request-timeout", "lock-check-min-wait-time", "lock-check-max-wait-time"),
        "number[0,]",
    ),
}
"""The properties that pyiceberg reads, with the forms of their values (`pipeline.option_forms`)."""

OPEN_PREFIXES: Final = ("header.", "p.")
"""Beginnings of properties that go on as a user likes."""

OTHER_LOGINS: Final = ("credential", "rest.sigv4-enabled", "auth", "oauth2-server-uri")
"""Properties by which pyiceberg logs in, and that are not tried here."""

ANSWER_SECONDS: Final = 1.0
"""The time in which a catalog must answer: with the start of the program it must take less than 2 s."""

CLASSES: Final = ("py-catalog-impl", "py-io-impl")
"""Properties that name a class of the user's, which may have properties of its own."""


def _shown(uri: str) -> str:
    """Return an address for a sentence, without the password in it."""
    return repr(re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:***@", uri))


def check_properties(catalog: Mapping[str, str]) -> None:
    """Refuse properties that pyiceberg does not know or cannot use.  Raises: JobFileError."""
    has_classes = any(name in catalog for name in CLASSES)
    for name, value in catalog.items():
        if name not in FORMS and not name.startswith(OPEN_PREFIXES):
            meant = difflib.get_close_matches(name, FORMS, n=1)
            if meant or not has_classes:
                hint = f"did you mean {meant[0]!r}?" if meant else "leave it out"
                raise JobFileError(f"sink.catalog has {name!r}, which pyiceberg would ignore; {hint}")
        if problem := problem_of(FORMS.get(name, "text"), value):
            raise JobFileError(f"sink.catalog has {name!r} = {value!r}: {problem}")
    if catalog:
        _check_type(catalog)


def _check_type(catalog: Mapping[str, str]) -> None:
    """Refuse a type that there is not, and an address that is none of its type."""
    kind = catalog.get("type")
    if "py-catalog-impl" in catalog:
        if kind is not None:
            raise JobFileError("sink.catalog has 'type' and 'py-catalog-impl', of which one can be; take one")
        return
    if kind == "in-memory":
        raise JobFileError(
            "sink.catalog has type 'in-memory', which forgets the table when a run ends; take 'sql' with a "
            f"file, as {SQLITE}catalog.db"
        )
    if kind is not None and kind not in CATALOGS:
        raise JobFileError(f"sink.catalog has type {kind!r}: expected one of {', '.join(CATALOGS)}")
    uri = catalog.get("uri", "")
    if not uri:
        if kind in (None, "rest", "sql", "hive") and not _has_uri_elsewhere():
            shown = "neither 'type' nor 'uri'" if kind is None else f"type {kind!r}, but no 'uri'"
            raise JobFileError(
                f"sink.catalog has {shown}; give uri = '{SCHEMES.get(kind or 'rest', SQL_EXAMPLE)}'"
            )
        return
    _check_uri(kind, uri)


def _has_uri_elsewhere() -> bool:
    """Return whether pyiceberg may find the address in a place of its own."""
    homes = (os.environ.get("PYICEBERG_HOME", ""), str(Path.home()), ".")
    named = any(name.startswith("PYICEBERG_CATALOG__KAWAL__") for name in os.environ)
    return named or any(Path(home, ".pyiceberg.yaml").exists() for home in homes if home)


def _check_uri(kind: str | None, uri: str) -> None:
    fits = {
        "rest": uri.startswith(("http://", "https://")),
        "hive": uri.startswith("thrift://"),
        "sql": SQL_URI.fullmatch(uri) is not None and not uri.startswith(("http", "thrift", "postgres:")),
    }
    if not (fits.get(kind, True) if kind is not None else any(fits.values())):
        wanted = SCHEMES.get(kind or "", SQL_EXAMPLE)
        if kind is None:
            wanted = f"{SCHEMES['rest']}, {SCHEMES['hive']}, {wanted}"
        raise JobFileError(f"sink.catalog has uri {_shown(uri)}: expected {wanted}")
    if uri.startswith(("http://", "https://")) and (problem := address_problem(uri)):
        raise JobFileError(f"sink.catalog has uri {_shown(uri)}, which {problem}")
    if uri.startswith("sqlite") and (uri in ("sqlite://", SQLITE) or ":memory:" in uri):
        raise JobFileError(
            f"sink.catalog has uri {_shown(uri)}, which forgets the table when a run ends; name a file, as "
            f"{SQLITE}catalog.db"
        )


def database_of(catalog: Mapping[str, str]) -> Path | None:
    """Return the file of a catalog that is one of SQLite."""
    uri = catalog.get("uri", "")
    return Path(uri.removeprefix(SQLITE).partition("?")[0]) if uri.startswith(SQLITE) else None


def check_catalog(catalog: Mapping[str, str]) -> None:
    """Refuse a catalog that cannot be reached, within about a second: pyiceberg would wait for minutes.

    Nothing is made.  Raises: SetupError.
    """
    for name in CLASSES:
        module = catalog.get(name, "").partition(".")[0]
        if module and util.find_spec(module) is None:
            raise SetupError(
                f"sink.catalog has {name!r} = {catalog[name]!r}, but {module!r} cannot be imported; install "
                "it, or correct the name"
            )
    uri = catalog.get("uri", "")
    if (database := database_of(catalog)) is not None:
        _check_database(uri, database)
    elif uri.startswith(("http://", "https://")):
        _check_server(uri, catalog)


def _check_database(uri: str, database: Path) -> None:
    if database.is_dir():
        raise SetupError(f"sink.catalog has uri {_shown(uri)}, which is a folder; name a file in it")
    if database.exists():
        with database.open("rb") as file:
            if file.read(16) not in (b"", b"SQLite format 3\0"):
                raise SetupError(
                    f"sink.catalog has uri {_shown(uri)}, which is no file of SQLite; name another"
                )
    there = nearest_folder(database.parent)
    if problem := problem_in(there):
        raise SetupError(
            f"sink.catalog has uri {_shown(uri)}: nothing can be made in {there} ({problem}); name another "
            "place"
        )


def _check_server(uri: str, catalog: Mapping[str, str]) -> None:
    """Refuse an address at which no catalog answers, and a login that it does not take.

    Asked is what pyiceberg asks first; its import alone may take two seconds.
    """
    parts = urlsplit(uri)
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = connect(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
    headers = {name.removeprefix("header."): catalog[name] for name in catalog if name.startswith("header.")}
    if token := catalog.get("token"):
        headers["Authorization"] = f"Bearer {token}"
    asked = urlencode({"warehouse": catalog["warehouse"]}) if "warehouse" in catalog else ""
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/v1/config?{asked}".rstrip("?"), headers=headers)
        status = connection.getresponse().status
    except TimeoutError:
        problem = f"it takes the connection, and says nothing within {ANSWER_SECONDS:g} s"
    except (OSError, HTTPException, ValueError) as error:
        problem = _reason(error)
    else:
        _judge(status, uri, catalog)
        return
    finally:
        connection.close()
    raise SetupError(
        f"sink.catalog has uri {_shown(uri)}, where no catalog answers ({problem}); is it running?"
    )


def _judge(status: int, uri: str, catalog: Mapping[str, str]) -> None:
    if status == HTTPStatus.NOT_FOUND:
        raise SetupError(
            f"sink.catalog has uri {_shown(uri)}, where no catalog is, or none with its 'warehouse' "
            f"{catalog.get('warehouse', '')!r}: it answers 404; correct them"
        )
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) and not any(
        name in catalog for name in OTHER_LOGINS
    ):
        raise SetupError(
            f"sink.catalog has uri {_shown(uri)}, which answers {status} to what 'token' and 'header.…' say; "
            "give the 'token' or 'credential' that it takes"
        )


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return str(error.strerror)
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error) or "no HTTP"
