"""Safety of what ZooKeeper and the brokers hold: epochs, leaders, ISRs.

Each function yields what the latest event has broken.
"""

from collections.abc import Iterator, Sequence

from kcsim.brokers.invariants.history import RunHistory, broker_of, partition_of
from kcsim.brokers.invariants.invariant import Invariant, always
from kcsim.eventlog.events import ZNODE_CHANGES, EventKind

MOST_ELECTIONS_IN_A_ROW = 10
"""One fault leads to two or three elections at most, since an elected broker may be the one that is cut off."""
ACTS_OF_CONTROLLERS = frozenset({EventKind.ELECTION_WON, EventKind.CONTROLLER_FAILOVER, EventKind.REQUEST_SENT})
ROLE_CHANGES = frozenset({EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER})


# --- controllers -----------------------------------------------------------------------------------------------------------


def controller_epochs_have_no_gap(history: RunHistory) -> Iterator[str]:
    """Each election raises /controller_epoch by one, and nothing else changes it."""
    if history.epoch_write is None:
        return
    before, after = history.epoch_write.before, history.epoch_write.after
    if after is None or (before is not None and after != before + 1):
        yield f"/controller_epoch is {history.latest.data or 'gone'} after {before}"


def one_controller_acts_in_each_controller_epoch(history: RunHistory) -> Iterator[str]:
    """At most one broker wins a controller epoch, once, and no other broker takes over or sends requests in it."""
    event = history.latest
    if event.controller_epoch is None:
        return
    winner = history.winners.get(event.controller_epoch)
    if event.kind is EventKind.ELECTION_WON:
        if winner is not event and winner is not None:
            yield f"{event.node} won epoch {event.controller_epoch}, as {winner.node} had"
    elif winner is not None and winner.node != event.node:
        what = event.event or event.step or "something"
        yield f"{event.node} does {what} in epoch {event.controller_epoch}, which {winner.node} has won"


def fenced_writes_are_of_the_controller_in_office(history: RunHistory) -> Iterator[str]:
    """What a former controller still has in hand comes to nothing: /controller_epoch has moved on."""
    event = history.latest
    fence = None if event.cause is None else history.fences.get(event.cause)
    if fence is not None and fence != history.epoch_version:
        yield f"{event.path} was written under version {fence} of /controller_epoch, it was {history.epoch_version}"


def elections_come_to_an_end(history: RunHistory) -> Iterator[str]:
    """Controllers are not elected again and again while nothing is done to the cluster and no broker comes or goes."""
    if history.elections_in_a_row == MOST_ELECTIONS_IN_A_ROW + 1:
        epoch = history.latest.controller_epoch
        yield f"controller epoch {epoch} is won, the {history.elections_in_a_row}th since anything has happened"


# --- partitions ------------------------------------------------------------------------------------------------------------


def epochs_never_go_back(history: RunHistory) -> Iterator[str]:
    """A partition's leader epoch and the epoch of the controller that decided only grow, while it exists."""
    write = history.write
    if write is None or write.before is None:
        return
    before, after = write.before.leader_and_isr.leader_epoch, write.after.leader_and_isr.leader_epoch
    if after < before:
        yield f"{write}, which was {before}"
    if write.after.controller_epoch < write.before.controller_epoch:
        yield f"{write}, by controller epoch {write.after.controller_epoch} after {write.before.controller_epoch}"


def one_leader_for_each_leader_epoch(history: RunHistory) -> Iterator[str]:
    """A leader epoch has one leader: another leader, or none, comes with a new leader epoch."""
    write = history.write
    if write is None:
        return
    of = write.after.leader_and_isr
    first = history.first_leaders[write.tp, write.life, of.leader_epoch]
    if first != of.leader:
        yield f"{write}; {first} led it in this epoch"


def leaders_are_in_the_isr(history: RunHistory) -> Iterator[str]:
    """A leader is in the ISR, and the ISR of a partition that has a state is never empty."""
    write = history.write
    if write is not None:
        of = write.after.leader_and_isr
        if not of.isr or (of.leader is not None and of.leader not in of.isr):
            yield str(write)


def clean_leaders_come_from_the_isr(history: RunHistory) -> Iterator[str]:
    """No leader is elected from outside the former ISR, unless the election is recorded as unclean."""
    write = history.write
    if write is None or write.before is None:
        return
    of, isr = write.after.leader_and_isr, write.before.leader_and_isr.isr
    if of.leader is not None and of.leader not in isr and not history.losses.is_unclean(write.tp, of):
        yield f"{write}, who was not in the ISR {list(isr)}"


def isr_members_have_been_replicas(history: RunHistory) -> Iterator[str]:
    """A member of an ISR is, or was, one of the partition's replicas: a reassignment may remove the replica first."""
    write = history.write
    if write is None or write.tp not in history.hosts:
        return
    foreign = [broker for broker in write.after.leader_and_isr.isr if broker not in history.hosts[write.tp]]
    if foreign:
        yield f"{write}, of which {foreign} have never been replicas"


# --- brokers ---------------------------------------------------------------------------------------------------------------


def brokers_lead_only_what_was_decided(history: RunHistory) -> Iterator[str]:
    """A broker becomes leader only in a leader epoch that the partition's state gave to it."""
    event = history.latest
    tp = partition_of(event)
    if tp is None:
        return
    epoch = event.leader_epoch or 0
    if broker_of(event.node) not in history.leaders.get((tp, epoch), ()):
        yield f"{event.node} leads {tp} in epoch {epoch}, which no state gave to it"


def brokers_take_no_older_leader_epoch(history: RunHistory) -> Iterator[str]:
    """A broker starts to lead or follow a partition only with a later leader epoch than the one it knows."""
    event, before = history.latest, history.role_before
    if before is not None and (event.leader_epoch or 0) <= before.leader_epoch:
        yield f"{event.node} takes {partition_of(event)} in epoch {event.leader_epoch} after {before.leader_epoch}"


SAFETY_OF_THE_CLUSTER: Sequence[Invariant] = (
    always(controller_epochs_have_no_gap, ZNODE_CHANGES),
    always(one_controller_acts_in_each_controller_epoch, ACTS_OF_CONTROLLERS),
    always(fenced_writes_are_of_the_controller_in_office, ZNODE_CHANGES),
    always(elections_come_to_an_end, {EventKind.ELECTION_WON}),
    always(epochs_never_go_back, ZNODE_CHANGES),
    always(one_leader_for_each_leader_epoch, ZNODE_CHANGES),
    always(leaders_are_in_the_isr, ZNODE_CHANGES),
    always(clean_leaders_come_from_the_isr, ZNODE_CHANGES),
    always(isr_members_have_been_replicas, ZNODE_CHANGES),
    always(brokers_lead_only_what_was_decided, {EventKind.BECAME_LEADER}),
    always(brokers_take_no_older_leader_epoch, ROLE_CHANGES),
)
