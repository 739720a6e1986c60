"""SCRAM credentials of users: set, changed, deleted and asked for, one broken rule after the other."""

from __future__ import annotations

from compat_tests.differential.steps import Step, Steps
from compat_tests.differential.world import World
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

Item = ScramCredentialDeletion | ScramCredentialUpsertion
RANDOM_STEPS = 60


def steps(world: World) -> Steps:
    """Return the whole theme."""
    a, b, c = (f"{world.prefix}-{name}" for name in "abc")
    yield described()
    yield described(a, a, b, "")
    for items in (
        [deleted(a)],
        [put(a)],
        [put(a, 2, 8192), put(b)],
        [put(a), put(a, 2)],
        [put(b), put(b)],
        [deleted(a), put(a)],
        [deleted(a), deleted(a, 2)],
        [deleted(c), put(c)],
        [put(c, 1, 4095), put(c)],
        [put(c), put(c, 1, 4095)],
        [put(c, 0), put(c)],
        [put(""), deleted("")],
        [deleted(c, 0), deleted(c, 1)],
        [put(c, 1, 16384), deleted(b), deleted(b, 2)],
        [],
    ):
        yield altered(*items)
        yield described(a, b, c)
        yield described()
    yield from _at_random(world, [a, b, c])


def _at_random(world: World, users: list[str]) -> Steps:
    random = world.random
    for _ in range(RANDOM_STEPS):
        items: list[Item] = []
        for _ in range(random.randint(1, 4)):
            user, mechanism = random.choice(users), random.choice([1, 1, 2, 2, 3])
            iterations = random.choice([4096, 4096, 4096, 5000, 1])
            either: list[Item] = [put(user, mechanism, iterations), deleted(user, mechanism)]
            items.append(random.choice(either))
        yield altered(*items)
        yield described(*users)


def put(user: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    """Set a credential."""
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"salted"
    )


def deleted(user: str, mechanism: int = 1) -> ScramCredentialDeletion:
    """Delete a credential."""
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def altered(*items: Item) -> Step:
    """Change credentials in one request."""
    deletions = [item for item in items if isinstance(item, ScramCredentialDeletion)]
    upsertions = [item for item in items if isinstance(item, ScramCredentialUpsertion)]
    return Step(AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions), 0)


def described(*users: str) -> Step:
    """Ask for users, or for all."""
    asked = [UserName(name=user) for user in users] or None
    return Step(DescribeUserScramCredentialsRequest(users=asked), 0)
