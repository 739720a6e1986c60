"""The choices of a reader, kept in a cookie: the zone in which times are shown, and the colours."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from console.web.errors import PageError
from console.web.fields import Fields

COOKIE: Final = "kawal-preferences"
COOKIE_SECONDS: Final = 365 * 86_400
THEMES: Final = ("auto", "light", "dark")


class Preferences(NamedTuple):
    """A reader's choices."""

    zone: str = "UTC"
    theme: str = "auto"

    def moment(self, time_ms: int | None) -> str:
        """Return a time by ISO 8601, with milliseconds and the zone; "" for none (negative or None)."""
        if time_ms is None or time_ms < 0:
            return ""
        try:
            found = datetime.fromtimestamp(time_ms // 1000, _zone(self.zone))
        except (OverflowError, ValueError, OSError):
            return f"@{time_ms}"
        text = found.replace(microsecond=time_ms % 1000 * 1000).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")


def preferences_of(cookie: str) -> Preferences:
    """Return what a cookie says; what cannot be used of it has its default."""
    try:
        found = Fields(cookie)
    except PageError:
        return Preferences()
    zone, theme = found.one("zone", "UTC"), found.one("theme", "auto")
    return Preferences(zone if _is_zone(zone) else "UTC", theme if theme in THEMES else "auto")


def chosen_preferences(zone: str, theme: str) -> Preferences:
    """Return the choices of a form.  Raises: PageError."""
    if not _is_zone(zone):
        raise PageError(
            400, f"there is no time zone {zone[:60]!r}; write UTC, or a name such as Europe/Paris"
        )
    if theme not in THEMES:
        raise PageError(400, f"the colours are {theme[:40]!r}; they must be one of {', '.join(THEMES)}")
    return Preferences(zone, theme)


def cookie_of(preferences: Preferences) -> str:
    """Return the Set-Cookie header that keeps the choices."""
    value = urlencode(preferences._asdict())
    return f"{COOKIE}={value}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict"


def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


def _is_zone(name: str) -> bool:
    if len(name) > 60:
        return False
    try:
        _zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
