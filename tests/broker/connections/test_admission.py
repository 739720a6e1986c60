"""The admission of clients: limits on connections, in all and by address."""

import pytest

from broker.connections.admission import LOG_INTERVAL_MS, Admission, connection_room


def refusal(admission: Admission, host: str = "a", *, count_max: int = 100, host_count_max: int = 100) -> str:
    return admission.refusal(host, count_max=count_max, host_count_max=host_count_max) or ""


@pytest.mark.parametrize(("files", "room"), [(20_000, 19_000), (4_000, 3_000), (1_024, 768), (4, 3)])
def test_some_files_are_kept_for_the_logs(files: int, room: int) -> None:
    assert connection_room(files) == room


def test_connections_are_limited_all_together() -> None:
    admission = Admission(room=1000)
    admission.enter("a")
    assert refusal(admission, "b", count_max=2) == ""
    admission.enter("b")
    assert "max.connections=2" in refusal(admission, "c", count_max=2)
    admission.leave("a")
    assert refusal(admission, "c", count_max=2) == ""


def test_connections_are_limited_by_address() -> None:
    admission = Admission(room=1000)
    admission.enter("a")
    assert "max.connections.per.ip=1" in refusal(admission, "a", host_count_max=1)
    assert refusal(admission, "b", host_count_max=1) == ""
    admission.leave("a")
    assert refusal(admission, "a", host_count_max=1) == ""


def test_open_files_limit_connections_whatever_is_configured() -> None:
    admission = Admission(room=1)
    admission.enter("a")
    assert "open files" in refusal(admission)


def test_a_limit_lowered_while_running_keeps_who_is_there() -> None:
    admission = Admission(room=1000)
    for _ in range(3):
        admission.enter("a")
    assert refusal(admission, count_max=2)
    admission.leave("a")
    assert refusal(admission, count_max=2)
    admission.leave("a")
    assert refusal(admission, count_max=2) == ""


def test_refusals_are_logged_once_a_second_with_their_number() -> None:
    admission = Admission(room=0)
    assert admission.refused(5) == 1
    assert [admission.refused(5 + wait) for wait in (0, 1, LOG_INTERVAL_MS - 1)] == [0, 0, 0]
    assert admission.refused(5 + LOG_INTERVAL_MS) == 4
