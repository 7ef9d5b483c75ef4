"""Telling whether the holder of a lease still lives."""

import os
import re
import socket

import psutil
import pytest

from indexer.catalog.leases import is_dead, this_process

HOST = socket.gethostname()


def test_this_process_lives():
    assert not is_dead(this_process())


def test_a_later_process_with_the_same_pid_is_another():
    host, pid, start, namespace = re.split("[:@]", this_process())
    assert is_dead(f"{host}:{pid}:{float(start) - 60}@{namespace}")


def test_a_pid_says_nothing_of_another_container():
    """On the same host, under the same name."""
    _, _, namespace = this_process().partition("@")
    boot, _, _ = namespace.partition(".")
    unused = f"{HOST}:{max(psutil.pids()) + 100_000_000}:1.00"
    assert is_dead(f"{unused}@{namespace}")
    assert not is_dead(f"{unused}@{boot}.1")
    assert not is_dead(f"{unused}@00000000.{namespace.partition('.')[2]}")


def test_a_process_that_is_not_there_is_dead():
    unused = max(psutil.pids()) + 100_000_000
    assert is_dead(f"{HOST}:{unused}:1.00")


@pytest.mark.parametrize("holder", ["", "the night job", f"{HOST}:x:1.0", f"{HOST}:1", "a:b:c:d", "elsewhere:1:1.0"])
def test_who_is_no_process_of_this_host_may_live(holder):
    assert not is_dead(holder)


def test_a_process_that_may_not_be_asked_may_live(monkeypatch):
    def deny(pid):
        raise psutil.AccessDenied(pid)

    monkeypatch.setattr(psutil, "Process", deny)
    assert not is_dead(f"{HOST}:{os.getpid()}:1.00")


def test_setting_the_clock_kills_nobody(monkeypatch):
    """psutil derives both from the system clock, which may be set while the holder runs."""
    holder = this_process()
    boot, create = psutil.boot_time(), psutil.Process.create_time
    monkeypatch.setattr(psutil, "boot_time", lambda: boot + 3600)
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: create(process) + 3600)
    assert not is_dead(holder)
