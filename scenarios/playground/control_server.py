"""A running cluster's end of the control channel: hears questions on its socket, has them answered in tasks of its own."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kcsim.scenarios.playground.control import DeniedError
from kcsim.zk.ports import Runtime

LONGEST_QUESTION = 16 * 2**20
"""Bytes: a reassignment of a hundred thousand partitions fits."""

Answering = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Takes a verb and its arguments. Raises: DeniedError."""


@asynccontextmanager
async def answering(listening: socket.socket, runtime: Runtime, answer: Answering) -> AsyncIterator[None]:
    """Answer whoever asks at this socket, several at once, until the context ends; then whoever still waits is hung up on.

    Args:
        listening: from control.claimed; stays its owner's to unlink.
        runtime: on asyncio; each question is answered in a task of it.
    """

    async def answer_on(writer: asyncio.StreamWriter, line: bytes) -> None:
        try:
            told = await _told(answer, line)
            writer.write(json.dumps(told, ensure_ascii=False).encode() + b"\n")
        finally:
            writer.close()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
        except (ValueError, ConnectionError):  # too long, or gone
            line = b""
        if line.endswith(b"\n"):
            runtime.spawn("control", answer_on(writer, line))
        else:
            writer.close()  # somebody only looked whether anybody is here

    server = await asyncio.start_unix_server(hear, sock=listening, limit=LONGEST_QUESTION)
    try:
        yield
    finally:
        server.close()


async def _told(answer: Answering, line: bytes) -> dict[str, Any]:
    try:
        question = json.loads(line)
        verb, arguments = question["verb"], question["arguments"]
        if not isinstance(verb, str) or not isinstance(arguments, dict):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        return {"error": 'not a question: write {"verb": …, "arguments": {…}}', "makes_no_sense": True}
    try:
        return {"answer": dict(await answer(verb, arguments))}
    except DeniedError as denied:
        return {"error": str(denied), "makes_no_sense": denied.makes_no_sense}
