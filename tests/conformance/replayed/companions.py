"""A run in which a broker's companion is the controller in the broker's place, as the recording that it is compared with.

Each broker has a companion: a second process, of the other software, with an id of its own (companion_of). Only companions
become controller. What a companion does as controller counts as its broker's, and its own registration does not count.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kcsim.zk.capture.write_comparison.writes import ZnodeWrite
from kcsim.znodes import paths
from tests.conformance.replayed.recording import Recording, Step

OFFSET = 900
"""Ids up to reserved.broker.max.id, 1000, can be given to brokers."""
NODE = "broker-"
_CONTROLLER = re.compile(r"\bcontroller ([0-9]+)\b")


def companion_of(broker: int) -> int:
    return OFFSET + broker


def nodes_of(broker: int) -> tuple[str, str]:
    """Return the nodes of a broker and of its companion."""
    return f"{NODE}{broker}", f"{NODE}{companion_of(broker)}"


def without_companions(played: Recording) -> Recording:
    """Return a run as if each broker had been the controller that its companion was."""
    final = None if played.final is None else {path: _data(path, data) for path, data in played.final.items()}
    return replace(played, steps=tuple(map(_step, played.steps)), final=final)


def _step(step: Step) -> Step:
    controller = None if step.controller is None else _broker(step.controller)
    writes = None if step.writes is None else tuple(_write(write) for write in step.writes if not _is_own(write.path))
    closed = tuple(sorted({*map(_node, step.sessions_closed)}))
    outcome = None if step.outcome is None else {name: _printed(value) for name, value in step.outcome.items()}
    return replace(step, controller=controller, writes=writes, sessions_closed=closed, outcome=outcome)


def _write(write: ZnodeWrite) -> ZnodeWrite:
    return replace(write, by=_node(write.by), data=_data(write.path, write.data))


def _is_own(path: str) -> bool:
    """Return whether a znode is the registration of a companion."""
    number = path.removeprefix(f"{paths.BROKER_IDS}/")
    return number != path and number.isdecimal() and int(number) > OFFSET


def _broker(named: int) -> int:
    return named - OFFSET if named > OFFSET else named


def _node(name: str) -> str:
    number = name.removeprefix(NODE)
    return f"{NODE}{_broker(int(number))}" if number != name else name


def _printed(value: Any) -> Any:
    """Return the lines that a command printed, with the broker in place of the companion that they call the controller."""
    if not isinstance(value, list):
        return value
    return [_CONTROLLER.sub(lambda found: f"controller {_broker(int(found[1]))}", line) for line in value]


def _data(path: str, data: str | None) -> str | None:
    """Return a znode's data, with the broker in place of the companion that /controller names."""
    if path != paths.CONTROLLER or data is None:
        return data
    try:
        found: Mapping[str, Any] = json.loads(data)
        return json.dumps({**found, "brokerid": _broker(found["brokerid"])})
    except (ValueError, KeyError, TypeError):
        return data
