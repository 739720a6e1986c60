"""The checklist of the console's security: each line and its tests, and a spy on all that pages send."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from console.web.read_only import changes_nothing
from console.web.routes import ROUTES
from console.web.visit import Route
from protocol.wire import declaration
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web

ROOT: Final = Path(__file__).parents[3]
WEB, PAGES, COMPAT = "tests/console/web", "tests/console/web/pages", "compat_tests"
SITE, GATES = f"{WEB}/test_site.py", f"{WEB}/test_gates.py"

CHECKLIST: Final[dict[str, tuple[str, ...]]] = {
    "the console answers under known names alone: pages, static files, streams and forms": (
        f"{SITE}::test_it_is_answered_under_known_names_only",
        f"{GATES}::test_other_names_are_not_answered",
        f"{GATES}::test_known_names_are_answered",
        f"{WEB}/test_static_files.py::test_it_cannot_be_changed_and_not_be_read_from_other_sites",
        f"{COMPAT}/test_web_security.py::test_host_names_are_known_ones_on_pages_files_streams_and_forms",
    ),
    "GET changes nothing, and a change comes from a page of ours or proves itself": (
        f"{WEB}/test_checklist.py::test_no_page_that_is_only_looked_at_sends_a_change",
        f"{SITE}::test_a_get_changes_nothing",
        f"{SITE}::test_a_form_comes_from_a_page_of_ours_or_from_no_browser",
        f"{GATES}::test_a_form_from_elsewhere_is_refused_also_as_a_navigation",
        f"{GATES}::test_without_sec_fetch_site_the_origin_counts",
        f"{GATES}::test_what_is_no_browser_proves_itself_where_people_log_in_or_come_from_afar",
        f"{PAGES}/test_login.py::test_a_script_proves_itself_by_the_token_of_the_login",
        f"{WEB}/test_routes.py::test_what_changes_something_is_never_a_get",
    ),
    "other sites may open a document and nothing else, and every answer has the headers": (
        f"{SITE}::test_other_sites_can_only_open_it_as_a_document",
        f"{SITE}::test_it_has_the_headers_of_security",
        f"{SITE}::test_what_is_no_request_has_the_headers_of_security",
        f"{GATES}::test_a_picture_or_a_script_from_elsewhere_is_not_answered",
        f"{WEB}/test_headers.py::test_nothing_is_loaded_from_elsewhere_and_nothing_runs_inline",
        f"{WEB}/test_headers.py::test_the_referrer_stays_at_home",
    ),
    "content cannot script: records, names, groups, clients, statements, addresses, errors": (
        f"{COMPAT}/test_web_hostile.py::test_what_clients_wrote_is_shown_and_does_nothing",
        f"{COMPAT}/test_web_hostile.py::test_every_group_record_and_view_is_shown_alone_and_does_nothing",
        f"{COMPAT}/test_web_hostile.py::test_what_is_written_in_an_address_is_shown_and_does_nothing",
        f"{COMPAT}/test_web_hostile.py::test_what_is_written_into_a_form_by_hand_does_nothing",
        f"{PAGES}/test_records.py::test_no_content_can_script",
        f"{PAGES}/test_tail.py::test_hostile_records_are_text_in_events",
        f"{WEB}/test_answers.py::test_an_event_keeps_its_lines_and_lets_none_be_forged",
        f"{WEB}/test_rendering.py::test_there_is_no_way_around_the_escapes",
        f"{WEB}/test_rendering.py::test_templates_have_no_script_style_or_handler_of_their_own",
        f"{WEB}/test_text.py::test_what_cannot_be_seen_or_moves_what_can_is_an_escape",
    ),
    "a value is an attachment of bytes in a sandbox": (
        f"{WEB}/test_answers.py::test_a_download_is_an_attachment_of_bytes_in_a_sandbox",
        f"{WEB}/test_headers.py::test_a_download_is_in_a_sandbox",
    ),
    "read-only is a list of requests in the one function that sends them": (
        f"{WEB}/test_kafka_door.py::test_nothing_that_changes_leaves_while_read_only",
        f"{SITE}::test_a_change_is_refused_while_read_only",
        f"{SITE}::test_nothing_that_changes_leaves_a_console_that_is_read_only",
        f"{WEB}/test_read_only.py::test_what_changes_something_is_not_among_them",
        f"{WEB}/test_checklist.py::test_a_console_that_is_read_only_sends_nothing_that_changes_something",
    ),
    "masks come before search, preview, tail, export and download": (
        f"{PAGES}/test_searching.py::test_a_column_is_masked_wherever_it_is_shown",
        f"{PAGES}/test_searching.py::test_a_masked_column_is_not_searched_for",
        f"{PAGES}/test_searching.py::test_a_masked_part_is_not_downloaded",
        f"{PAGES}/test_searching.py::test_views_and_aliases_have_the_masks_of_their_source",
        f"{PAGES}/test_tail.py::test_masked_parts_are_in_no_event",
        f"{PAGES}/test_sql.py::test_no_view_is_made_that_tells_what_is_masked",
        f"{PAGES}/test_produce.py::test_masked_records_are_not_copied",
        f"{COMPAT}/test_web_data.py::test_what_is_masked_leaves_no_console",
    ),
    "people log in as users of the broker, and a login is a cookie that ends": (
        f"{SITE}::test_it_is_for_those_who_have_logged_in",
        f"{WEB}/test_sessions.py::test_a_cookie_is_for_this_site_and_no_script",
        f"{WEB}/test_sessions.py::test_names_and_secrets_are_random",
        f"{WEB}/test_sessions.py::test_a_login_ends_half_an_hour_after_its_last_use",
        f"{COMPAT}/test_web_security.py::"
        "test_people_log_in_over_tls_as_users_of_the_broker_each_with_a_password_of_their_own",
        f"{COMPAT}/test_web_security.py::test_it_reads_by_every_protocol_as_the_user_of_its_file",
        f"{COMPAT}/test_web_security.py::"
        "test_beside_a_gateway_that_serves_logins_over_tls_alone_everyone_logs_in",
        "tests/console/commands/test_console.py::test_others_reach_it_only_with_logins",
    ),
    "searches, streams, bodies and pages are bounded, and end when the browser leaves": (
        f"{WEB}/test_search_bounds.py::test_time_ends_it",
        f"{WEB}/test_search_bounds.py::test_records_end_it",
        f"{WEB}/test_search_turns.py::test_the_next_search_of_a_user_ends_the_one_before_it",
        f"{WEB}/test_search.py::test_a_search_that_is_left_ends",
        f"{WEB}/test_extremes.py::test_a_search_of_a_million_records_ends_there_and_goes_on_by_a_link",
        f"{SITE}::test_a_form_may_have_1_mib_and_no_more",
        f"{SITE}::test_a_page_that_takes_too_long_is_stopped",
        f"{SITE}::test_a_page_ends_when_the_browser_leaves",
        f"{SITE}::test_it_is_cancelled_when_the_browser_leaves_and_16_are_open_at_most",
    ),
    "what removes asks for the name and says what depends on it; every change is a line in the log": (
        f"{PAGES}/test_topic_changes.py::test_deleting_names_what_depends_on_the_topic_and_asks_for_its_name",
        f"{PAGES}/test_group_changes.py::test_deleting_asks_for_the_name",
        f"{WEB}/test_plan.py::test_removing_asks_for_the_name",
        f"{SITE}::test_it_leads_to_a_page_that_tells_it_once",
        f"{SITE}::test_one_that_was_not_made_is_in_the_log_with_its_reason",
    ),
    "static files come from a table": (
        f"{WEB}/test_static_files.py::test_nothing_else_is",
        f"{WEB}/test_static_files.py::test_every_file_there_is_is_in_the_table",
    ),
}

EXTREMES: Final[dict[str, tuple[str, ...]]] = {
    "a million records": (
        f"{WEB}/test_extremes.py::test_a_search_of_a_million_records_ends_there_and_goes_on_by_a_link",
    ),
    "10,000 topics": (f"{PAGES}/test_topics.py::test_10_000_topics_are_one_request_and_200_rows",),
    "10,000 groups": (f"{PAGES}/test_groups.py::test_10_000_groups_are_two_requests_and_200_rows",),
    "values of 1 MiB": (
        f"{WEB}/test_extremes.py::test_values_of_a_mebibyte_make_small_pages_of_every_kind_and_a_whole_file",
        f"{COMPAT}/test_web_data.py::test_a_value_of_nearly_a_mebibyte_is_found_cut_and_downloaded_whole",
    ),
    "binary keys": (
        f"{WEB}/test_extremes.py::test_binary_keys_are_told_from_text_and_come_back_byte_for_byte",
        f"{COMPAT}/test_web_data.py::test_keys_of_any_bytes_and_the_largest_integers_are_shown_as_stored",
    ),
    "2^63-1": (f"{WEB}/test_extremes.py::test_the_largest_integers_have_all_their_digits_in_every_form",),
    "bidi text": (
        f"{WEB}/test_extremes.py::"
        "test_text_that_turns_the_line_around_or_cannot_be_seen_is_shown_as_escapes_everywhere",
    ),
    "a broker that goes away and comes back in mid-tail": (
        f"{WEB}/test_extremes.py::"
        "test_a_tail_goes_on_after_the_broker_was_away_without_a_gap_or_a_repetition",
        f"{COMPAT}/test_web_data.py::test_a_tail_goes_on_when_the_broker_comes_back",
    ),
}

ASKED: Final = (
    "from=earliest&where=id+%3D+1&cols=id",
    "q=t&sql=SELECT+id+FROM+t&name=late",
    "to=earliest&topic=t&before=latest&like=0:0",
    "edit=retention.ms&name=retention.ms&value=1000&action=set&partitions=1&config=",
    "as=json",
)
"""What may be asked of a page: what is not known is not looked at."""


@cache
def names_of(path: str) -> frozenset[str]:
    """Return the names of the tests of a file, those in classes included."""
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("rule", [*CHECKLIST, *EXTREMES])
def test_each_rule_has_its_tests(rule: str) -> None:
    places = (CHECKLIST | EXTREMES)[rule]
    assert places
    assert [
        place for place in places if place.partition("::")[2] not in names_of(place.partition("::")[0])
    ] == []


def console(**settings: Any) -> Web:
    """Return one whose broker has a topic with a record."""
    web = Web(**settings)
    create(web.broker.client(), "t", 1, kawal_columns="id bigint")
    send(web.broker.client(), "t", batch(b'{"id":1}'))
    return web


def paths_of(route: Route) -> list[str]:
    """Return paths of a page that there is, and what may be asked of it."""
    names = {"topic": "t", "database": "default"}
    parts = [
        names.get(part[1:-1], "0") if part.startswith("{") else part for part in route.pattern.split("/")
    ]
    path = "/".join(parts)
    return [path, *(f"{path}?{asked}" for asked in ASKED)]


SHOWING: Final = [route for route in ROUTES if route.method == "GET" and not route.streams]


@pytest.mark.parametrize("route", SHOWING, ids=lambda route: route.pattern)
def test_no_page_that_is_only_looked_at_sends_a_change(route: Route) -> None:
    web = console()
    for path in paths_of(route):
        assert web.get(path).status < 500, path
    # A dry run is the one request of a kind that changes which may leave.
    sent = [request for request in web.sent if not _shows(request)]
    assert [request for request in sent if not getattr(request, "validate_only", False)] == []


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.pattern}")
def test_a_console_that_is_read_only_sends_nothing_that_changes_something(route: Route) -> None:
    if route.streams:
        return
    web = console(read_only=True)
    for path in paths_of(route):
        web.ask(route.method, path, headers={"Sec-Fetch-Site": "same-origin"})
    assert [request for request in web.sent if not _shows(request)] == []


def _shows(request: Any) -> bool:
    api = declaration(type(request)).api
    assert api is not None
    return changes_nothing(api, request)
