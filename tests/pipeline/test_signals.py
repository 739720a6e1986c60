"""Signals are noted once, and the handlers that were there come back."""

from __future__ import annotations

import os
import signal

import pytest

from pipeline.signals import name_of, stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noted_and_the_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        assert stop.signal_number == number
    assert signal.getsignal(number) is before


def test_a_second_interrupt_has_its_usual_effect() -> None:
    with stop_on_signals():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_handler_of_another_library_is_replaced_by_entering_again() -> None:
    with stop_on_signals() as stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with stop_on_signals(stop):
            os.kill(os.getpid(), signal.SIGINT)
        assert name_of(stop) == "SIGINT"
