"""A server with the interface of Amazon S3, as a program: it prints its URL, and ends when its stdin closes."""

import sys

from moto.server import ThreadedMotoServer


def main() -> None:
    output, sys.stdout = sys.stdout, sys.stderr  # the server prints there that it starts
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(f"http://{host}:{port}", file=output, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
