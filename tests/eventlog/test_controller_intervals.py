"""When a broker works as the controller, and when none does."""

import json
from collections.abc import Callable

import pytest

from kcsim.eventlog.cluster_state import READY_STEP
from kcsim.eventlog.controller_intervals import controller_intervals
from kcsim.eventlog.events import EventKind
from tests.eventlog.synthetic_log import SyntheticLog


class ControllerLog(SyntheticLog):
    """A log in which brokers become controllers; each event is 100 ms after the previous one."""

    def elect(self, broker: int, epoch: int) -> None:
        """Append the election of a broker: three events."""
        data = json.dumps({"version": 1, "brokerid": broker, "timestamp": "0"})
        self.znode("/controller", data, ephemeral=True)
        if epoch == 1:
            self.znode("/controller_epoch", "1")
        else:
            self.changed("/controller_epoch", str(epoch), zxid=epoch, zk_version=epoch - 1)
        fields = {"controller_id": broker, "controller_epoch": epoch}
        self.append(f"broker-{broker}", EventKind.ELECTION_WON, **fields, controller_epoch_zk_version=epoch - 1)  # type: ignore[arg-type]

    def ready(self, broker: int) -> None:
        self.append(f"broker-{broker}", EventKind.CONTROLLER_FAILOVER, step=READY_STEP)

    def state_of(self, broker: int, state: str) -> None:
        self.append(f"broker-{broker}", EventKind.PROCESS_STATE, state=state)

    def link_of(self, broker: int, state: str) -> None:
        self.append(f"broker-{broker}", EventKind.SESSION_STATE, session_id="0x1", state=state)

    @property
    def found(self) -> list[tuple[int | None, int | None, int, int, bool]]:
        intervals = controller_intervals(self.events)
        return [(i.broker, i.epoch, i.from_ms, i.until_ms, i.is_over) for i in intervals]


@pytest.fixture
def log() -> ControllerLog:
    """Return a log in which broker 1 works as the controller from 300 ms on."""
    log = ControllerLog()
    log.elect(1, epoch=1)
    log.ready(1)
    return log


def test_the_time_before_the_first_controller_is_no_interval(log: ControllerLog) -> None:
    """A winner of an election works once it is ready: until then the brokers have been sent nothing."""
    log.state_of(2, "running")
    assert log.found == [(1, 1, 300, 400, False)]


def test_a_dead_controller_works_no_more_though_controller_still_names_it(log: ControllerLog) -> None:
    log.state_of(1, "dead")  # 400 ms
    log.gone("/controller")
    log.elect(2, epoch=2)
    log.ready(2)  # 900 ms
    assert log.found == [(1, 1, 300, 400, True), (None, None, 400, 900, True), (2, 2, 900, 900, False)]


Interruption = Callable[[ControllerLog, str], None]


@pytest.mark.parametrize(
    ("interrupt", "to", "back"),
    [
        (lambda log, state: log.state_of(1, state), "paused", "running"),
        (lambda log, state: log.link_of(1, state), "suspended", "connected"),
    ],
    ids=["frozen", "cut off"],
)
def test_a_controller_that_cannot_act_works_again_when_it_can(
    log: ControllerLog, interrupt: Interruption, to: str, back: str
) -> None:
    interrupt(log, to)  # 400 ms
    interrupt(log, back)  # 500 ms
    log.append("scenario", EventKind.RUN_ENDED)
    assert log.found == [(1, 1, 300, 400, True), (None, None, 400, 500, True), (1, 1, 500, 600, False)]


def test_a_controller_whose_fence_is_invalid_does_not_work(log: ControllerLog) -> None:
    """Every write of it is refused, since somebody else has written /controller_epoch."""
    log.changed("/controller_epoch", "1", zxid=7, zk_version=1)  # 400 ms
    log.append("scenario", EventKind.RUN_ENDED)
    assert log.found == [(1, 1, 300, 400, True), (None, None, 400, 500, False)]


def test_a_winner_that_never_completes_its_failover_ends_no_interval(log: ControllerLog) -> None:
    log.append("broker-1", EventKind.CONTROLLER_RESIGNED, controller_epoch=1)  # 400 ms
    log.elect(2, epoch=2)
    log.append("broker-2", EventKind.CONTROLLER_RESIGNED, controller_epoch=2)  # 800 ms
    assert log.found == [(1, 1, 300, 400, True), (None, None, 400, 800, False)]
