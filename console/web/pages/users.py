"""`/users`, `/new/user` and `/users/U/remove`: who may log in by SCRAM."""

from __future__ import annotations

from typing import Final

from broker.security.scram import ITERATIONS, Mechanism
from console.users import listed, mechanisms_of, remove, set_password, word_of
from console.web.command_text import command
from console.web.errors import PageError
from console.web.fields import path_to
from console.web.paging import page_of
from console.web.plan import Plan, check_confirmed, plan_view
from console.web.visit import Answer, Crumb, Done, Rows, View, Visit, change, get

USERS: Final = Crumb("Users", "/users")
PASSWORD_CHARS_MIN: Final = 1


def users_of(bootstrap: str) -> list[tuple[str, list[str]]]:
    """Return all users with their mechanisms.  Raises: CommandError."""
    return [
        (found.user, [word_of(info.mechanism) for info in found.credential_infos])
        for found in listed(bootstrap)
    ]


def give_password(bootstrap: str, name: str, password: str) -> None:
    """Give a user a password for all mechanisms.  Raises: CommandError."""
    for mechanism in Mechanism:
        set_password(bootstrap, name, password, mechanism, ITERATIONS)


def remove_user(bootstrap: str, name: str) -> None:
    """Remove a user.  Raises: PageError when there is none; CommandError."""
    found = mechanisms_of(bootstrap, name)
    if not found:
        raise PageError(404, f"there is no user {name!r}")
    for mechanism in found:
        remove(bootstrap, name, mechanism)


async def users(visit: Visit) -> Answer:
    """Show the users."""
    page = page_of(visit, await visit.kafka.run(users_of, visit.kafka.bootstrap))
    return View(
        title="Users",
        template="users.html",
        context={"page": page},
        rows=Rows(("user", "mechanisms"), page.items),
    )


async def new(visit: Visit) -> Answer:
    """Ask for a user and a password, which is in no address."""
    name = visit.query.one("name").strip()
    known = bool(name) and bool(await visit.kafka.run(mechanisms_of, visit.kafka.bootstrap, name))
    text = command(visit.settings.bootstrap, f"users {'alter' if known else 'add'}", name) if name else ""
    return View(
        title="Password of a user",
        template="new_user.html",
        context={"name": name, "known": known, "command": text},
        crumbs=(USERS,),
    )


async def make(visit: Visit) -> Answer:
    """Set the password."""
    name, password = visit.form.one("name").strip(), visit.form.one("password")
    if not name or "\0" in name or "\n" in name or len(password) < PASSWORD_CHARS_MIN:
        raise PageError(400, "a user needs a name without line ends, and a password")
    await visit.kafka.run(give_password, visit.kafka.bootstrap, name, password)
    return Done(f"set the password of user {name!r}", "/users")


async def show_remove(visit: Visit) -> Answer:
    """Show what removing a user would do."""
    name = visit.names["user"]
    known = await visit.kafka.run(mechanisms_of, visit.kafka.bootstrap, name)
    plan = Plan(
        command=command(visit.settings.bootstrap, "users remove", name),
        action=path_to("users", name, "remove"),
        verb="Remove",
        differences=[("mechanisms", ", ".join(map(word_of, known)), "none")],
        effects=["Connections that are logged in stay until they end. Access rules of the user stay."],
        confirm=name,
        problem="" if known else f"there is no user {name!r}",
    )
    return plan_view(f"Remove {name}", plan, (USERS,))


async def drop(visit: Visit) -> Answer:
    """Remove the user."""
    name = visit.names["user"]
    check_confirmed(visit, name)
    await visit.kafka.run(remove_user, visit.kafka.bootstrap, name)
    return Done(f"removed user {name!r}", "/users")


ROUTES = (
    get("/users", users),
    get("/new/user", new),
    change("/new/user", make),
    get("/users/{user}/remove", show_remove),
    change("/users/{user}/remove", drop),
)
