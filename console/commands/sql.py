"""`kawal sql`: create, show and drop views, and databases, by statements."""

from __future__ import annotations

import argparse
import json
from typing import Any

from console.client import add_bootstrap, admin_client, listen_for_trouble, refusal
from console.errors import OK, CommandError
from console.help import describe
from console.sql_databases import is_about_databases, run_database_statement
from console.sql_statement import Statement, parse
from console.tables import table
from console.topic_tree import topic_text, topic_tree

NO_SUCH_TOPIC = 3
TOPIC_EXISTS = 36
SQL = "kawal.sql"
SOURCE = "kawal.source"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Run one statement: CREATE TOPIC name AS …, DROP TOPIC name, SHOW TOPICS, DESCRIBE name, and CREATE,
        ALTER, DROP, SHOW and DESCRIBE of databases.

        A topic made AS SELECT or AS STABLE is a view: it stores nothing, and shows its source's records that
        match to every Kafka client.  The language is described in docs/views.md.""",
        [
            (
                'sql "CREATE TOPIC late AS SELECT carrier, delay FROM flights WHERE delay > 15"',
                "a view of the records that match, with these members",
            ),
            (
                "sql \"CREATE TOPIC lisbon AS STABLE flights WHERE origin = 'LIS'\"",
                "a view by tags, values kept",
            ),
            (
                'sql "CREATE TOPIC bad AS UNFIT flights"',
                "the records that do not fit the topic's columns, and why",
            ),
            ('sql "SHOW TOPICS"', "all topics, with what the views among them read"),
            ('sql "DROP TOPIC IF EXISTS late"', "remove a view"),
        ],
    )
    parser.add_argument("statement", metavar="STATEMENT", help="one statement, in quotes")
    parser.add_argument("--json", action="store_true", help="print what is shown as JSON")
    add_bootstrap(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the statement."""
    if is_about_databases(arguments.statement):
        print(run_database_statement(arguments.bootstrap, arguments.statement, json=arguments.json))
        return OK
    statement = parse(arguments.statement)
    listen_for_trouble()
    with admin_client(arguments.bootstrap) as client:
        print(_RUN[statement.verb](client, statement, arguments.json))
    return OK


def _create_topic(client: Any, statement: Statement, _: bool) -> str:
    name = statement.name
    topic = {"num_partitions": -1, "replication_factor": -1, "configs": {SQL: statement.text}}
    answer = client.create_topics({name: topic}, raise_errors=False)["topics"][0]
    code = answer["error_code"]
    if code == TOPIC_EXISTS and statement.lenient:
        _check_same(client, statement)
        return f"{name} exists already"
    if code:
        raise CommandError(f"{name!r}: {refusal(code, answer.get('error_message'))}")
    return f"created {name}"


def _check_same(client: Any, statement: Statement) -> None:
    """Accept, for IF NOT EXISTS, the same view, but not another of that name.  Raises: CommandError."""
    there = _configs(client, [statement.name])[statement.name].get(SQL)
    if there is None:
        raise CommandError(f"{statement.name!r} exists and is not a view")
    if _definition(there) != _definition(statement.text):
        raise CommandError(f"{statement.name!r} exists and is another view: {there}")


def _definition(text: str) -> str:
    """Return what tells two definitions apart: the words after CREATE TOPIC name, whatever the blanks."""
    from views.statement import parse_view

    return parse_view(text).text


def _drop_topic(client: Any, statement: Statement, _: bool) -> str:
    answer = client.delete_topics([statement.name], raise_errors=False)["topics"][0]
    code = answer["error_code"]
    if code == NO_SUCH_TOPIC and statement.lenient:
        return f"{statement.name} does not exist"
    if code:
        raise CommandError(f"{statement.name!r}: {refusal(code, answer.get('error_message'))}")
    return f"dropped {statement.name}"


def _show_topics(client: Any, _: Statement, as_json: bool) -> str:
    topics = sorted(
        (topic for topic in client.describe_topics() if not topic["is_internal"]),
        key=lambda topic: str(topic["name"]),
    )
    configs = _configs(client, [topic["name"] for topic in topics])
    rows = [
        (
            topic["name"],
            len(topic["partitions"]),
            configs[topic["name"]].get(SOURCE),
            configs[topic["name"]].get(SQL),
        )
        for topic in topics
    ]
    if as_json:
        keys = ("name", "partitions", "source", "statement")
        return json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2)
    return table(("TOPIC", "PARTITIONS", "VIEW OF", "AS"), rows)


def _show_create(client: Any, statement: Statement, as_json: bool) -> str:
    _find(client, statement.name)
    text = _configs(client, [statement.name])[statement.name].get(SQL)
    if text is None:
        raise CommandError(f"{statement.name!r} stores records: it was not created by a statement")
    whole = f"CREATE TOPIC `{statement.name}` AS {text}"
    return json.dumps({"name": statement.name, "statement": whole}, indent=2) if as_json else whole


def _describe(client: Any, statement: Statement, as_json: bool) -> str:
    tree = topic_tree(client, _find(client, statement.name), everything=False)
    return json.dumps(tree, indent=2) if as_json else topic_text(tree)


def _find(client: Any, name: str) -> dict[str, Any]:
    topic: dict[str, Any] = client.describe_topics([name])[0]
    if topic["error_code"]:
        raise CommandError(f"{name!r}: {refusal(topic['error_code'], None)}")
    return topic


def _configs(client: Any, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the configurations that make topics views."""
    from kafka.admin import ConfigResource, ConfigResourceType

    if not names:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    answer = client.describe_configs(resources, config_filter="all")
    found = next(iter(answer.values()))
    return {
        name: {key: entry["value"] for key, entry in found[name].items() if key in (SQL, SOURCE)}
        for name in names
    }


_RUN = {
    "create topic": _create_topic,
    "drop topic": _drop_topic,
    "show topics": _show_topics,
    "show create": _show_create,
    "describe": _describe,
}
