"""HTML out of templates: everything is escaped, and what is hidden in text is shown.

There is no way around either: `|safe` and Markup are not used anywhere (a test looks), and a macro's output
is the only HTML that a template takes over.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from console.web import charts
from console.web.cells import cell_text
from console.web.fields import path_to, with_query
from console.web.navigation import PLACES
from console.web.static_files import StaticFiles
from console.web.text import Shown, in_template, shown_bytes, shown_lines


class Templates:
    """The templates of all pages."""

    def __init__(self, static: StaticFiles) -> None:
        self._lock = threading.Lock()
        self._environment = Environment(
            loader=PackageLoader("console.web"),
            autoescape=True,
            finalize=in_template,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(
            exact=Shown,
            cell=cell_text,
            lines=shown_lines,
            text=shown_bytes,
            number=number,
            size=size,
            plural=plural,
            long_time=long_time,
        )
        self._environment.globals.update(
            static=static.path, path_to=path_to, with_query=with_query, places=PLACES, charts=charts
        )

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """Return a template's text.  Raises: jinja2.TemplateError for an error of ours."""
        with self._lock:  # the cache of templates is not made for threads
            template = self._environment.get_template(name)
        return template.render(context)


_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def number(value: int) -> str:
    """Return a number with its thousands apart, all digits of it."""
    return f"{value:,}"


def size(size_bytes: int) -> str:
    """Return a size for people: 3 digits and a unit."""
    value, unit = float(size_bytes), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size_bytes} bytes" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"


def long_time(seconds: float) -> str:
    """Return a time of two minutes or more for people, "" for less: 3 h 15 min, 2 d 4 h."""
    minutes = int(seconds // 60)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if minutes < 2:
        return ""
    if days:
        return f"{number(days)} d {hours} h"
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def plural(count: int, word: str, words: str = "") -> str:
    """Return a count with its noun: 1 record, 2 records."""
    return f"{number(count)} {word if count == 1 else words or word + 's'}"
