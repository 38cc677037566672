"""--ports: the TCP ports on which Kafka's clients reach the brokers of a cluster."""

import re
from collections.abc import Sequence

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

LAST_PORT = 65_535


def parse_ports(text: str, brokers: Sequence[int]) -> dict[int, int]:
    """Return each broker's port. If the text does not name one port per broker, end the command.

    Args:
        text: ports and ranges of ports, separated by commas: 9092-9094, or 9092,9095.
        brokers: the brokers' ids; the first one gets the first port.
    """
    ports = [port for part in text.split(",") for port in _range(part.strip(), text)]
    if len(set(ports)) < len(ports):
        fail(f"--ports: {text} names a port twice", ExitStatus.USAGE)
    if len(ports) != len(brokers):
        fail(f"--ports: {text} is {_counted(len(ports), 'port')} for {_counted(len(brokers), 'broker')}", ExitStatus.USAGE)
    return dict(zip(brokers, ports, strict=True))


def _range(part: str, text: str) -> range:
    found = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part)
    if found is None:
        fail(f"--ports: {text!r} names no ports; write 9092-9094, or 9092,9095", ExitStatus.USAGE)
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last <= LAST_PORT:
        fail(f"--ports: {part} is no port or range of ports between 1 and {LAST_PORT}", ExitStatus.USAGE)
    return range(first, last + 1)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
