"""A real browser for the web console: Debian's Chromium, driven by Playwright, and watched.

A page may not raise an error, break the content policy, open a dialog or ask another host for anything: a
`Watch` notes each, and its `check` fails with them.  axe-core judges accessibility; its script is fetched
once from the npm registry, by its integrity, into `.cache`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import tarfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Playwright, Request

AXE_VERSION: Final = "4.14.1"
AXE_URL: Final = f"https://registry.npmjs.org/axe-core/-/axe-core-{AXE_VERSION}.tgz"
AXE_INTEGRITY: Final = (
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)
"""SHA-512 of the tarball in base64, as npm tells it."""

CACHE: Final = Path(__file__).parent.parent / ".cache" / f"axe-{AXE_VERSION}.min.js"
RULES: Final = ("wcag2a", "wcag2aa", "wcag21aa", "wcag22aa")

MARK: Final = "kawalMarked"
"""The name that hostile content tries to set on the window."""

_INIT: Final = """
window.kawalViolations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.kawalViolations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""


def axe_script() -> str:
    """Return the source of axe-core, fetched if need be."""
    if not CACHE.exists():
        with urllib.request.urlopen(AXE_URL, timeout=60) as answer:
            data = answer.read()
        found = base64.b64encode(hashlib.sha512(data).digest()).decode()
        assert found == AXE_INTEGRITY, f"{AXE_URL} has the integrity {found}"
        with tarfile.open(fileobj=io.BytesIO(data)) as tarball:
            stream = tarball.extractfile("package/axe.min.js")
            assert stream is not None
            CACHE.parent.mkdir(parents=True, exist_ok=True)
            CACHE.write_bytes(stream.read())
    return CACHE.read_text()


def launched(play: Playwright) -> Browser:
    """Start Chromium."""
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing; on Debian: apt-get install chromium"
    # Chromium has no sandbox for root, as whom CI runs.
    return play.chromium.launch(executable_path=program, args=["--no-sandbox"])


class Watch:
    """Notes what a page of the console must not do."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self._origin = origin
        self.noted: list[str] = []
        context.add_init_script(_INIT)
        context.on("request", self._asked)
        context.on("dialog", self._asked_people)
        context.on("weberror", lambda error: self.noted.append(f"error: {error.error}"))
        context.on("console", self._said)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self._origin}/", "data:")):
            self.noted.append(f"asked {request.url}")

    def _asked_people(self, dialog: Dialog) -> None:
        self.noted.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _said(self, message: Any) -> None:
        # Chromium says so of every page with such a status, which some are meant to have.
        if message.type == "error" and "the server responded with a status of" not in message.text:
            self.noted.append(f"console: {message.text}")

    def check(self, page: Page) -> None:
        """Fail if anything was noted, or hostile content has run."""
        page.wait_for_load_state("load")
        self.noted += page.evaluate("window.kawalViolations")
        if page.evaluate(f"'{MARK}' in window"):
            self.noted.append("hostile content has run")
        assert not self.noted, f"{page.url}: {self.noted}"


@contextmanager
def opened(browser: Browser, origin: str, **options: Any) -> Iterator[tuple[Page, Watch]]:
    """Open a page in a context of its own: `color_scheme`, `viewport` and others are Playwright's."""
    context = browser.new_context(base_url=origin, reduced_motion="reduce", timezone_id="UTC", **options)
    context.set_default_timeout(60_000)
    try:
        watch = Watch(context, origin)
        yield context.new_page(), watch
    finally:
        context.close()


def judged(page: Page) -> list[str]:
    """Return what axe finds wrong with a page: the rule, and the first places."""
    page.evaluate(axe_script())
    found = page.evaluate(
        "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}}).then(result => result.violations)",
        list(RULES),
    )
    return [f"{rule['id']}: {[node['html'][:150] for node in rule['nodes'][:3]]}" for rule in found]
