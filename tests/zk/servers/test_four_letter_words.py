"""Answers to four-letter words, from a socket that says what a server would."""

import socketserver
import threading

from kcsim.zk.servers.four_letter_words import ask_server

READ_ONLY = (
    b"Zookeeper version: 3.9.5-unknown, built on 2025\nLatency min/avg/max: 0/0.0/0\nMode: read-only\nNode count: 5\n"
)


class _Answer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(4)
        self.request.sendall(READ_ONLY)


def test_a_member_in_read_only_mode_serves_in_no_role() -> None:
    """It has lost the quorum; the answer used to be an error, since read-only is no role in an ensemble."""
    with socketserver.TCPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        status = ask_server(*server.server_address[:2], timeout_s=60)  # type: ignore[arg-type]
        server.shutdown()
    assert (status.mode, status.version) == (None, "3.9.5")
