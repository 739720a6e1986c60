"""Errors of the APIs about the node itself: its endpoints, features and security."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.themes.users import deleted, put
from compat_tests.error_cases.case import Scene, Told, provokes
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

BROKERS, CONTROLLERS, NEITHER = 1, 2, 3


def described(scene: Scene, endpoint_type: int) -> Told:
    """Describe the cluster as seen from a kind of endpoint."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=endpoint_type)
    answer = scene.call(request, 1)
    return Told(answer.error_code, answer.error_message)


@provokes(ErrorCode.MISMATCHED_ENDPOINT_TYPE, "CONTROLLER")
def controllers_asked_of_a_broker(scene: Scene) -> Told:
    return described(scene, CONTROLLERS)


@provokes(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "3")
def endpoints_of_no_kind(scene: Scene) -> Told:
    return described(scene, NEITHER)


@provokes(ErrorCode.SECURITY_DISABLED, "Authorizer")
def rules_of_a_node_without_security(scene: Scene) -> Told:
    request = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    answer = scene.call(request, 3)
    return Told(answer.error_code, answer.error_message)


@provokes(ErrorCode.ILLEGAL_SASL_STATE)
def login_where_none_is_needed(scene: Scene) -> Told:
    answer = scene.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    return Told(answer.error_code)


@provokes(ErrorCode.INVALID_UPDATE_VERSION, "metadata.version", "999")
def feature_level_that_does_not_exist(scene: Scene) -> Told:
    update = FeatureUpdateKey(feature="metadata.version", max_version_level=999)
    answer = scene.call(UpdateFeaturesRequest(feature_updates=[update]), 1)
    (result,) = answer.results or [answer]
    return Told(answer.error_code or result.error_code, f"{answer.error_message} {result.error_message}")


def altered(scene: Scene, *upsertions: Any, deletions: tuple[Any, ...] = ()) -> Told:
    """Change credentials of one user, and return what is said of it."""
    request = AlterUserScramCredentialsRequest(deletions=list(deletions), upsertions=list(upsertions))
    (result,) = scene.call(request, 0).results
    return Told(result.error_code, result.error_message)


@provokes(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "mechanism 3")
def mechanism_that_does_not_exist(scene: Scene) -> Told:
    return altered(scene, put("user", 3))


@provokes(ErrorCode.UNACCEPTABLE_CREDENTIAL, "iterations", "4095")
def credential_that_is_easily_guessed(scene: Scene) -> Told:
    return altered(scene, put("user", 1, 4095))


@provokes(ErrorCode.DUPLICATE_RESOURCE, "twice", "user")
def user_altered_twice(scene: Scene) -> Told:
    return altered(scene, put("user"), put("user", 2))


@provokes(ErrorCode.RESOURCE_NOT_FOUND, "SCRAM_SHA_256", "nobody")
def credential_that_was_never_set(scene: Scene) -> Told:
    return altered(scene, deletions=(deleted("nobody"),))
