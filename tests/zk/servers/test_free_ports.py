"""Ports of 127.0.0.1 for servers that are started later."""

import os
import socket
import subprocess
import sys
from itertools import pairwise

import pytest

from kcsim.zk.servers.free_ports import FIRST, claimed_port, free_ports

HOST = "127.0.0.1"


@pytest.fixture(autouse=True)
def _same_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every search begin at the same port, as two processes may by chance."""
    (start,) = free_ports(1)
    monkeypatch.setattr(os, "urandom", lambda _: (start - FIRST).to_bytes(4, "big"))


def test_a_claimed_port_is_given_to_no_other() -> None:
    """Two runs that are started at once choose the ports of their brokers long before the brokers listen."""
    with claimed_port() as first, claimed_port() as second:
        (third,) = free_ports(1)
        assert len({first, second, third}) == 3


def test_a_server_can_listen_on_a_claimed_port() -> None:
    with claimed_port() as port, socket.create_server((HOST, port)):
        assert free_ports(1) != [port]


def test_ports_that_are_found_together_differ() -> None:
    found = free_ports(3)
    assert all(one < other for one, other in pairwise(sorted(found)))


def test_a_port_is_found_once_before_its_server_listens() -> None:
    """Whoever looks next, in this process or in another, gets a port of its own, and not the first that is free."""
    (first,) = free_ports(1)
    (second,) = free_ports(1)
    search = "import os; os.urandom = lambda _: ({} - m.FIRST).to_bytes(4, 'big'); print(*m.free_ports(1))"
    code = f"from kcsim.zk.servers import free_ports as m; {search.format(first)}"
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert len({first, second, int(other.stdout)}) == 3
