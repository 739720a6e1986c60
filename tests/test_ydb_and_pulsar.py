"""The rows of docs/ydb-and-pulsar.md, and the tests that show each; a test that is renamed is missed here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.test_security_checklist import names_of

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "ydb-and-pulsar.md"
BROKER, WAL, SPLITS = "tests/broker", "tests/wal", "tests/broker/upkeep/test_partition_splits.py"
ROUTING, RULES = f"{BROKER}/storage/test_routing.py", f"{BROKER}/catalogue/test_split_rules.py"
GATES, SIMULATED = f"{BROKER}/coordinators/test_node_splits.py", "tests/sim/test_split_groups_simulation.py"
PLACES, LOOKUPS = (
    f"{BROKER}/storage/test_deduplication_places.py",
    f"{BROKER}/handlers/test_kawal_messages.py",
)
LEDGERS, LOG = f"{WAL}/test_ledgers.py", f"{WAL}/test_log.py"

ROWS: Final[dict[str, tuple[str, ...]]] = {
    "attributes of a write session": (
        f"{BROKER}/storage/test_session_headers.py::"
        "test_records_of_the_client_have_the_header_beside_their_own",
        "compat_tests/test_session_headers.py::"
        "test_records_get_the_headers_of_their_client_and_survive_a_kill",
    ),
    "write speed of a partition": (
        f"{BROKER}/storage/test_write_speed.py::"
        "test_a_seconds_worth_may_come_at_once_and_what_is_above_waits",
    ),
    "fewer partitions": (f"{BROKER}/handlers/test_create_partitions.py::test_what_cannot_be_is_refused",),
    "active partition": (f"{ROUTING}::test_a_split_adds_a_partition_that_takes_the_upper_half_of_the_keys",),
    "inactive partition": (
        f"{BROKER}/upkeep/test_tree_rows.py::test_the_ranges_of_active_partitions_join_each_other",
    ),
    "inactive partition is deleted": (
        f"{BROKER}/upkeep/test_tree_rows.py::"
        "test_parts_before_a_split_are_shown_until_retention_has_emptied_them",
        f"{GATES}::test_what_retention_has_deleted_is_not_waited_for",
    ),
    "offset": (f"{LOG}::test_offsets_are_dense_per_stream_and_versions_count_all_records",),
    "number and speed of partitions at creation": (
        f"{RULES}::test_a_topic_that_is_made_so_lies_on_one_vnode_with_all_its_children",
    ),
    "partitions that grow by themselves": (
        f"{SPLITS}::test_a_partition_that_is_written_to_near_its_speed_is_split",
        "compat_tests/test_partition_splits.py::test_each_key_is_read_in_order_over_six_splits",
    ),
    "during a split a message is in the parent or in one child": (
        f"{ROUTING}::test_a_batch_of_moved_records_waits_for_the_split_that_is_on_its_way",
        f"{BROKER}/storage/test_moved_parts.py::"
        "test_a_divided_batch_lies_in_one_frame_whatever_is_in_it_already",
        "compat_tests/test_partition_splits_killed.py::"
        "test_new_partitions_are_all_there_or_none_before_whichever_disk_call_the_server_is_killed",
    ),
    "never twice in a partition": (
        f"{ROUTING}::test_a_repetition_of_a_batch_from_before_a_split_is_recognised",
        "tests/sim/test_split_simulation.py::"
        "test_splits_keep_every_record_once_and_in_order_whatever_happens",
    ),
    "parent is read before its children": (
        f"{SIMULATED}::test_groups_read_keys_in_order_and_transactions_whole_over_splits",
        f"{GATES}::test_a_child_is_withheld_until_the_group_has_committed_the_cut",
        f"{GATES}::test_a_classic_group_joins_again_when_the_gate_opens",
        f"{GATES}::test_a_share_group_gets_a_child_when_it_is_done_with_the_parent",
        "compat_tests/test_partition_splits.py::test_a_reader_that_dies_before_its_commit_costs_no_order",
    ),
    "all of that for each producer id": (f"{SPLITS}::test_named_producers_divide_by_their_names",),
    "mode disabled, growth by hand": (
        f"{BROKER}/handlers/test_create_partitions.py::"
        "test_growth_of_a_topic_with_records_is_logged_with_what_becomes_of_keys",
    ),
    "mode up": (f"{RULES}::test_partitions_are_not_added_by_hand_where_they_split",),
    "speed above a percentage for a time splits in two": (
        f"{SPLITS}::test_less_speed_than_the_percent_does_not_split",
        f"{SPLITS}::test_all_partitions_are_split_when_one_is_due_so_that_murmur2_still_finds_each_key",
        f"{SPLITS}::test_a_topic_has_no_more_partitions_than_it_may_have",
    ),
    "mode paused": (f"{SPLITS}::test_a_paused_topic_does_not_split_by_itself_until_it_goes_on",),
    "modes by a statement": ("compat_tests/test_partitions_docs.py::test_the_statement_is_right",),
    "enabled cannot be disabled, only paused": (
        f"{RULES}::test_the_mode_goes_to_and_fro_but_never_back_to_disabled",
    ),
    "not usable over the Kafka API": (
        "compat_tests/test_partition_splits_clients.py::"
        "test_java_reads_each_key_in_order_by_every_kind_of_group_while_it_writes_over_splits",
        "compat_tests/test_partition_splits_clients.py::"
        "test_franz_go_gets_a_child_after_it_has_committed_the_parent",
        "compat_tests/test_partition_splits_clients.py::"
        "test_spark_reads_all_records_once_over_splits_as_a_batch_and_as_a_stream",
    ),
    "not with every kind of storage": (
        f"{RULES}::test_settings_that_do_not_go_together_are_refused_with_a_sentence",
        f"{RULES}::test_topics_of_kafka_streams_are_told_by_their_names",
        f"{RULES}::test_a_view_has_no_partitions_of_its_own_to_split",
    ),
    "order inside a producer id": (
        f"{ROUTING}::test_a_batch_for_several_partitions_is_divided_and_keeps_the_order_of_each_key",
    ),
    "producer id is bound to a partition": (f"{PLACES}::test_a_bound_producer_stays_on_its_partition",),
    "binding ends after 14 idle days": (
        f"{PLACES}::test_a_number_is_forgotten_some_time_after_its_producers_last_record",
    ),
    "at most 100,000 ids for each partition": (
        f"{PLACES}::test_a_partition_remembers_a_limited_number_of_producers",
    ),
    "same source, same partition, same reader": (
        f"{PLACES}::test_a_bound_source_stays_in_the_family_of_its_partition_and_keeps_its_order_over_splits",
    ),
    "`ledger:entry:partition:batch-index`": (
        f"{LOOKUPS}::test_each_message_has_an_id_that_leads_back_to_it",
        f"{BROKER}/test_split_epochs.py::test_a_split_begins_a_ledger_and_all_ids_lead_back",
        "compat_tests/test_message_ids.py::test_ids_are_the_same_after_a_kill",
        "compat_tests/test_message_id_headers.py::test_librdkafka_sees_the_ids_that_look_ups_give",
    ),
    "partition -1": (f"{LOOKUPS}::test_a_topic_that_is_not_partitioned_says_so_in_its_ids",),
    "batch index -1": (f"{LOOKUPS}::test_each_message_has_an_id_that_leads_back_to_it",),
    "a partition is a series of ledgers, one open": (
        f"{LOOKUPS}::test_the_ledger_is_the_leader_epoch_of_the_batch",
        f"{BROKER}/upkeep/test_ledgers_topic.py::test_a_ledger_is_told_when_it_begins_and_when_it_ends",
    ),
    "a ledger has one partition only": (f"{LEDGERS}::test_rolls_are_leader_epochs_of_their_stream_alone",),
    "entry ids grow in a ledger": (f"{LEDGERS}::test_the_first_batch_is_entry_0_of_ledger_0",),
    "a ledger ends by age or entries": (
        f"{LEDGERS}::test_a_ledger_ends_before_the_batch_beyond_a_limit",
        f"{LEDGERS}::test_a_ledger_ends_by_its_age_and_not_when_a_clock_goes_back",
        "compat_tests/test_message_ids.py::test_librdkafka_reads_on_over_rolls_and_sees_each_ledger",
        "compat_tests/test_message_ids.py::test_java_reads_on_over_rolls_and_commits_with_ledgers",
    ),
    "a batch is an entry; without batches, a message": (
        f"{BROKER}/storage/test_message_ids.py::test_markers_of_transactions_are_entries",
    ),
    "storage knows ledgers and entries only": (
        f"{LOG}::test_offset_and_leader_epoch_are_patched_into_the_batch",
    ),
    "append only, one writer, replicated": (
        "tests/broker/test_start.py::test_a_second_server_on_the_same_directory_is_refused",
    ),
    "journal: written and synced before it counts": (f"{LOG}::test_nothing_is_visible_before_synced",),
    "sync thread rolls journals by size": (f"{WAL}/test_reader.py::test_a_read_crosses_segments",),
    "entry log with a memory buffer": (
        f"{LOG}::test_a_stream_reads_back_as_it_was_appended_after_reopening",
    ),
    "all ledgers in one entry log": (f"{WAL}/test_reader.py::test_streams_between_do_not_disturb",),
    "index (ledger, entry) to position, cached": (
        f"{WAL}/test_segment.py::test_an_index_is_read_from_its_file_once_and_odd_ones_are_not_taken",
    ),
    "index cache full: flush": (
        f"{WAL}/test_tail.py::test_indexes_are_given_up_oldest_first_with_their_files",
    ),
    "write: journal, then memory": (f"{LOG}::test_appends_during_a_sync_join_the_next_frame",),
    "answer after the memory write": (
        f"{BROKER}/storage/test_deduplication.py::"
        "test_a_repetition_is_answered_only_when_the_original_is_durable",
        f"{LOG}::test_nothing_is_visible_before_synced",
    ),
    "memory table is flushed": (
        f"{WAL}/test_tail.py::test_extents_are_kept_up_to_the_limit_oldest_out_first",
    ),
    "flush in the background": (f"{WAL}/test_checkpoint.py::test_a_checkpoint_comes_back_as_it_was",),
    "tailing reads from memory": (
        f"{WAL}/test_reader.py::test_recent_small_runs_are_the_arrived_bytes_themselves",
    ),
    "catch-up reads by index and entry log": (
        f"{WAL}/test_reader.py::test_large_runs_come_as_one_file_range",
    ),
    "crash: replay the journal": (f"{LOG}::test_a_stream_reads_back_as_it_was_appended_after_reopening",),
    "LastLogMark": (
        f"{WAL}/test_checkpoint.py::test_the_newest_valid_generation_comes_first_and_odd_ones_are_named",
        "compat_tests/test_storage_state.py::test_any_client_reads_the_storage_of_each_log",
    ),
    "older journals may go": (
        "compat_tests/test_storage_state.py::test_any_client_reads_the_storage_of_each_log",
    ),
    "garbage collection of entry logs": (
        f"{BROKER}/storage/test_message_ids.py::test_compaction_changes_no_id",
    ),
}


def is_there(place: str) -> bool:
    path, _, name = place.partition("::")
    return (ROOT / path).exists() and name in names_of(path)


def rows_of_the_page() -> list[str]:
    rows = re.findall(r"^\| (.+?) \| .+ \|$", PAGE.read_text(), re.MULTILINE)
    return [row for row in rows if row not in ("YDB", "Pulsar, BookKeeper")]


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_its_tests(row: str) -> None:
    assert [place for place in ROWS[row] if not is_there(place)] == []


def test_the_page_has_these_rows_and_no_others() -> None:
    assert rows_of_the_page() == list(ROWS)
