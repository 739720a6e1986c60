"""`/settings`: the zone of times and the colours, kept in a cookie; nothing of it is on a broker."""

from __future__ import annotations

from zoneinfo import available_timezones

from console.web.preferences import THEMES, chosen_preferences, cookie_of
from console.web.visit import Answer, Redirect, Route, View, Visit, get


async def show(visit: Visit) -> Answer:
    """Show the choices."""
    return View(
        title="Settings",
        template="settings.html",
        context={"themes": THEMES, "zones": sorted(available_timezones()), "token": visit.token},
    )


async def keep(visit: Visit) -> Answer:
    """Keep the choices of the form.  Raises: PageError."""
    chosen = chosen_preferences(visit.form.one("zone", "UTC").strip(), visit.form.one("theme", "auto"))
    return Redirect("/settings", (cookie_of(chosen),))


ROUTES = (get("/settings", show), Route("POST", "/settings", keep))
