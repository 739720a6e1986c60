"""Texts that try to get out of the place where a page shows them."""

from __future__ import annotations

from typing import Final

from compat_tests.browser import MARK

_SET: Final = f"window.{MARK}=1"

SCRIPTS: Final = (
    f"<script>{_SET}</script>",
    f"</script><script>{_SET}</script>",
    f"</td></tr></table><script>{_SET}</script>",
    f"</title><script>{_SET}</script>",
    f"</textarea><script>{_SET}</script>",
    f"</style><script>{_SET}</script>",
    f"<!--><script>{_SET}</script>-->",
    f"<![CDATA[><script>{_SET}</script>]]>",
    f"<ScRiPt>{_SET}</sCrIpT>",
    f"<script\x0b>{_SET}</script>",
    "<script src=//evil.example/x.js></script>",
    "<script src=data:text/javascript,alert(1)></script>",
)
HANDLERS: Final = (
    f"<img src=x onerror={_SET}>",
    f'"><img src=x onerror="{_SET}">',
    f"'><img src=x onerror='{_SET}'>",
    f"`><img src=x onerror=`{_SET}`>",
    f"<svg onload={_SET}>",
    f"<svg><animate onbegin={_SET} attributeName=x dur=1s>",
    f"<svg><script>{_SET}</script></svg>",
    f"<body onload={_SET}>",
    f"<input autofocus onfocus={_SET}>",
    f"<details open ontoggle={_SET}>",
    f"<video><source onerror={_SET}></video>",
    f"<math><mtext><script>{_SET}</script></mtext></math>",
    f'" autofocus onfocus="{_SET}" x="',
    f"' onmouseover='{_SET}",
    f"<marquee onstart={_SET}>",
    f"<a href=x onclick={_SET}>x</a>",
)
LINKS: Final = (
    f"javascript:{_SET}",
    f"JaVaScRiPt:{_SET}",
    f"java\tscript:{_SET}",
    f"data:text/html,<script>{_SET}</script>",
    f"<a href='javascript:{_SET}'>x</a>",
    f"<iframe src='javascript:{_SET}'></iframe>",
    "<iframe src=//evil.example></iframe>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>x</button></form>",
    "<object data=//evil.example></object>",
    "<embed src=//evil.example>",
    "<style>@import '//evil.example/x.css';</style>",
    "<img src=//evil.example/x.png>",
)
ATTRIBUTES: Final = (
    f"<div hx-get=/ hx-trigger=load hx-on:load='{_SET}'>x</div>",
    "<div hx-get=//evil.example hx-trigger=load>x</div>",
    f"<div data-hx-on:load='{_SET}'>x</div>",
    "<div hx-sse:connect=//evil.example>x</div>",
    "<template shadowrootmode=open><p>x</p></template>",
    "<button popovertarget=keys>x</button>",
    "<dialog open>x</dialog>",
)
TEMPLATES: Final = (
    "{{ 7*7 }}",
    "{% raw %}x",
    "${7*7}",
    "#{7*7}",
    "{{ visit.kafka }}",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "%3Cscript%3E",
)
CHARACTERS: Final = (
    "\u202emoc.live\u202c",
    "\u2066left\u2069",
    "a\u200bb\u200dc\ufeffd",
    "\x1b[31mred\x1b[0m",
    "null\x00byte",
    "line\r\nSet-Cookie: a=b",
    "\u2028\u2029",
    "=cmd|'/c calc'!A1",
    "9223372036854775807",
    "w" * 3_000,
)
TEXTS: Final = (*SCRIPTS, *HANDLERS, *LINKS, *ATTRIBUTES, *TEMPLATES, *CHARACTERS)
