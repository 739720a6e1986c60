'''The web console.  A guide for those who write pages.

A part of the console is a module in `console/web/pages`, its templates in `console/web/templates`, its work
with brokers in modules of synchronous functions beside `pages` (topic_facts.py and record_rows.py are
examples), and a test file for each.  To add one: write it, name it in PAGES of routes.py, and, if all pages
shall lead to it, in navigation.py.

A page takes a `Visit` and returns an `Answer` (visit.py has both):

    async def show(visit: Visit) -> Answer:
        """Show what deleting a topic would do."""
        name = visit.names["topic"]
        facts = await visit.kafka.run(facts_of, visit.kafka.bootstrap, name)
        plan = Plan(
            command=command(visit.settings.bootstrap, "topics delete", name),
            action=path_to("topics", name, "delete"),
            verb="Delete",
            effects=[f"{len(facts.partitions)} partitions are deleted"],
            confirm=name,
        )
        return plan_view(f"Delete {name}", plan, (TOPICS,))

    async def delete(visit: Visit) -> Answer:
        """Delete it."""
        name = visit.names["topic"]
        check_confirmed(visit, name)
        answer = await visit.kafka.send(DeleteTopicsRequest(topic_names=[name], timeout_ms=15_000), 4)
        check(answer.responses[0].error_code, None, f"topic {name!r}")
        return Done(f"deleted topic {name!r}", "/topics")

    ROUTES = (get("/topics/{topic}/delete", show), change("/topics/{topic}/delete", delete))

Answers.  `View(title, template, context, rows, crumbs)` is a page; with `rows` it is JSON, JSON lines and
CSV, too. `Done(sentence, to)` ends a change: one line in the log, and the sentence on top of the page that
comes next. `Redirect`, `Download` (never shown by the browser), `Streamed` (pieces; a file if it has a name),
`Events`.  What goes wrong is raised: `PageError(status, sentence)`, or any CommandError, whose sentence is
shown (400 for a UsageError, 503 when no broker is reached, 403 for a request that may not leave, else 502).

Kafka.  `await visit.kafka.send(request, version, broker)` sends one request (`broker` is an address from
Metadata, None: any).  `await visit.kafka.run(function, *args)` runs synchronous code in a thread; inside, all
helpers of `console` that send by console.admin.ask, console.wire.ask or console.fetcher.connect work as they
are, with the connections and the identity of this visit.  kafka-python's clients do not, by an assertion.  A
page has 20 seconds, after which its connections are ended; so they are when the browser leaves.

Streams.  `stream(pattern, page)` is the route, and the page returns `Events(run)`:

    async def run(tell: Tell) -> None:
        while True:
            rows = await visit.kafka.run(next_rows, …)
            await tell(visit.render("tail_rows.html", rows=rows), id="0:1234")
            await trio.sleep(0.2)

It is cancelled when the browser leaves; `visit.last_event` is the id to go on from.  In the page:
`<div hx-sse:connect="/topics/t/tail/events">`.  A CommandError ends it with the event `problem`.

Templates extend `base.html`.  Every expression is escaped, hidden characters first.  Write numbers with
`|number`, counts with `|plural("record")`, sizes with `|size`, bytes with `|text`, text of several lines with
`|lines`, paths with `path_to(…)` and `with_query(…)`, times with `time(preferences, ms)` from macros.html.  A
value that must come back exactly (a field of a form) is `|exact`; `hidden(name, value)` does it.  No `|safe`,
no Markup, no style= or on…= attribute (the policy forbids them, a test looks), content of records under
`hx-ignore`, tables that `j` and `k` walk through have `data-rows`.  `charts.html` draws sparklines and bars.
Lists: `page_of(visit, items)` and the macro `pager`.

Rules.  GET changes nothing; what changes something is `change(…)`; a list has at most ROWS_MAX rows; what was
chosen is in the query (`visit.here(sort="name")` changes it); a page says what to do when it is empty.  The
tests of test_site.py run over every row of the table by themselves.

Tests.  `Web()` of tests/console/web/kit.py is a console on a broker in memory: `web.get(path)`,
`web.post(path, field=…)`, `page.text`, `page.problem`, `page.links(label)`, `web.sent`, `web.away = True`,
`Web(read_only=True)`.'''
