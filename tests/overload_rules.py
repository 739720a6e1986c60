"""The rules of overload, each with its tests and loads; see test_overload_checklist.py."""

from __future__ import annotations

from typing import Final

BROKER, WAL, GROUPS, PROTOCOL = "tests/broker", "tests/wal", "tests/groups", "tests/protocol"
CONNECTIONS, HANDLERS, LOOP = f"{BROKER}/connections", f"{BROKER}/handlers", f"{BROKER}/loop"
MEMORY, LARGE = f"{CONNECTIONS}/test_memory_limits.py", f"{LOOP}/test_large_admin_requests.py"

NET: Final[dict[str, tuple[str, ...]]] = {
    "handlers and decoding": (
        f"{BROKER}/requests/test_dispatcher.py::test_a_handler_that_raises_ends_its_own_connection",
    ),
    "slices and answers": (
        f"{LOOP}/test_slices_handlers.py::test_an_answer_that_cannot_be_encoded_ends_its_connection",
    ),
    "timers, frames and jobs": (
        f"{LOOP}/test_internal_errors.py::test_a_timer_that_raises_is_over_and_the_others_run",
        f"{LOOP}/test_internal_errors.py"
        "::test_a_frame_that_cannot_be_made_refuses_its_records_and_the_log_goes_on",
        f"{LOOP}/test_internal_errors.py"
        "::test_a_job_whose_end_cannot_be_applied_closes_the_log_until_the_next_start",
    ),
    "regular work": (
        f"{BROKER}/test_regular_work.py"
        "::test_regular_work_that_breaks_is_over_for_once_and_clients_are_served",
    ),
    "connections and threads": (
        f"{BROKER}/server/test_reactor.py::test_an_error_of_our_own_in_one_socket_ends_that_connection_alone",
        f"{BROKER}/server/test_reactor.py"
        "::test_an_error_of_our_own_in_a_thread_is_counted_and_ends_nothing_else",
    ),
    "coordinators and their loaders": (
        f"{BROKER}/coordinators/test_runtime.py::test_a_partition_whose_timer_has_raised_is_loaded_again",
        f"{BROKER}/coordinators/test_runtime.py"
        "::test_a_record_that_breaks_the_replay_leaves_its_partition_refused_and_the_others_served",
    ),
    "pages, the console's door and the reload": (
        f"{BROKER}/server/test_http.py::test_an_error_of_our_own_is_told_and_the_connection_goes_on",
        f"{BROKER}/server/test_console_host.py::test_an_error_of_ours_is_noted_and_it_goes_on",
        f"{BROKER}/server/test_reload.py::test_a_fault_of_our_own_does_not_end_the_server",
    ),
}
"""Each kind of work, broken on purpose: it ends its own piece, and neither the process nor another client."""

OPERATORS: Final[dict[str, tuple[str, ...]]] = {
    "the watchdog of turns": (
        f"{BROKER}/server/test_watchdog.py::test_a_slow_turn_is_logged_with_the_stack_it_had_while_it_lasted",
        f"{BROKER}/server/test_watchdog.py::test_the_client_of_the_longest_piece_is_named",
    ),
    "a dump of all stacks": (
        f"{BROKER}/server/test_thread_dump.py::test_the_signal_makes_a_dump_and_the_process_goes_on",
    ),
    "signs of life for the supervisor": (
        f"{BROKER}/server/test_notify.py::test_signs_of_life_come_from_the_timers_twice_in_the_expected_time",
    ),
    "request metrics by phase": (f"{LOOP}/test_request_stats.py::test_the_phases_add_up_to_the_total",),
    "the request log": (
        f"{BROKER}/requests/test_request_log.py::test_a_client_is_logged_by_a_pattern_while_the_server_runs",
    ),
    "connected clients": (
        f"{HANDLERS}/test_kawal_connections.py::test_a_client_is_shown_with_its_software_and_what_it_does",
        "tests/console/commands/test_cluster.py::test_the_connected_clients_are_shown",
    ),
    "the configuration read again": (
        f"{BROKER}/server/test_reload.py::test_changed_keys_take_effect_and_are_named",
    ),
    "guards of deletion": (
        f"{BROKER}/catalogue/test_guards.py::test_a_protected_topic_and_its_records_are_not_deleted",
    ),
    "a copy beside a running server, and back": (
        "compat_tests/test_backup.py"
        "::test_every_record_acknowledged_before_a_backup_is_there_after_a_restore",
    ),
}
"""What operators have against overload."""

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
    "fetch.min.bytes at the partition's limit": (
        f"{BROKER}/fetching/test_fetch_reader.py::test_a_partition_with_more_than_it_may_give_counts_as_full",
        f"{BROKER}/fetching/test_fetch_reader.py::test_the_minimum_is_never_more_than_the_answer_may_have",
        "load:min-bytes",
    ),
    "a lookup by time in a batch that cannot be opened": (
        f"{PROTOCOL}/test_record_times.py::test_a_batch_that_no_reader_would_open_at_once_is_walked",
        f"{PROTOCOL}/test_record_times.py::test_damaged_records_are_malformed",
        f"{PROTOCOL}/test_decompressed_parts.py::test_a_little_that_stands_for_a_lot_needs_little_memory",
        "load:unopenable",
    ),
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
        f"{BROKER}/storage/test_produce_times.py::test_many_records_whose_times_count_are_read_by_a_thread",
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
    "a member with very many protocols": (
        f"{GROUPS}/test_classic_requests.py::test_the_protocols_of_a_join_are_looked_at_once",
    ),
    "members of very many topics": (
        f"{GROUPS}/test_sorted_names.py::test_what_is_asked_of_all_names_is_known_without_a_visit_to_each",
        f"{GROUPS}/test_next_step.py::test_the_loop_takes_no_line_of_python_for_each_topic_of_a_member",
        f"{GROUPS}/share/test_targets.py::test_the_loop_takes_no_line_of_python_for_each_of_very_many_names",
        "load:wide-consumers",
        "load:wide-shares",
    ),
    "DeleteTopics": (f"{LARGE}::test_many_topics_are_deleted", "load:delete-topics"),
    "AlterConfigs": (f"{LARGE}::test_settings_of_many_topics_are_replaced", "load:alter-configs"),
    "OffsetCommit": (
        f"{HANDLERS}/test_offset_commit.py"
        "::test_very_many_offsets_are_committed_a_part_at_a_time_beside_other_requests",
        "load:offset-commit",
    ),
    "offsets of ever more groups": (
        f"{GROUPS}/test_offset_room.py"
        "::test_an_offset_for_which_there_is_no_room_is_refused_so_that_its_client_tries_again",
        "load:offsets-wide",
    ),
    "producers in very many partitions": (
        f"{WAL}/test_producers_memory.py"
        "::test_producers_of_ever_more_streams_take_no_more_memory_than_they_may",
        f"{WAL}/test_producers_memory.py"
        "::test_no_append_and_no_expiry_does_work_that_grows_with_the_number_of_streams",
        f"{WAL}/test_producers_memory.py"
        "::test_a_partition_whose_producers_all_have_transactions_is_not_searched_for_one_without",
        "load:producers-wide",
    ),
    "transactions with very many partitions": (
        f"{BROKER}/coordinators/test_enlistment.py"
        "::test_the_batches_of_a_wide_request_are_asked_about_in_slices",
        f"{BROKER}/coordinators/test_enlistment.py"
        "::test_more_batches_than_a_transaction_may_have_are_all_refused_unasked",
        f"{GROUPS}/transactions/test_enlisting.py"
        "::test_a_transaction_that_would_have_too_many_partitions_stays_as_it_is",
        f"{WAL}/test_producers_memory.py"
        "::test_streams_with_transactions_are_looked_through_and_captured_in_steps",
        "load:enlisted-wide",
        "load:aborted-wide",
    ),
    "named producers of very many partitions": (
        f"{BROKER}/storage/test_deduplication.py"
        "::test_producers_of_ever_more_names_in_many_partitions_take_no_more_memory_than_they_may",
    ),
    "offsets that very many transactions stage": (
        f"{GROUPS}/test_offset_room.py"
        "::test_many_transactions_that_stage_the_same_partitions_take_no_more_memory_than_they_may",
        f"{GROUPS}/test_staged_offsets.py"
        "::test_keys_are_found_without_a_look_at_those_of_other_groups_and_topics",
    ),
    "regular expressions that a member changes with each heartbeat": (
        f"{GROUPS}/test_consumer_members.py"
        "::test_a_member_that_brings_another_regex_with_each_heartbeat_leaves_nothing_behind",
    ),
    "long client ids, and what a connection has fetched": (
        f"{LOOP}/test_last_fetch.py::test_a_connection_keeps_no_long_client_id",
        f"{LOOP}/test_last_fetch.py"
        "::test_a_connection_keeps_a_few_places_of_a_fetch_of_very_many_and_none_that_do_not_exist",
        f"{BROKER}/requests/test_throttling.py::test_long_names_are_told_apart_and_not_kept",
    ),
    "answers that are far larger than their requests": (
        f"{CONNECTIONS}/test_wide_answers.py"
        "::test_they_take_no_more_than_the_memory_for_answers_and_what_is_being_encoded",
        f"{CONNECTIONS}/test_wide_answers.py::test_no_long_answer_is_made_while_one_waits_for_room",
        f"{BROKER}/requests/test_lists_in_turn.py"
        "::test_those_of_one_api_wait_for_each_other_and_are_all_answered",
        f"{BROKER}/requests/test_wide_answers.py::test_no_answer_repeats_what_its_request_says_once",
    ),
    "the markers of transactions, many in a request": (
        f"{HANDLERS}/test_write_txn_markers.py::test_the_markers_of_a_request_share_their_commits",
    ),
    "a share fetch that has to wait for memory": (
        f"{GROUPS}/share/test_range_room.py"
        "::test_a_share_partition_that_was_held_back_is_told_of_when_room_comes",
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
    "a crowd that always asks for a little": (
        f"{BROKER}/server/test_ready_sockets.py"
        "::test_where_a_turn_has_no_time_for_all_those_come_first_that_have_used_the_least",
        "load:busy-crowd",
    ),
    "many clients with answers in slices": (
        f"{LOOP}/test_scheduler.py"
        "::test_slices_count_for_their_client_but_not_the_first_one_which_is_a_part_of_its_service",
        "load:view-streams",
    ),
    "frames of several logs in one turn": (
        f"{BROKER}/server/test_disk_exchange.py"
        "::test_logs_for_which_a_turn_has_no_time_begin_in_the_next_ones",
        "load:offset-commit",
    ),
    "crowds that come or leave at once": (
        f"{BROKER}/server/test_ready_sockets.py"
        "::test_a_crowd_that_comes_is_reported_once_and_does_not_fill_the_next_reports",
        f"{BROKER}/server/test_ready_sockets.py"
        "::test_a_crowd_that_leaves_is_taken_out_of_the_epoll_which_would_report_it_for_ever",
        "load:idle",
        "load:half-open",
        "load:churn",
    ),
    "indexes on a cold disk": (
        f"{WAL}/test_cold_indexes.py"
        "::test_a_read_that_must_not_wait_names_what_a_thread_has_to_read_and_then_finds_it",
        f"{BROKER}/fetching/test_cold_fetches.py::test_a_fetch_from_the_past_reads_indexes_in_threads_only",
    ),
    "batches that open to much, read through views": (
        f"{BROKER}/view_topics/test_opening.py"
        "::test_few_large_batches_are_open_at_once_and_the_others_take_turns",
        "load:view-bombs",
    ),
    "a lookup by time in a view over a database": (
        f"{BROKER}/view_topics/test_framed_times.py::test_a_lookup_looks_into_batches_a_slice_at_a_time",
        f"{BROKER}/view_topics/test_framed_times.py"
        "::test_frames_whose_records_are_aborted_are_walked_a_slice_at_a_time",
        f"{BROKER}/view_topics/test_framed_times.py"
        "::test_the_newest_time_of_very_many_streams_is_found_a_slice_at_a_time",
    ),
    "members of a share group that subscribe to very many topics": (
        f"{GROUPS}/share/test_targets.py"
        "::test_a_large_target_is_computed_by_a_thread_and_the_heartbeat_waits_for_it",
        f"{GROUPS}/share/test_targets.py::test_what_changes_meanwhile_makes_the_next_target",
    ),
    "an open transaction in a database with views": (
        f"{BROKER}/view_topics/test_vnode_tail.py"
        "::test_the_frame_of_an_open_transaction_is_looked_at_once_not_at_each_commit",
    ),
    "batches of declared sub-tables that open to much": (
        f"{BROKER}/view_topics/test_declared_tables.py"
        "::test_batches_that_open_to_much_are_opened_by_threads_alone",
    ),
    "what was opened of batches that cannot be read": (
        f"{BROKER}/server/test_collector.py::test_what_threads_cannot_read_is_kept_by_no_cycles_of_errors",
    ),
    "commits of thousands of changes": (
        f"{WAL}/test_appending.py::test_a_frame_takes_no_more_changes_than_its_limit_and_order_is_kept",
    ),
    "retention of old segments on a cold disk": (
        f"{BROKER}/upkeep/test_retention_walk.py::test_a_check_reads_indexes_and_batches_in_threads_only",
    ),
    "answers of megabytes": (
        f"{BROKER}/server/test_transport.py"
        "::test_a_call_takes_a_part_of_a_large_buffer_however_much_room_the_socket_has",
    ),
    "names of producers that are not there": (
        f"{HANDLERS}/test_kawal_producers.py::test_names_that_no_producer_has_are_looked_for_in_slices",
    ),
    "answers about very many partitions": (
        f"{HANDLERS}/test_alter_share_group_offsets.py::test_a_wide_answer_is_encoded_by_a_thread",
    ),
    "a file system that hangs": (
        f"{HANDLERS}/test_describe_log_dirs.py::test_the_file_system_is_asked_in_a_thread",
    ),
    "a health check while the loop has other work": (
        f"{BROKER}/server/test_visits.py::test_a_client_of_http_that_comes_while_requests_do_is_visited_soon",
    ),
    "what is imported when it is first needed": (
        f"{HANDLERS}/test_produce.py"
        "::test_a_topic_whose_partitions_do_not_split_has_nothing_imported_for_splits",
        f"{BROKER}/server/test_pages.py::test_what_opens_the_partitions_of_views_is_imported_by_a_thread",
        f"{BROKER}/coordinators/test_coordinators.py"
        "::test_a_thread_imports_what_serves_members_of_share_groups_if_there_are_any",
        f"{BROKER}/view_topics/test_view_loading.py::test_others_are_served_while_a_thread_loads_it",
    ),
    "a machine that has more to do than it can": (
        f"{BROKER}/server/test_turn_order.py::test_waiting_for_a_processor_takes_nothing_of_a_share",
        "load:joins",
    ),
    "very many streams and transactions in a database with views": (
        f"{BROKER}/view_topics/test_vnode_tail_wide.py"
        "::test_what_one_look_finds_in_many_wide_frames_is_looked_at_in_steps_of_one_frame",
        f"{BROKER}/view_topics/test_vnode_tail_wide.py"
        "::test_many_streams_with_producers_are_asked_in_steps_where_too_many_frames_came",
        f"{BROKER}/view_topics/test_vnode_tail_wide.py"
        "::test_of_very_many_undecided_streams_only_some_are_looked_up_in_their_frames",
        f"{BROKER}/view_topics/test_vnode_tail_wide.py"
        "::test_the_first_look_at_very_many_undecided_streams_takes_steps_and_shows_nothing_before_its_end",
        f"{WAL}/test_versions.py::test_to_find_the_newest_frame_of_a_log_of_many_streams_one_is_asked_about",
    ),
    "lookups by time on a cold disk": (
        f"{BROKER}/storage/test_time_search.py"
        "::test_a_lookup_in_a_cold_log_reads_nothing_of_the_disk_on_the_event_loop",
        f"{BROKER}/storage/test_time_search.py::test_so_does_one_for_the_largest_timestamp",
    ),
    "every array of every request": (
        f"{BROKER}/requests/test_wide_requests.py::test_no_array_keeps_the_loop_from_other_clients",
    ),
}
