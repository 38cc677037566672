"""Why a broker's registration ended: the faults that can be the reason, and what the logs say for and against each.

ZooKeeper expires the session of a broker that is dead, frozen or cut off in the same way. What tells them apart:
- A process that runs, and is cut off, notices: its client of ZooKeeper gives a connection up after two thirds of the session
  time-out, and logs each attempt to reconnect.
- A frozen process logs nothing meanwhile. Once it runs again, the same client reports a silence of far more than that.
- The connections of a process that has ended break, and its port refuses new ones. Those of a frozen process do neither.
- A process that is shut down logs it, and closes its session.

Pure. Source: docs/kafka/logging.md 6; ZooKeeper 3.5 to 3.9, ClientCnxn; recordings in tests/vectors/kafka-incidents.
"""

from dataclasses import dataclass

from kcsim.scenarios.incidents.broker_signs import BrokerSign, SignKind, short_place
from kcsim.scenarios.incidents.findings import FaultCandidate, FaultEvidence, FaultKind, IncidentFinding, by_likelihood
from kcsim.scenarios.incidents.incident_logs import IncidentLogs
from kcsim.scenarios.views.narration.story_words import duration

SOON_MS = 2_000
START_TAKES_MS = 3_000
"""From a process's first lines until it logs that it starts, at most."""
SHUTDOWN_TAKES_MS = 60_000
DEFAULT_SESSION_TIMEOUT_MS = 18_000
SHUTDOWN = (SignKind.TERMINATED, SignKind.SHUTTING_DOWN, SignKind.SHUT_DOWN)
PEERS = (SignKind.PEER_DISCONNECTED, SignKind.PEER_REFUSED)
DISK = (SignKind.DISK_LOST, SignKind.HALTED)


@dataclass(frozen=True, slots=True)
class Registration:
    """One registration of a broker that has ended. Times are ms after the first event.

    Attributes:
        from_ms: when it began; the first event of the logs if that is not in them.
        ended_ms: when ZooKeeper removed it.
        is_expired: whether the session expired; False: it was closed.
        is_exact: whether ended_ms is known; else it is when the end was noticed.
        by_hand: whether the znode alone was deleted.
        back_ms: when the broker registered again; None: not in these logs.
        was_controller: whether the broker was the controller.
        drained: leaders that the controller moved away beforehand.
        session_ms: when its session was created; None: not shown.
        together: how many other brokers' sessions expired at about the same time.
    """

    broker: int
    from_ms: int
    ended_ms: int
    is_expired: bool
    by_hand: bool
    back_ms: int | None
    was_controller: bool
    drained: int
    session_ms: int | None = None
    together: int = 0


class _Look:
    """What the logs have about one registration's end."""

    def __init__(self, lost: Registration, logs: IncidentLogs) -> None:
        self.lost = lost
        self.logs = logs
        self.timeout_ms = logs.session_timeout_ms or DEFAULT_SESSION_TIMEOUT_MS
        self.has_log = lost.broker in logs.server_logs
        self.has_connection_log = lost.broker in logs.connection_logs
        own = [sign for sign in logs.signs if sign.broker == lost.broker]
        self.restart = next(
            (s for s in own if s.kind is SignKind.STARTED and s.t_ms > lost.from_ms), None
        )  # of the next process
        last_ms = max((*logs.lines.get(lost.broker, ()), lost.ended_ms))
        until_ms = self.restart.t_ms - START_TAKES_MS if self.restart else last_ms + 1
        back_ms = until_ms if lost.back_ms is None else lost.back_ms
        self.own = [sign for sign in own if lost.from_ms <= sign.t_ms < until_ms and sign.t_ms <= back_ms]
        self.lines = [t_ms for t_ms in logs.lines.get(lost.broker, ()) if lost.from_ms <= t_ms < until_ms]
        self.peers = [s for s in logs.signs if s.kind in PEERS and s.value == lost.broker and self._is_near(s)]
        self.shutdown = [s for s in self.own if s.kind in SHUTDOWN and s.t_ms < lost.ended_ms + SHUTDOWN_TAKES_MS]
        self.disk = [s for s in self.own if s.kind in DISK]
        self.silences = [s for s in self.own if s.kind is SignKind.SILENCE and s.value >= self.timeout_ms]
        self.reconnects = [
            s for s in self.own if s.kind is SignKind.RECONNECTING and self._is_near(s) and not self._is_late_silence(s)
        ]
        self.lived_on = [t_ms for t_ms in self.lines if t_ms > lost.ended_ms + SOON_MS] if not self.shutdown else []

    def _is_near(self, sign: BrokerSign) -> bool:
        """Return whether a sign can have to do with the end of the session: from two time-outs before it on."""
        return max(self.lost.from_ms, self.lost.ended_ms - 2 * self.timeout_ms) <= sign.t_ms <= self.lost.ended_ms

    def _is_late_silence(self, sign: BrokerSign) -> bool:
        return any(one.place == sign.place for one in self.silences)

    @property
    def last_line_ms(self) -> int | None:
        return max((t_ms for t_ms in self.lines if t_ms <= self.lost.ended_ms), default=None)

    @property
    def others_away(self) -> dict[int, BrokerSign]:
        """Other brokers that lost their connection to ZooKeeper at about that time, each with its first sign."""
        found: dict[int, BrokerSign] = {}
        for sign in self.logs.signs:
            if sign.broker != self.lost.broker and sign.kind is SignKind.RECONNECTING and self._is_near(sign):
                found.setdefault(sign.broker, sign)
        return found


def finding_of(lost: Registration, logs: IncidentLogs) -> IncidentFinding:
    """Return the finding of a registration that ended."""
    look = _Look(lost, logs)
    if lost.by_hand:
        hand = FaultEvidence("the znode was deleted by a session that is not the broker's, which stayed open", True)
        candidates: tuple[FaultCandidate, ...] = (FaultCandidate(FaultKind.UNREGISTERED, (hand,)),)
    else:
        candidates = by_likelihood(
            [of(look) for of in (_stopped, _disk_lost, _killed, _frozen, _cut_off, _zookeeper_away, _ended_by_force)]
        )
    began_ms, began_text = _beginning(look, candidates[0])
    seen = "lost its registration" + (": its session expired" if lost.is_expired else ": its session was closed")
    return IncidentFinding(
        f"broker-{lost.broker}",
        "lost its registration: the znode was deleted" if lost.by_hand else seen,
        began_ms,
        began_text,
        lost.ended_ms,
        _end(look, candidates[0]),
        candidates,
        (lost.broker,),
        lost.was_controller,
        lost.back_ms,
        lost.is_expired,
    )


def _of(sign: BrokerSign, text: str, is_strong: bool = True) -> FaultEvidence:
    return FaultEvidence(text, is_strong, short_place(sign.place))


def _end(look: _Look, likely: FaultCandidate) -> int | None:
    """Return when the fault was over: the process started again, ran again, or was connected again."""
    if look.restart is not None and likely.kind not in (FaultKind.FROZEN, FaultKind.CUT_OFF, FaultKind.ZOOKEEPER_AWAY):
        return look.restart.t_ms
    if likely.kind is FaultKind.FROZEN and look.silences:
        return look.silences[0].t_ms
    return look.lost.back_ms


def _beginning(look: _Look, likely: FaultCandidate) -> tuple[int, str]:
    """Return when the fault happened, and how that is known."""
    timeout_ms, lost = look.timeout_ms, look.lost
    bound_ms = max(lost.from_ms, lost.ended_ms - timeout_ms)
    if likely.kind is FaultKind.STOPPED and look.shutdown:
        return look.shutdown[0].t_ms, f"its own log ({short_place(look.shutdown[0].place)})"
    if likely.kind is FaultKind.DISK_LOST and look.disk:
        return look.disk[0].t_ms, f"its own log ({short_place(look.disk[0].place)})"
    if not lost.is_expired or likely.kind is FaultKind.EXPIRED:
        return lost.ended_ms, "when its session was closed"
    if likely.kind is FaultKind.KILLED and (broken := [s for s in look.peers if s.kind is SignKind.PEER_DISCONNECTED]):
        return broken[0].t_ms, f"connections to it broke ({short_place(broken[0].place)})"
    if likely.kind in (FaultKind.CUT_OFF, FaultKind.ZOOKEEPER_AWAY) and look.reconnects:
        sign = look.reconnects[0]
        heard = [s.value for s in look.own if s.kind is SignKind.SILENCE and s.place == sign.place]
        return sign.t_ms - (heard[0] if heard else 0), f"its own log ({short_place(sign.place)})"
    if look.last_line_ms is not None and look.last_line_ms > bound_ms:
        return look.last_line_ms, "its last line before its session expired"
    return bound_ms, f"a session time-out, {duration(timeout_ms)}, before its session expired; up to a third of it later"


# --- the candidates --------------------------------------------------------------------------------------------------------


def _expired(look: _Look) -> list[FaultEvidence]:
    return [FaultEvidence("its session expired: ZooKeeper heard nothing from it")] if look.lost.is_expired else []


def _not_expired(look: _Look) -> list[FaultEvidence]:
    return [] if look.lost.is_expired else [FaultEvidence("its session was closed by the broker itself", True)]


def _lived(look: _Look) -> list[FaultEvidence]:
    if not look.lived_on:
        return []
    return [FaultEvidence("the same process logged on after its session had ended", True)]


def _refused(look: _Look) -> list[FaultEvidence]:
    """Return that the broker's port was closed: nothing but the end of the process closes it."""
    refused = [sign for sign in look.peers if sign.kind is SignKind.PEER_REFUSED]
    if not refused:
        return []
    return [_of(refused[0], f"broker-{refused[0].broker} could not connect to it before its session expired")]


def _shutdown(look: _Look) -> list[FaultEvidence]:
    return [_of(sign, f"its log: {sign.kind.value}{f' ({sign.detail})' if sign.detail else ''}") for sign in look.shutdown]


def _disk(look: _Look) -> list[FaultEvidence]:
    return [_of(sign, f"its log: {sign.kind.value}: {sign.detail}") for sign in look.disk]


def _stopped(look: _Look) -> FaultCandidate:
    speaks_for = [*_shutdown(look)]
    if not look.lost.is_expired:
        speaks_for.append(
            FaultEvidence("it closed its session, or had asked the controller for a controlled shutdown", True)
        )
    if look.lost.drained:
        speaks_for.append(FaultEvidence(f"the controller had moved the lead of {look.lost.drained} partitions away before"))
    against = (
        [FaultEvidence("its session expired; a broker that shuts down closes it", True)] if look.lost.is_expired else []
    )
    if look.has_log and not look.shutdown:
        against.append(FaultEvidence("its log has no line of a shutdown", look.lost.is_expired))
    return FaultCandidate(FaultKind.STOPPED, speaks_for, against)


def _disk_lost(look: _Look) -> FaultCandidate:
    against = [] if look.disk or not look.has_log else [FaultEvidence("its log names no log directory that failed", True)]
    return FaultCandidate(FaultKind.DISK_LOST, _disk(look), against)


def _killed(look: _Look) -> FaultCandidate:
    speaks_for = [*_expired(look), *_refused(look)]
    if broken := [sign for sign in look.peers if sign.kind is SignKind.PEER_DISCONNECTED]:
        speaks_for.append(_of(broken[0], f"the connection of broker-{broken[0].broker} to it broke", False))
    if look.has_log and not look.lived_on and not look.shutdown:
        what = "and begins again with the start of a process" if look.restart else "and does not go on"
        place = short_place(look.restart.place) if look.restart else None
        speaks_for.append(
            FaultEvidence(f"its log ends without a line of a shutdown, {what}", look.restart is not None, place)
        )
    against = [*_lived(look), *_not_expired(look), *_too_soon(look), *_shutdown(look)]
    against += [FaultEvidence("the process ended itself, because of its disk", True)] if look.disk else []
    return FaultCandidate(FaultKind.KILLED, speaks_for, against)


def _frozen(look: _Look) -> FaultCandidate:
    speaks_for = _expired(look)
    for sign in look.silences[:1]:
        limit = duration(look.timeout_ms * 2 // 3)
        text = f"its client of ZooKeeper should give up after {limit}, and did so only after {duration(sign.value)}"
        speaks_for.append(_of(sign, text))
    speaks_for += [FaultEvidence(one.text) for one in _lived(look)]
    if look.lived_on and look.has_connection_log and not look.reconnects:
        speaks_for.append(FaultEvidence("it logged nothing while its session ran out"))
    if not look.peers and look.logs.server_logs - {look.lost.broker}:
        speaks_for.append(FaultEvidence("no connection of another broker to it broke"))
    against = [*_not_expired(look), *_too_soon(look), *_refused(look), *_shutdown(look), *_disk(look)]
    against += _noticed(look)
    if look.has_log and not look.lived_on and look.restart is not None:
        against.append(FaultEvidence("the process never logged again; another one was started"))
    return FaultCandidate(FaultKind.FROZEN, speaks_for, against)


def _noticed(look: _Look) -> list[FaultEvidence]:
    if not look.reconnects:
        return []
    times = f"{len(look.reconnects)} times" if len(look.reconnects) > 1 else "once"
    text = f"it noticed in time that it had no connection to ZooKeeper, and tried to reconnect ({times} before the end)"
    return [_of(look.reconnects[0], text)]


def _cut_off(look: _Look) -> FaultCandidate:
    speaks_for = [*_expired(look), *_noticed(look)]
    speaks_for += [FaultEvidence(one.text) for one in _lived(look)]
    against = [*_not_expired(look), *_too_soon(look), *_refused(look), *_shutdown(look), *_disk(look)]
    if look.has_connection_log and not look.reconnects:
        against.append(FaultEvidence("it did not try to reconnect before its session ended", True))
    others = look.logs.connection_logs - {look.lost.broker}
    if others and len(look.others_away) * 2 > len(others):
        against.append(FaultEvidence("other brokers lost ZooKeeper at the same time", True))
    return FaultCandidate(FaultKind.CUT_OFF, speaks_for, against)


def _too_soon(look: _Look) -> list[FaultEvidence]:
    """Return that the session ended sooner than it can have expired, if it did."""
    if look.logs.session_timeout_ms is None or look.lost.session_ms is None or not look.lost.is_expired:
        return []
    lasted_ms = look.lost.ended_ms - look.lost.session_ms
    if lasted_ms >= look.timeout_ms:
        return []
    return [FaultEvidence(f"its session lasted {duration(lasted_ms)}, less than its time-out", True)]


def _ended_by_force(look: _Look) -> FaultCandidate:
    return FaultCandidate(FaultKind.EXPIRED, _too_soon(look), [*_not_expired(look), *_shutdown(look)])


def _zookeeper_away(look: _Look) -> FaultCandidate:
    others = look.logs.connection_logs - {look.lost.broker}
    away = look.others_away
    speaks_for = _noticed(look) if away else []
    if look.lost.together:
        speaks_for.append(FaultEvidence(f"the sessions of {look.lost.together} other brokers expired at the same time"))
    speaks_for += [_of(sign, f"broker-{broker} lost its connection, too", False) for broker, sign in sorted(away.items())]
    against = [*_not_expired(look), *_too_soon(look), *_shutdown(look), *_disk(look), *_refused(look)]
    if others and len(away) * 2 <= len(others):
        against.append(FaultEvidence("most other brokers kept their connections to ZooKeeper", True))
    if look.has_connection_log and not look.reconnects:
        against.append(FaultEvidence("it did not try to reconnect before its session ended", True))
    return FaultCandidate(FaultKind.ZOOKEEPER_AWAY, speaks_for, against)
