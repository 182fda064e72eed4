"""Calls in a process of their own."""

import os

from benchmarks import apart


def test_a_call_has_a_process_and_a_number_of_threads_of_its_own(monkeypatch):
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "7")
    assert apart.call(3, os.getenv, "TF_NUM_INTRAOP_THREADS") == "3"
    assert apart.call(3, os.getpid) != os.getpid()
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "7"
