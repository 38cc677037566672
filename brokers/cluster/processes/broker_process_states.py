"""The states of a broker's process in the system, as its cluster sees them, and the table of what changes them."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from kcsim.eventlog.run_actions import ClusterError


class BrokerProcessState(Enum):
    """The values of RUNNING, PAUSED, STOPPED and DEAD are those of the event log; the others are not reported."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"  # SIGTERM is sent: the controlled shutdown has begun
    STOPPED = "stopped"  # never started, or ended in an orderly way
    DYING = "dying"  # about to be killed
    DEAD = "dead"  # killed, or ended by itself


class BrokerProcessInput(Enum):
    """What happens to a process, by an action on its cluster or by itself."""

    START = "started"
    PAUSE = "paused"
    RESUME = "resumed"
    STOP = "stopped"
    STOP_TIMEOUT = "late to stop"  # it has not ended in time after SIGTERM, and is left as it is
    KILL = "killed"
    EXIT = "gone"
    CLOSE = "closed"  # at the end of the run, whatever its state


_S, _I = BrokerProcessState, BrokerProcessInput

BROKER_PROCESS_TRANSITIONS: Mapping[tuple[BrokerProcessState, BrokerProcessInput], BrokerProcessState] = MappingProxyType(
    {
        (_S.STOPPED, _I.START): _S.RUNNING,
        (_S.DEAD, _I.START): _S.RUNNING,
        (_S.RUNNING, _I.PAUSE): _S.PAUSED,
        (_S.STOPPING, _I.PAUSE): _S.PAUSED,  # at a breakpoint in a write of its controlled shutdown
        (_S.PAUSED, _I.RESUME): _S.RUNNING,
        (_S.RUNNING, _I.STOP): _S.STOPPING,
        (_S.STOPPING, _I.STOP_TIMEOUT): _S.RUNNING,
        (_S.PAUSED, _I.STOP_TIMEOUT): _S.PAUSED,
        (_S.RUNNING, _I.STOP_TIMEOUT): _S.RUNNING,
        (_S.RUNNING, _I.KILL): _S.DYING,
        (_S.PAUSED, _I.KILL): _S.DYING,
        (_S.STOPPING, _I.KILL): _S.DYING,  # at a breakpoint in a write of its controlled shutdown
        (_S.RUNNING, _I.EXIT): _S.DEAD,
        (_S.PAUSED, _I.EXIT): _S.DEAD,
        (_S.STOPPING, _I.EXIT): _S.STOPPED,
        (_S.DYING, _I.EXIT): _S.DEAD,
        (_S.STOPPED, _I.EXIT): _S.STOPPED,  # killed while the run ended
        **{(state, _I.CLOSE): _S.STOPPED for state in BrokerProcessState},
    }
)


class IllegalBrokerProcessTransitionError(ClusterError):
    """An input for which a broker's process in its present state has no transition."""

    def __init__(self, state: BrokerProcessState, given: BrokerProcessInput) -> None:
        super().__init__(f"a broker's process that is {state.value} cannot be {given.value}")
        self.state, self.given = state, given


def next_broker_process_state(state: BrokerProcessState, given: BrokerProcessInput) -> BrokerProcessState:
    """Return the state after an input. Raises: IllegalBrokerProcessTransitionError."""
    try:
        return BROKER_PROCESS_TRANSITIONS[state, given]
    except KeyError:
        raise IllegalBrokerProcessTransitionError(state, given) from None
