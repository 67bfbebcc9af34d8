"""Ctrl-C and SIGTERM are a flag first and an exception the second time."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from latebloom.core.interrupts import listening


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.1)


def test_a_second_signal_raises():
    cancel = threading.Event()
    with listening(cancel):
        terminate()
        assert cancel.is_set()
        with pytest.raises(KeyboardInterrupt):
            terminate()


def test_a_signal_that_is_ignored_on_purpose_stays_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        cancel = threading.Event()
        with listening(cancel):
            terminate()
        assert not cancel.is_set()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
