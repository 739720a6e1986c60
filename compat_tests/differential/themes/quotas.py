"""Client quotas: set, changed, removed and asked for, one broken rule after the other.

What is right is so high that no client has to wait.
"""

from __future__ import annotations

from collections.abc import Iterable

from compat_tests.differential.steps import Step, Steps
from compat_tests.differential.world import World
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

Part = tuple[str, str | None]
Entry = RequestEntryData

PRODUCE, FETCH, SHARE, CHANGES, CONNECTIONS = (
    *("producer_byte_rate", "consumer_byte_rate", "request_percentage"),
    *("controller_mutation_rate", "connection_creation_rate"),
)
RANDOM_STEPS = 60


def steps(world: World) -> Steps:
    """Return the whole theme."""
    a, b = f"{world.prefix}-a", f"{world.prefix}-b"
    user, client, both = [("user", a)], [("client-id", a)], [("user", a), ("client-id", b)]
    yield from _described(a, b)
    for entries in (
        [put(user, (PRODUCE, 1e9))],
        [put(user, (FETCH, 1e9), (SHARE, 1e6), (CHANGES, 1e6))],
        [put(user, (PRODUCE, None), (SHARE, None))],
        [put(client, (PRODUCE, 2e9)), put(both, (PRODUCE, 3e9))],
        [put([("user", a), ("client-id", None)], (FETCH, 5e9))],
        [put([("client-id", a), ("user", None)], (FETCH, 5e9))],
        [put(user, (PRODUCE, 0))],
        [put(user, (PRODUCE, -5), (FETCH, 7e9))],
        [put(user, (PRODUCE, 1e9 + 0.5))],
        [put(user, (PRODUCE, 1e9 + 1e-7))],
        [put(user, (PRODUCE, 1e19))],
        [put(user, (SHARE, 1e6 + 0.5))],
        [put(user, (CHANGES, float("inf")))],
        [put(user, (CONNECTIONS, 1e6))],
        [put(user, ("other", 1e6))],
        [put(user, ("other", None), (PRODUCE, None), (PRODUCE + "x", None))],
        [put(user, (PRODUCE, 1e9), (PRODUCE, 2e9))],
        [put(user, (PRODUCE, 1e9)), put(user, (PRODUCE, 2e9))],
        [put(user, (PRODUCE, 4e9)), put(user, ("other", 2e9))],
        [put(user, ("other", 2e9)), put(user, (PRODUCE, 6e9))],
        [put(user)],
        [put([("user", "")], (PRODUCE, 1e9))],
        [put([("user", a), ("user", b)], (PRODUCE, 1e9))],
        [put([("planet", a)], (PRODUCE, 1e9))],
        [put([("user", a), ("ip", "127.0.0.9")], (CONNECTIONS, 1e6))],
        [put([("ip", "127.0.0.9")], (CONNECTIONS, 1e6)), put([("ip", "127.0.0.9")], (PRODUCE, 1e6))],
        [put([("ip", "127.0.0.9")], (CONNECTIONS, 3e9))],
        [put([("ip", "127.0.0.9")], (CONNECTIONS, None))],
        [put([], (PRODUCE, 1e9))],
        [put(user, ("other", 1)), put(client, (FETCH, 8e9))],
        [],
    ):
        yield altered(*entries, validate_only=True)
        yield altered(*entries)
        yield from _described(a, b)
    yield from _at_random(world, [a, b])


def _at_random(world: World, names: list[str]) -> Steps:
    random = world.random
    for _ in range(RANDOM_STEPS):
        entries: list[Entry] = []
        for _ in range(random.randint(1, 3)):
            kinds = random.choice([["user"], ["client-id"], ["user", "client-id"], ["client-id", "user"]])
            parts: list[Part] = [(kind, random.choice(names)) for kind in kinds]
            keys = random.sample([PRODUCE, FETCH, SHARE, CHANGES, CONNECTIONS, "other"], random.randint(1, 3))
            entries.append(put(parts, *((key, random.choice([1e9, 2e9, None, None, -1])) for key in keys)))
        yield altered(*entries, validate_only=random.random() < 0.2)
        yield from _described(*names)


def put(parts: Iterable[Part], *values: tuple[str, float | None]) -> Entry:
    """Set quotas of an entity, or with None remove them."""
    return Entry(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in parts],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values],
    )


def altered(*entries: Entry, validate_only: bool = False) -> Step:
    """Change quotas in one request."""
    return Step(AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only), 1)


def _described(a: str, b: str) -> Steps:
    """Ask for quotas in several ways."""
    yield described()
    yield described(("user", 0, a))
    yield described(("user", 0, a), strict=True)
    yield described(("user", 2, None), ("client-id", 0, b))
    yield described(("client-id", 1, None))
    yield described(("client-id", 2, None), strict=True)


def described(*components: tuple[str, int, str | None], strict: bool = False) -> Step:
    """Ask for the quotas that a filter finds."""
    asked = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
    return Step(DescribeClientQuotasRequest(components=asked, strict=strict), 1)
