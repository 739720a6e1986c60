"""The checklist of security: each rule, and the tests that show it; a test that is renamed is missed here."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PROTOCOL, BROKER = "tests/protocol", "tests/broker"
CONNECTIONS, SECURITY, SERVER = f"{BROKER}/connections", f"{BROKER}/security", f"{BROKER}/server"
REQUESTS, LOGIN = f"{BROKER}/requests", f"{CONNECTIONS}/test_login.py"
JWT = f"{SECURITY}/test_jwt_validator.py"

CHECKLIST: Final[dict[str, tuple[str, ...]]] = {
    "a frame's length is judged before memory is taken, and before a login it is small": (
        f"{PROTOCOL}/test_framing.py::test_a_length_out_of_range_is_refused_again_and_again",
        f"{PROTOCOL}/test_framing.py::test_an_announced_length_takes_no_memory_beyond_what_arrived",
        f"{LOGIN}::test_frames_are_small_until_the_login_is_done",
    ),
    "nothing but versions and the login is decoded before the login": (
        f"{LOGIN}::test_nothing_is_answered_before_the_handshake",
        f"{LOGIN}::test_a_request_that_is_not_let_in_is_not_decoded",
        f"{SECURITY}/test_sasl_session.py::test_no_sequence_of_requests_gets_past_the_login",
    ),
    "counts are bounded by the bytes that are there, and all elements of a request together": (
        f"{PROTOCOL}/test_reference.py::test_all_elements_of_a_message_share_one_limit",
        f"{PROTOCOL}/test_reference.py::test_unknown_tags_count_as_elements",
        f"{PROTOCOL}/test_primitives.py::test_bad_tags_are_malformed",
    ),
    "numbers of variable length end": (
        f"{PROTOCOL}/test_primitives.py::test_uvarint_of_more_than_32_bits_is_malformed_after_five_bytes",
    ),
    "large requests and answers take turns with others": (
        f"{REQUESTS}/test_access_topics.py::test_ten_thousand_topics_are_checked_in_slices",
        f"{CONNECTIONS}/test_memory_limits.py::test_a_heavy_request_that_is_parked_lets_the_next_one_begin",
        f"{LOGIN}::test_thousands_of_wrong_logins_do_not_delay_a_good_one",
    ),
    "compressed records expand within a limit and a ratio": (
        f"{PROTOCOL}/test_compression.py::test_a_bomb_is_refused_within_its_memory_bound",
        f"{PROTOCOL}/test_compression.py::test_the_ratio_stops_small_bombs_below_the_limit",
    ),
    "memory of all clients, of an address, and of a connection is bounded, and reading stops": (
        f"{CONNECTIONS}/test_memory_limits.py::test_a_connection_with_much_in_work_is_not_read",
        f"{CONNECTIONS}/test_memory_limits.py::test_one_address_may_take_its_share_and_the_others_are_read_on",
        f"{CONNECTIONS}/test_memory_limits.py::test_far_above_the_limit_for_answers_nobody_is_read",
        f"{SERVER}/test_collector.py::test_logins_leave_no_cycles_behind",
    ),
    "clients that are slow or say nothing are closed": (
        f"{CONNECTIONS}/test_connection_reaper.py::test_one_byte_now_and_then_is_no_request",
        f"{CONNECTIONS}/test_connection_reaper.py::test_an_idle_connection_ends",
        f"{LOGIN}::test_a_login_that_takes_too_long_is_closed",
        f"{SERVER}/test_http.py::test_a_client_that_sends_half_a_request_is_sent_away",
    ),
    "connections have limits: in all, of an address, of a listener, and a rate": (
        f"{SERVER}/test_acceptor.py::test_who_is_above_a_limit_is_closed_counted_and_logged_once_a_second",
        f"{SERVER}/test_acceptor.py::test_a_listener_with_a_limit_of_its_own_leaves_the_others_alone",
        f"{SERVER}/test_acceptor.py::test_above_the_rate_of_one_listener_only_its_clients_wait",
        f"{SERVER}/test_acceptor.py::test_without_file_descriptors_nobody_is_accepted_for_a_while",
        f"{CONNECTIONS}/test_newcomers.py::test_a_crowd_above_the_limit_is_looked_through_now_and_then_only",
    ),
    "quotas are Kafka's": (
        f"{SECURITY}/test_quotas.py::test_the_entities_that_decide_come_in_kafkas_order",
        f"{REQUESTS}/test_throttling.py::test_changes_of_topics_take_tokens_and_may_go_below_zero_once",
    ),
    "names are short, of few characters, and no part of a path": (
        f"{BROKER}/config/test_topic_names.py::test_illegal_names_are_refused_with_the_reason",
    ),
    "groups, sessions, texts of offsets and transactions have limits": (
        "tests/groups/test_classic_join.py::test_a_full_group_takes_nobody_in",
        "tests/groups/test_consumer_heartbeat.py::test_a_full_group_takes_nobody_in",
        "tests/groups/test_offset_commit.py::test_metadata_have_a_limit",
        f"{BROKER}/fetching/test_fetch_sessions.py::test_a_full_cache_opens_no_session_until_the_oldest_is_idle",
        f"{BROKER}/fetching/test_fetch_sessions.py::test_a_larger_session_evicts_a_smaller_one",
    ),
    "the console answers its own pages alone, and shows nothing that runs": (
        "tests/console/web/test_checklist.py::test_each_rule_has_its_tests",
    ),
    "SASL has an order, a later login is the same user's, and failures are late and look alike": (
        f"{SECURITY}/test_sasl_session.py::test_a_request_between_tokens_is_illegal",
        f"{LOGIN}::test_a_later_login_as_another_is_refused",
        f"{LOGIN}::test_a_failed_login_is_answered_after_the_delay_and_not_read_on",
        f"{SECURITY}/test_sasl_plain.py::test_an_unknown_user_and_a_wrong_password_are_told_the_same",
        f"{SECURITY}/test_sasl_plain.py::test_a_wrong_token_is_refused",
    ),
    "SCRAM: the final nonce is ours, channel binding is checked, users that do not exist look like others": (
        f"{SECURITY}/test_sasl_scram.py::test_the_final_nonce_must_be_equal",
        f"{SECURITY}/test_sasl_scram.py::test_the_header_of_the_first_message_must_come_again",
        f"{SECURITY}/test_sasl_scram.py::test_an_unknown_user_gets_a_salt_that_stays_and_fails_with_the_proof",
    ),
    "passwords of PLAIN are hashed, and logins without encryption warn": (
        f"{SECURITY}/test_plain_passwords.py::test_a_hash_is_that_of_its_password_alone",
        f"{SERVER}/test_login_setup.py::test_without_encryption_off_the_loopback_the_log_warns",
    ),
    "OAUTHBEARER: pinned algorithms and keys, issuer, audience, times; the token ends the session": (
        f"{JWT}::test_a_token_without_a_signature_is_never_accepted",
        f"{JWT}::test_a_token_signed_by_hmac_with_the_public_key_is_never_accepted",
        f"{JWT}::test_a_key_inside_a_token_or_an_address_of_keys_is_not_used",
        f"{JWT}::test_claims_that_do_not_fit_are_refused",
        f"{JWT}::test_no_refusal_has_a_part_of_the_token",
        f"{SECURITY}/test_sasl_session.py::test_a_session_ends_with_the_shorter_of_limit_and_credentials",
    ),
    "TLS: versions, chain and purpose of certificates, names by rules, reload, expiry": (
        "compat_tests/test_tls.py::test_both_versions_of_tls_are_served",
        f"{SERVER}/test_tls_transport.py::test_a_certificate_that_was_made_for_servers_lets_no_client_in",
        f"{SERVER}/test_tls_transport.py::test_a_certificate_that_no_rule_matches_ends_the_connection",
        f"{SERVER}/test_tls_listeners.py::test_a_changed_file_is_noticed_and_a_wrong_one_leaves_the_old_in_use",
        f"{SERVER}/test_tls_listeners.py::test_the_end_of_a_certificate_is_told_at_30_7_1_and_0_days",
        f"{SERVER}/test_tls_setup.py::test_a_start_ends_if_what_clients_have_set_cannot_be_served",
        "compat_tests/test_key_stores.py::test_what_cannot_be_served_is_refused_and_the_old_certificate_stays",
    ),
    "the authorizer decides as Kafka's: by a model, for every request, and removal leaves the other rules": (
        f"{SECURITY}/test_authorizer.py::test_every_decision_is_the_models_after_each_change",
        f"{SECURITY}/test_authorizer.py::test_rules_removed_again_leave_nothing_behind",
        f"{REQUESTS}/test_acl_gate.py::test_every_api_that_is_served_has_a_row",
        f"{REQUESTS}/test_acl_gate.py::test_each_check_is_made_and_no_other",
        "compat_tests/test_acls.py::test_every_api_is_allowed_and_refused_as_by_kafka",
    ),
    "views show nothing else of their sources": (
        f"{BROKER}/test_view_doors.py::test_no_request_about_a_view_tells_of_its_source",
        f"{BROKER}/catalogue/test_view_sources.py::test_no_view_shows_what_its_maker_may_not_read",
    ),
    "every address is loopback unless clients log in, and pages know their own host": (
        f"{SERVER}/test_listeners.py::test_addresses_that_others_reach_need_the_word_for_it",
        f"{SERVER}/test_operations.py::test_other_machines_need_a_login_for_every_page",
        f"{SERVER}/test_http.py::test_behind_loopback_only_names_of_this_machine_are_answered",
    ),
    "secrets leave the server nowhere, and come from no command line": (
        f"{BROKER}/test_secrets.py::test_no_secret_leaves_the_server",
        f"{BROKER}/test_secrets.py::test_a_configuration_shows_none_of_its_secrets",
        "compat_tests/test_backup_secrets.py::"
        "test_a_backup_has_no_secret_but_a_key_that_a_client_has_sent_as_text",
        f"{BROKER}/config/test_config_sources.py::test_a_secret_is_not_taken_from_the_command_line",
        "compat_tests/test_sasl_hostile.py::test_no_secret_is_in_the_arguments_of_the_process",
    ),
    "the log escapes, cuts and counts; the audit log tells of every change": (
        f"{SERVER}/test_logs.py::test_what_cannot_be_printed_is_escaped",
        f"{SERVER}/test_logs.py::test_long_texts_of_clients_are_cut",
        f"{SERVER}/test_logs.py::test_events_of_one_kind_are_logged_a_few_times_and_then_counted",
        f"{LOGIN}::test_a_hostile_name_is_one_line_of_the_log",
        f"{REQUESTS}/test_audit_refusals.py::test_every_change_that_is_told_has_a_row",
        "compat_tests/test_audit.py::test_a_disk_that_is_really_full_is_told_and_cuts_no_line",
    ),
    "files are the server's own, and unit and image give away little": (
        "compat_tests/test_serve.py::test_what_the_server_writes_can_be_read_by_its_own_user_alone",
        "tests/wal/test_disk.py::test_what_it_makes_is_the_owner_s_whatever_the_umask",
        "tests/test_deployment.py::test_the_unit_gives_away_as_little_as_it_can",
        "tests/test_deployment.py::test_it_runs_without_root_and_writes_to_data_only",
    ),
    "a failing disk is a storage error of the partition, which producers repeat": (
        f"{BROKER}/handlers/test_produce_disk.py::test_a_read_that_fails_is_a_storage_error_of_its_partition",
        f"{BROKER}/test_core.py::test_a_fault_of_our_own_ends_one_connection_and_no_other",
    ),
}
"""By rule; the pinning of dependencies is checked where distributions are made."""


@cache
def names_of(path: str) -> frozenset[str]:
    """Return the names of the tests of a file."""
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("rule", CHECKLIST)
def test_each_rule_has_its_tests(rule: str) -> None:
    missing = []
    for place in CHECKLIST[rule]:
        path, _, name = place.partition("::")
        if name not in names_of(path):
            missing.append(place)
    assert CHECKLIST[rule]
    assert missing == []
