"""The file of the audit log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Final

from broker.config.config import Config
from broker.server.audit_file import path_of_worker, paths_of_workers
from console.doctor.facts import Facts
from console.doctor.finding import Finding, ok, problem, warning

TAIL_BYTES: Final = 1 << 20
"""The end of the file in which gaps are looked for."""


def check_audit(facts: Facts, config: Config) -> Iterator[Finding]:
    """Check that the audit log can be written, and that it has lost nothing lately."""
    path = config.kawal_audit_file
    if path is None:
        return
    folder = os.path.dirname(path)
    written = [path_of_worker(path, number) for number in range(config.kawal_workers)]
    closed = [each for each in written if os.path.exists(each) and not os.access(each, os.W_OK)]
    if closed or not os.access(folder, os.W_OK | os.X_OK):
        yield problem(
            "audit",
            f"user {facts.user_id} cannot write the audit log {closed[0] if closed else path}",
            "make its folder, or change the owner; or name another file as kawal.audit.file",
        )
        return
    needed = config.kawal_audit_file_max_bytes * (config.kawal_audit_file_count + 1) * len(written)
    free = facts.space(folder).free_bytes
    if free < config.kawal_audit_file_max_bytes:
        refuses = config.kawal_audit_when_full == "refuse"
        effect = "logins and changes are refused" if refuses else "events are lost"
        yield problem("audit", f"{folder} has {free} bytes left; when it is full, {effect}", "make room")
    elif free < needed - sum(_used(each, config.kawal_audit_file_count) for each in written):
        text = f"{folder} has {free} bytes left, and the audit log may take {needed}"
        yield warning("audit", text, "make room, or keep fewer files (kawal.audit.file.count)")
    lost = sum(map(_lost, paths_of_workers(path)))
    if lost:
        text = f"{lost} events were lost while {path} could not be written"
        advice = "'kawal audit --event audit.gap' shows when; the server's log has the reason"
        yield warning("audit", text, advice)
    else:
        yield ok("audit", f"{path} can be written")


def _used(path: str, count: int) -> int:
    every = [path, *(f"{path}.{number}" for number in range(1, count + 1))]
    return sum(os.path.getsize(each) for each in every if os.path.exists(each))


def _lost(path: str) -> int:
    """Return the number of events that the end of the file says were lost."""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - TAIL_BYTES))
            lines = stream.read().splitlines()
    except OSError:
        return 0
    gaps = (line for line in lines if b'"audit.gap"' in line)
    return sum(int(_tree(line).get("left_out", 0)) for line in gaps)


def _tree(line: bytes) -> dict[str, int]:
    try:
        tree = json.loads(line)
    except ValueError:
        return {}
    return tree if isinstance(tree, dict) and tree.get("event") == "audit.gap" else {}
