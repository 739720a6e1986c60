"""The checklist of overload: what once stopped the server, the event loop or other clients, and its tests.

Each entry names unit tests, and hostile loads (`load:NAME`) of `python -m compat_tests.overload`, which puts
them on a server beside clients that behave.  A test or load that is renamed is missed here.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.test_security_checklist import ROOT, names_of

BROKER, WAL, GROUPS, PROTOCOL = "tests/broker", "tests/wal", "tests/groups", "tests/protocol"
CONNECTIONS, HANDLERS, LOOP = f"{BROKER}/connections", f"{BROKER}/handlers", f"{BROKER}/loop"
MEMORY, LARGE = f"{CONNECTIONS}/test_memory_limits.py", f"{LOOP}/test_large_admin_requests.py"

CHECKLIST: Final[dict[str, tuple[str, ...]]] = {
    "a target that is no URL, and an odd Accept header": (
        f"{BROKER}/server/test_http.py::test_a_target_that_is_no_url_is_a_bad_request",
        f"{BROKER}/server/test_http.py::test_an_error_of_our_own_is_told_and_the_connection_goes_on",
        "load:http-wrong",
    ),
    "a record that ends within its fields, compacted": (
        f"{BROKER}/upkeep/test_compaction.py::test_a_record_that_ends_within_its_own_fields_leaves_its_partition_alone",
        "load:short-records",
    ),
    "a stored regular expression that is none": (
        f"{GROUPS}/test_loading.py::test_a_stored_pattern_that_is_none_stops_neither_the_load_nor_its_group",
        "load:wrong-regex",
    ),
    "a client id that is too long when it is stored": (
        f"{BROKER}/coordinators/test_groups.py::test_a_client_id_that_grows_beyond_a_string_when_it_is_read_is_cut",
        "load:long-client-id",
    ),
    "compressed batches that claim two billion records": (
        f"{PROTOCOL}/test_batch_check.py::test_a_codec_cannot_hold_more_records_than_it_can_expand_to",
        f"{PROTOCOL}/test_record_reader.py::test_two_billion_records_declared_cost_nothing",
        f"{WAL}/test_appending.py::test_batches_that_claim_all_records_there_can_be_go_into_frames_that_can_count_them",
        "load:lying-counts",
    ),
    "fetch.min.bytes at the partition's limit": ("load:min-bytes",),
    "a lookup by time in a batch that cannot be opened": ("load:unopenable",),
    "a client id that is not UTF-8": (
        f"{PROTOCOL}/test_headers.py::test_a_client_id_that_is_not_utf_8_is_read_as_java_reads_it",
        "load:client-ids",
    ),
    "fetch sessions of very many partitions": (
        f"{BROKER}/fetching/test_fetch_sessions.py"
        "::test_thirty_sessions_of_unknown_partitions_take_no_more_than_there_is_for_sessions",
        "load:fetch-sessions",
    ),
    "decoded requests weigh more than their frames": (
        f"{MEMORY}::test_parked_fetches_of_many_partitions_count_each_of_them",
        f"{MEMORY}::test_many_heavy_fetches_stay_below_the_limit_for_all",
        f"{MEMORY}::test_connections_known_for_small_requests_have_a_reserve_that_large_ones_do_not_fill",
        "load:parked-fetches",
        "load:parked-again",
    ),
    "metadata of members": (
        f"{GROUPS}/test_memory.py::test_a_member_for_which_its_group_has_no_room_is_refused_as_if_the_group_were_full",
        f"{GROUPS}/test_memory.py::test_all_groups_together_have_room_up_to_their_limit",
        "load:join-metadata",
    ),
    "the tail cache and the requests that batches lie in": (
        f"{WAL}/test_tail.py::test_a_small_batch_of_a_large_request_is_copied_out_of_it",
        f"{WAL}/test_tail.py::test_a_request_of_which_most_was_accepted_is_counted_whole_and_once",
        "load:pinned-requests",
    ),
    "half-sent HTTP requests beside a health check": (
        f"{BROKER}/server/test_http.py::test_a_client_that_sends_half_a_request_is_sent_away",
        "load:http-half-sent",
    ),
    "pipelined requests of one connection": (
        f"{BROKER}/requests/test_intake.py::test_many_requests_of_one_connection_share_the_turn_with_others",
        "load:describe-configs",
    ),
    "CreatePartitions of unknown names": (
        f"{LARGE}::test_create_partitions_of_many_names_looks_at_each_once",
        "load:create-partitions",
    ),
    "ListOffsets by time over large batches, and over very many extents": (
        f"{WAL}/test_index.py::test_a_search_by_time_looks_at_the_extents_of_two_blocks_however_many_there_are",
        f"{WAL}/test_lookup.py::test_a_search_by_time_loads_no_index_of_a_segment_without_such_a_time",
        "load:lookups-huge",
        "load:lookups-extents",
    ),
    "settings with a misspelt key": (
        f"{LARGE}::test_misspelt_keys_of_many_topics_are_refused_one_by_one",
        "load:misspelt-configs",
    ),
    "batches of very many records without a believable time": (
        f"{BROKER}/storage/test_produce_times.py::test_many_records_with_a_doubtful_header_are_not_read",
        "load:doubtful-times",
    ),
    "small batches that open to much": (
        f"{BROKER}/storage/test_inspection.py"
        "::test_of_compressed_batches_smaller_ones_take_long_as_they_may_open_to_much",
    ),
    "Produce to very many partitions": (
        f"{LARGE}::test_batches_for_many_partitions_are_appended_whole",
        "load:produce-wide",
    ),
    "thousands of members in one classic group": (
        f"{GROUPS}/test_classic_crowds.py::test_many_members_are_given_their_assignments_some_at_a_time",
        f"{GROUPS}/test_classic_rebalance.py::test_many_members_are_told_their_generation_some_at_a_time",
        "load:joins",
    ),
    "DeleteTopics": (f"{LARGE}::test_many_topics_are_deleted", "load:delete-topics"),
    "AlterConfigs": (f"{LARGE}::test_settings_of_many_topics_are_replaced", "load:alter-configs"),
    "OffsetCommit": (
        f"{HANDLERS}/test_offset_commit.py"
        "::test_very_many_offsets_are_committed_a_part_at_a_time_beside_other_requests",
        "load:offset-commit",
    ),
    "DeleteRecords": (f"{LARGE}::test_records_of_many_partitions_are_deleted", "load:delete-records"),
    "retention over very many extents": (
        f"{BROKER}/upkeep/test_retention.py::test_a_check_looks_only_at_what_was_written_or_is_due",
        "load:retention-extents",
    ),
    "Metadata of unknown names": (
        f"{LARGE}::test_many_unknown_names_are_told_as_that",
        "load:metadata-unknown",
    ),
    "Metadata of very many partitions": (
        f"{HANDLERS}/test_metadata.py::test_many_topics_are_described_once_until_one_changes",
        "load:metadata-readers",
    ),
    "one record that wakes thousands of fetches": (
        f"{LOOP}/test_waiters.py::test_an_append_that_many_wait_for_resumes_most_of_them_in_slices",
        "load:wake-ups",
    ),
    "CreateTopics": (
        f"{LOOP}/test_slices_handlers.py::test_many_topics_are_created_and_described",
        "load:create-topics",
    ),
    "every array of every request": (
        f"{BROKER}/requests/test_wide_requests.py::test_no_array_keeps_the_loop_from_other_clients",
    ),
}


@cache
def loads() -> frozenset[str]:
    """Return the names of the hostile loads, as their files register them."""
    found = set()
    for path in (ROOT / "compat_tests" / "overload").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load":
                found |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    return frozenset(str(name) for name in found)


def is_there(place: str) -> bool:
    path, _, name = place.partition("::")
    if path.startswith("load:"):
        return path.removeprefix("load:") in loads()
    return Path(ROOT / path).exists() and name in names_of(path)


@pytest.mark.parametrize("rule", CHECKLIST)
def test_each_rule_has_its_tests(rule: str) -> None:
    assert [place for place in CHECKLIST[rule] if not is_there(place)] == []


def test_a_test_and_a_load_that_are_not_there_are_missed() -> None:
    assert not is_there("load:no-such-load")
    assert not is_there(f"{MEMORY}::test_no_such_test")
