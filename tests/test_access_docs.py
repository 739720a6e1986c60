"""The table of access in docs/security.md is the table that the gate enforces.

`KAWAL_WRITE_ACCESS=1 pytest tests/test_access_docs.py` writes it.
"""

from __future__ import annotations

import os
from pathlib import Path

from broker.handlers import OF_NODES
from broker.security.access_table import ACCESS
from protocol.api_keys import ApiKey

DOCUMENT = Path(__file__).parent.parent / "docs" / "security.md"
BEGIN = "<!-- made by tests/test_access_docs.py: KAWAL_WRITE_ACCESS=1 writes it -->\n"
END = "<!-- end -->\n"


def access_table() -> str:
    """Return the table in Markdown."""
    lines = ["| API | needs | concerns | refused with |", "| --- | --- | --- | --- |"]
    for key, checks in sorted(ACCESS.items()):
        name = ApiKey(key).name
        if not checks:
            needs = "to be another node of the cluster" if key in OF_NODES else "nothing"
            lines.append(f"| {name} | {needs} | | |")
        for check in checks:
            error = "" if check.error is None else f"{check.error.name} ({int(check.error)})"
            lines.append(f"| {name} | {check.text} | {check.scope.value} | {error} |")
            name = ""
    return "\n".join(lines) + "\n"


def test_the_document_has_the_table_that_is_enforced() -> None:
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n{access_table()}\n{END}{after}"
    if os.environ.get("KAWAL_WRITE_ACCESS"):
        DOCUMENT.write_text(wanted)
    assert DOCUMENT.read_text() == wanted
