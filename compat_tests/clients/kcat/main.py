"""kcat as Debian has it, on librdkafka 2.0: requests are turned into command lines."""

from __future__ import annotations

import json
import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time
from typing import Any

from compat_tests.clients.contract import (
    NUMBERS_AT_A_TIME,
    PATIENCE_SECONDS,
    PAUSE_SECONDS,
    Progress,
    Records,
    librdkafka_security,
    serve,
    until,
)

WITHIN = 60
PROGRAM = shutil.which("kcat") or "/usr/bin/kcat"

BETWEEN_KEY_AND_VALUE = "\x01"
AFTER_RECORD = "\x02"
"""Delimiters that no text of the tests contains."""


def run(bootstrap: str, *arguments: str, stdin: bytes = b"") -> str:
    """Run kcat to its end and return what it printed."""
    done = subprocess.run(
        [PROGRAM, "-b", bootstrap, *security(), *arguments],
        input=stdin,
        capture_output=True,
        timeout=WITHIN,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"kcat {arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


def security() -> list[str]:
    """Return the options for the security of the request in work."""
    return [part for name, value in librdkafka_security().items() for part in ("-X", f"{name}={value}")]


def version() -> dict[str, Any]:
    shown = subprocess.run([PROGRAM, "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Version (\S+) .*librdkafka (\S+)", shown)
    assert found, shown
    return {"version": f"{found[1]} (librdkafka {found[2]})"}


def produce(
    bootstrap: str,
    topic: str,
    partition: int,
    codec: str,
    acks: str,
    idempotent: bool,
    records: list[dict[str, Any]],
) -> dict[str, Any]:
    """Run kcat once for each set of headers, which it takes from its command line."""
    settings = {"acks": acks, "enable.idempotence": str(idempotent).lower(), "linger.ms": "100"}
    options = [part for name, value in settings.items() for part in ("-X", f"{name}={value}")]
    for run_of in runs(records):
        headers = [part for name, value in run_of[0]["headers"] for part in ("-H", f"{name}={value}")]
        lines = "".join(
            f"{record['key'] or ''}{BETWEEN_KEY_AND_VALUE}{record['value'] or ''}{AFTER_RECORD}"
            for record in run_of
        )
        delimiters = ["-K", BETWEEN_KEY_AND_VALUE, "-D", AFTER_RECORD]
        # An empty key or value is null to kcat with -Z.
        nulls = ["-Z"] if any(record["key"] is None or record["value"] is None for record in run_of) else []
        run(
            bootstrap, "-P", "-t", topic, "-p", str(partition), "-z", codec, *options, *delimiters, *nulls,
            *headers, stdin=lines.encode(),
        )  # fmt: skip
    return {"offsets": None}


def runs(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Split records where headers, or the meaning of an empty text, change."""
    parts: list[list[dict[str, Any]]] = []
    previous: Any = None
    for record in records:
        kind = (record["headers"], record["key"] is None or record["value"] is None)
        if kind != previous:
            parts.append([])
        parts[-1].append(record)
        previous = kind
    return parts


def produce_numbers(bootstrap: str, topic: str, count: int, idempotent: bool) -> dict[str, Any]:
    """Feed one kcat; if it ends without an error, every number was acknowledged.

    kcat does not report single acknowledgements: progress is what it has been given.
    """
    settings = {
        "acks": "all",
        "enable.idempotence": str(idempotent).lower(),
        "message.timeout.ms": str(PATIENCE_SECONDS * 1_000),
        "reconnect.backoff.max.ms": "500",
        "linger.ms": "5",
    }
    options = [part for name, value in settings.items() for part in ("-X", f"{name}={value}")]
    progress = Progress()
    # -E: a broken connection is not the end.
    command = [PROGRAM, "-E", "-b", bootstrap, *security(), "-P", "-t", topic, "-p", "0", *options]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log) as fed:
        assert fed.stdin is not None
        for number in range(0, count, NUMBERS_AT_A_TIME):
            last = min(number + NUMBERS_AT_A_TIME, count)
            fed.stdin.write("".join(f"{value}\n" for value in range(number, last)).encode())
            fed.stdin.flush()
            progress.tell(last)
            time.sleep(PAUSE_SECONDS)
        fed.stdin.close()
        code = fed.wait(PATIENCE_SECONDS)
        log.seek(0)
        told = log.read().decode()
    if code:
        return {"acked": [], "failed": count, "first_error": told[-500:]}
    return {"acked": list(range(count)), "failed": 0, "first_error": told[-500:]}


def list_offsets(bootstrap: str, topic: str, partition: int) -> dict[str, Any]:
    ends = {}
    for name, timestamp in (("earliest", -2), ("latest", -1)):
        told = run(bootstrap, "-Q", "-t", f"{topic}:{partition}:{timestamp}")
        ends[name] = int(told.rpartition(" ")[2])
    return ends


def consume(bootstrap: str, topic: str, partition: int, offset: int, count: int | None) -> dict[str, Any]:
    if count is None and offset >= list_offsets(bootstrap, topic, partition)["latest"]:
        return {"records": []}
    return {"records": read(bootstrap, ["-C", "-t", topic, "-p", str(partition), "-o", str(offset)], count)}


def consume_from_timestamp(bootstrap: str, topic: str, partition: int, timestamp: int) -> dict[str, Any]:
    arguments = ["-C", "-t", topic, "-p", str(partition), "-o", f"s@{timestamp}"]
    return {"records": read(bootstrap, arguments, None)}


def consume_group(bootstrap: str, topic: str, group: str, count: int) -> dict[str, Any]:
    arguments = ["-X", "auto.offset.reset=earliest", "-G", group, topic]
    return {"records": read(bootstrap, arguments, count)}


def read(bootstrap: str, arguments: list[str], count: int | None) -> list[dict[str, Any]]:
    """Take JSON lines until there are enough, or kcat reports that the end is reached (-e)."""
    settings = [
        "-X",
        "reconnect.backoff.max.ms=500",
        "-X",
        "check.crcs=true",
        "-X",
        "auto.commit.interval.ms=200",
    ]
    until_end = ["-e"] if count is None else []
    command = [
        PROGRAM,
        "-q",
        "-u",
        "-J",
        "-E",
        "-b",
        bootstrap,
        *security(),
        *settings,
        *until_end,
        *arguments,
    ]
    records, progress = Records(), Progress()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as reader, selectors.DefaultSelector() as ready:
        assert reader.stdout is not None
        ready.register(reader.stdout, selectors.EVENT_READ)
        rest = b""
        for _ in until():
            if count is not None and len(records) >= count:
                break
            if not ready.select(0.2):
                continue
            data = os.read(reader.stdout.fileno(), 1 << 20)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            records.add(shown(json.loads(line)) for line in lines)
            progress.tell(len(records))
        # On SIGTERM kcat commits what it has read and leaves its group.
        reader.terminate()
        reader.wait(WITHIN)
    return records.all


def shown(line: dict[str, Any]) -> dict[str, Any]:
    headers = line.get("headers", [])
    return {
        "partition": line["partition"],
        "offset": line["offset"],
        "key": line["key"],
        "value": line["payload"],
        "headers": [list(pair) for pair in zip(headers[::2], headers[1::2], strict=True)],
        "timestamp": line["ts"],
    }


OPERATIONS = {
    operation.__name__: operation
    for operation in (
        version, produce, produce_numbers, consume, consume_from_timestamp, consume_group, list_offsets,
    )
}  # fmt: skip

NO_ADMINISTRATION = "kcat has no administrative commands: topics are created when they are produced to"

CANNOT = dict.fromkeys(
    ("create_topic", "delete_topic", "describe_config", "alter_config", "delete_records"), NO_ADMINISTRATION
)

CANNOT |= dict.fromkeys(
    ("transact", "fence", "outlive", "copy"), "kcat has no transactions: it sends what it is given at once"
)

if __name__ == "__main__":
    serve(OPERATIONS, CANNOT)
