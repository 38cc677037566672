"""The running cluster's end of the control channel: reads requests from its socket and answers each in a task of its own."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kcsim.runtime.ports import Runtime
from kcsim.scenarios.cli.up_cluster.control import DeniedError

MAX_REQUEST_BYTES = 16 * 2**20
"""In bytes: a reassignment of a hundred thousand partitions fits."""

RequestHandler = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""A function that executes a verb with its arguments. Raises: DeniedError."""


@asynccontextmanager
async def serve_control(listening: socket.socket, runtime: Runtime, answer: RequestHandler) -> AsyncIterator[None]:
    """Answer requests at this socket, several at once, until the context ends. Then pending connections are closed.

    Args:
        listening: from control.claim_cluster_name, which also unlinks it.
        runtime: on asyncio; each request is answered in a task of it.
    """

    async def answer_on(writer: asyncio.StreamWriter, line: bytes) -> None:
        try:
            reply = await _reply_to(answer, line)
            writer.write(json.dumps(reply, ensure_ascii=False).encode() + b"\n")
        finally:
            writer.close()

    async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
        except (ValueError, ConnectionError):  # the line is too long, or the connection is gone
            line = b""
        if line.endswith(b"\n"):
            runtime.spawn("control", answer_on(writer, line))
        else:
            writer.close()  # the connection was only a check whether this cluster is running

    server = await asyncio.start_unix_server(read_request, sock=listening, limit=MAX_REQUEST_BYTES)
    try:
        yield
    finally:
        server.close()


async def _reply_to(answer: RequestHandler, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
        verb, arguments = request["verb"], request["arguments"]
        if not isinstance(verb, str) or not isinstance(arguments, dict):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        return {"error": 'not a request: write {"verb": …, "arguments": {…}}', "invalid_request": True}
    try:
        return {"answer": dict(await answer(verb, arguments))}
    except DeniedError as denied:
        return {"error": str(denied), "invalid_request": denied.invalid_request}
