"""`/login` and `/logout`: people are users of the broker, and the broker says what they may."""

from __future__ import annotations

from console.login import LoginRefused
from console.web.answers import own_path
from console.web.errors import PageError
from console.web.sessions import cookies_of
from console.web.visit import Answer, Redirect, Route, View, Visit


async def ask(visit: Visit) -> Answer:
    """Ask for the name and the password."""
    return _form(visit, visit.query.one("back", "/"))


async def log_in(visit: Visit) -> Answer:
    """Connect as the user of the form; the broker judges the password."""
    user, password = visit.form.one("user"), visit.form.one("password")
    back = own_path(visit.form.one("back", "/"))
    if not visit.settings.login:
        raise PageError(404, "this console has no logins: it acts for all who reach it")
    if not user or not password:
        return _form(visit, back, "a name and a password are needed", 400)
    try:
        return Redirect(back, (await visit.logins.log_in(user, password),))
    except LoginRefused as error:
        return _form(visit, back, str(error), 401)


async def log_out(visit: Visit) -> Answer:
    """End the login."""
    sessions = visit.logins.sessions
    secret = cookies_of(visit.request.headers.get("cookie", "")).get(sessions.cookie_name, "")
    return Redirect("/login" if visit.settings.login else "/", (sessions.close(secret),))


def _form(visit: Visit, back: str, problem: str = "", status: int = 200) -> View:
    context = {"back": own_path(back), "problem": problem, "name": visit.form.one("user")}
    return View(title="Log in", template="login.html", context=context, status=status)


ROUTES = (
    Route("GET", "/login", ask, without_login=True),
    Route("POST", "/login", log_in, without_login=True),
    Route("POST", "/logout", log_out, without_login=True),
)
