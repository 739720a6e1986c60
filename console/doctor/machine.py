"""Versions, memory, limits and clock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from broker.config.config import Config
from broker.connections.admission import connection_room
from console.doctor.facts import Facts
from console.doctor.finding import Finding, ok, problem, warning

PYTHON_MIN = (3, 11)
OPEN_FILES_GOOD = 20_000
"""Room for 10,000 clients, their segments and a reserve."""

AVAILABLE_MIN_BYTES = 256 << 20
"""The memory that a server with the default configuration takes under load."""

EPOCH_SECONDS = 1_767_225_600
"""2026-01-01: a clock that is right is not older than this program."""

_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)\s*(.*)$")
_BOUND = re.compile(r"(>=|<)\s*([0-9.]+)")


def check_versions(facts: Facts) -> Iterator[Finding]:
    """Check that Python and the packages we use are those this version was made for."""
    python = ".".join(map(str, facts.python))
    if facts.python < PYTHON_MIN:
        yield problem("versions", f"Python {python} is too old", "run kawal with Python 3.11 or later")
    else:
        found = facts.package_version("kawal") or "(not installed as a package)"
        yield ok("versions", f"kawal {found} on Python {python}")
    for line in facts.requirements():
        yield from _check_requirement(facts, line)


def _check_requirement(facts: Facts, line: str) -> Iterator[Finding]:
    match = _REQUIREMENT.match(line.partition(";")[0])
    if match is None:
        return
    name, bounds = match.groups()
    version = facts.package_version(name)
    if version is None:
        yield problem("versions", f"the package {name} is missing", "install kawal again")
    elif not all(_holds(version, sign, bound) for sign, bound in _BOUND.findall(bounds)):
        yield warning(
            "versions",
            f"{name} {version} is not the version kawal was tested with ({bounds.strip()})",
            "install kawal in an environment of its own",
        )


def _holds(version: str, sign: str, bound: str) -> bool:
    left, right = _numbers(version), _numbers(bound)
    return left >= right if sign == ">=" else left < right


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def check_limits(facts: Facts, config: Config) -> Iterator[Finding]:
    """Check that a file may be open for every client that may connect."""
    limit = facts.open_files_max()
    room = connection_room(limit)
    advice = "raise the limit of open files: 'ulimit -n 1048576', or LimitNOFILE= of its systemd unit"
    if limit < OPEN_FILES_GOOD:
        yield warning("limits", f"{limit} open files leave room for {room} clients", advice)
    elif room < config.max_connections < 2**31 - 1:
        text = f"max.connections is {config.max_connections}, but {limit} open files leave room for {room}"
        yield warning("limits", text, advice)
    else:
        yield ok("limits", f"{limit} open files, room for {room} clients")


def check_memory(facts: Facts, config: Config) -> Iterator[Finding]:
    """Check that there is memory for what the configuration lets clients take."""
    total, available = facts.memory_bytes()
    text = f"{available >> 20} MiB of {total >> 20} MiB are available"
    bounds = (
        config.queued_max_request_bytes,
        config.kawal_queued_max_response_bytes,
        config.kawal_fetch_session_cache_bytes,
        config.kawal_groups_max_bytes,
        config.kawal_offsets_max_bytes,
        config.kawal_catalogue_max_bytes,
        config.kawal_producers_max_bytes,
        config.kawal_named_producers_max_bytes,
        config.kawal_share_states_max_bytes,
        config.kawal_share_ranges_max_bytes,
        config.kawal_tail_cache_bytes,
    )
    wanted = sum(max(0, bound) for bound in bounds)
    if available < AVAILABLE_MIN_BYTES:
        yield warning("memory", text, "stop another program, or give the machine or container more")
    elif wanted > total:
        yield warning(
            "memory",
            f"{text}, and clients may fill {wanted >> 20} MiB",
            "lower queued.max.request.bytes, kawal.queued.max.response.bytes or kawal.tail.cache.bytes",
        )
    else:
        yield ok("memory", text)


def check_clock(facts: Facts) -> Iterator[Finding]:
    """Check that the clock, which stamps records and times retention, can be right."""
    if facts.wall_seconds < EPOCH_SECONDS:
        yield problem(
            "clock",
            "the time of day is years behind: records would be stamped wrongly and deleted too late",
            "set the clock, and let chrony or systemd-timesyncd keep it right",
        )
    elif facts.clock_is_synchronised() is False:
        yield warning(
            "clock",
            "no time server sets the clock, as far as the kernel knows",
            "run chrony or systemd-timesyncd; for a container, on its host",
        )
    else:
        yield ok("clock", "the time of day is plausible")
