"""Write docs/compatibility.md from the code and the tests: `python -m compat_tests.compatibility`.

A test compares the file with what this module makes, so the documentation cannot fall behind.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from broker.handlers import APIS, OF_NODES, Api
from compat_tests.differential.allow_list import ALLOWED
from compat_tests.differential.allow_list_nodes import ALLOWED_OF_NODES
from compat_tests.differential.allowed import Allowed
from compat_tests.differential.recorded import SEED, load
from compat_tests.differential.sequences import names, sequence
from compat_tests.error_cases import groups, node, records, shares, tokens, topics
from compat_tests.error_cases.case import CASES
from compat_tests.error_cases.never import NEVER
from compat_tests.not_served import NOT_SERVED
from protocol.api_keys import PRIVATE_FROM, ApiKey
from protocol.error_codes import ErrorCode

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
CLIENTS = ROOT / "docs" / "compatibility.clients.json"
HANDLERS = ROOT / "broker" / "handlers"
NOT_RUN = "not run"
"""A cell that no test has filled: tests/test_compatibility_docs.py finds it."""
CASE_MODULES = (groups, node, records, shares, tokens, topics)

TEXT = """\
<!-- Made by `python -m compat_tests.compatibility`; change the code or the tests, not this file. -->

# Compatibility with Apache Kafka

Clients, versions and answers: what was compared, and how it came out. The model is Apache Kafka {kafka}, one
node without security.

- **Clients.** Every cell of the first table is a test with that client's own program, run in `make test`.
- **APIs.** `make test` sends the gateway {answers:,} requests for which Kafka's answers are on record: every
  API, every version, right and wrong, alone and mixed. They are compared field by field. `make differential`
  sends others to both, live, for as long as you like (`ARGS='--seed 7 --each 100'`).
- **Errors.** Each error code is provoked by a test, or has a reason why it cannot occur.

## Clients

{clients}
## APIs

Versions are those that ApiVersions reports. The head of each API's file in `broker/handlers/` says what the
API does.

{apis}
### Not served

APIs that Kafka {kafka} lists and Kawal does not.

{missing}
Metrics of clients (KIP-714: GetTelemetrySubscriptions 71, PushTelemetry 72) are listed by Kafka only while a
plugin takes them, and by Kawal never: what clients push would have to be opened (OpenTelemetry in four
codecs), bounded and passed on, and a subscription that asks for nothing is of no use. Clients see that the
APIs are not listed, and push nothing.

## Answers that differ

Every difference that the comparison finds and that stays. A difference that is not in this list fails the
tests, and so does an entry that no longer occurs.

{differences}
## Several workers

`python -m compat_tests.differential --nodes 2` sends the same requests to two workers and to two brokers of
Kafka, each partition led by the same node of both: to its leader or coordinator, and now and then to the
other node. These differences come on top:

{differences_of_nodes}
## Error codes

{provoked} of the {codes} codes of Kafka's table are provoked by `compat_tests/test_error_codes.py`, on Kafka
as on the gateway: {cases}.

{exceptions}
The others do not occur:

{never}"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    print(f"wrote {PAGE}")


def page() -> str:
    """Return the whole page."""
    theirs = kafka_versions()
    return TEXT.format(
        kafka="4.3.1",
        answers=recorded_answers(),
        clients=_clients_table(json.loads(CLIENTS.read_text())),
        apis=_api_table(theirs),
        missing=_table(
            ("key", "API", "Kafka", "why"),
            ((str(int(key)), _name(key), _range(*theirs[key]), why) for key, why in NOT_SERVED.items()),
        ),
        differences=_differences(ALLOWED),
        differences_of_nodes=_differences(ALLOWED_OF_NODES),
        provoked=len(CASES),
        codes=len(ErrorCode),
        cases=", ".join(f"{code.name} {int(code)}" for code in sorted(CASES)),
        exceptions=_exceptions(),
        never=_table(
            ("code", "name", "why"), ((str(int(code)), code.name, why) for code, why in sorted(NEVER.items()))
        ),
    )


def kafka_versions() -> dict[ApiKey, tuple[int, int]]:
    """Return the first and last version by API that Kafka's ApiVersions told when it was recorded."""
    chosen = sequence("wild-api-versions", SEED)
    told = next(
        answer["api_keys"]
        for step, answer in zip(chosen.steps, load(chosen), strict=True)
        if step.api is ApiKey.API_VERSIONS and step.version == 4 and not answer.get("error_code")
    )
    rows = ((row.get("api_key", 0), row.get("min_version", 0), row.get("max_version", 0)) for row in told)
    return {ApiKey(key): (first, last) for key, first, last in rows}


def recorded_answers() -> int:
    """Return the number of Kafka's answers on record."""
    return sum(len(sequence(name, SEED).steps) for name in names())


def _clients_table(matrix: dict[str, Any]) -> str:
    clients = sorted(matrix, key=str.lower)
    operations = list(dict.fromkeys(name for client in clients for name in matrix[client]["operations"]))
    notes: list[str] = []

    def cell(client: str, operation: str) -> str:
        outcome = str(matrix[client]["operations"].get(operation, NOT_RUN))
        if outcome in ("ok", NOT_RUN):
            return outcome
        why = outcome.partition(": ")[2]
        if why not in notes:
            notes.append(why)
        return f"no ({notes.index(why) + 1})"

    head = ("", *(f"{client} {matrix[client]['version']}" for client in clients))
    table = _table(head, ([name, *(cell(client, name) for client in clients)] for name in operations))
    return table + "".join(f"\n({number}) {why}\n" for number, why in enumerate(notes, 1))


def _api_table(theirs: dict[ApiKey, tuple[int, int]]) -> str:
    served = sorted(
        (api for api in APIS.values() if api.key < PRIVATE_FROM and api.key not in OF_NODES),
        key=lambda api: api.key,
    )
    return _table(
        ("key", "API", "Kawal", "Kafka", "differences from Kafka"),
        (
            (str(int(api.key)), _name(api.key), _ours(api), _range(*theirs[api.key]), differences_of(api))
            for api in served
        ),
    )


def differences_of(api: Api) -> str:
    """Return what the head of an API's handler says about differences from Kafka."""
    text = ast.get_docstring(ast.parse((HANDLERS / f"{api.name}.py").read_text())) or ""
    found = re.search(r"Differences from Apache Kafka: (.*?)(?=\nVersion notes:|\n\n|\Z)", text, re.DOTALL)
    assert found, f"broker/handlers/{api.name}.py says nothing about differences from Apache Kafka"
    return " ".join(found[1].split())


def _ours(api: Api) -> str:
    told = _range(api.advertised_minimum, api.maximum)
    return told if api.minimum == api.advertised_minimum else f"{told}, served from {api.minimum}"


def _differences(allowed: Iterable[Allowed]) -> str:
    """Return a table for each API, after one for the differences that concern many."""
    tables: dict[str, list[Allowed]] = {}
    for entry in allowed:
        heading = ", ".join(_name(key) for key in entry.apis) or "All APIs"
        tables.setdefault(heading, []).append(entry)
    return "\n".join(
        f"### {heading}\n\n"
        + _table(
            ("what", "versions", "why"), ((entry.what, entry.versions, entry.reason) for entry in entries)
        )
        for heading, entries in tables.items()
    )


def _exceptions() -> str:
    lines = [
        f"- {case.code.name}: Kafka answers {case.kafka.name} to the same request; {case.differs}.\n"
        for _, case in sorted(CASES.items())
        if case.differs
    ]
    return "Kafka gives another answer here:\n\n" + "".join(lines) if lines else ""


def _name(key: ApiKey) -> str:
    return "".join(word.capitalize() for word in key.name.split("_"))


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def lines() -> Iterator[Iterable[str]]:
        columns = [*head]
        yield columns
        yield ["---"] * len(columns)
        yield from rows

    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines())


if __name__ == "__main__":
    main()
