"""Hardening: what the controller does beyond Kafka so that it survives faulty znodes and requests that cannot be fulfilled.

It is off unless a cluster switches it on, because the simulator shows what Kafka does. Each field is one decision, and the
code asks for that decision by its name. docs/reference/hardening.md has the faults, and what hardening changes in each of
them.
"""

from typing import NamedTuple


class Hardening(NamedTuple):
    """The decisions of a hardened controller and of its brokers. Each is False in Kafka.

    Attributes:
        quarantines_znodes: a znode that cannot be read or used is left alone and reported, and everything else is served
            (quarantine.py).
        owns_role_by_session: /controller belongs to the broker whose session created it, whatever its content is.
        stands_while_there_is_none: a broker that finds no /controller stands for election, whichever event it processes.
        keeps_controller_epoch: a controller epoch is higher than every one that the broker has seen, and a controller whose
            fence was broken by hand has another election held.
        isolates_failures: the failure of one partition or topic ends neither a failover nor the work on the others, and a
            failed change leaves no requests behind.
        checks_reassignments: a reassignment that cannot be completed, or that would take away the last live member of the
            ISR, is refused; where it takes away the leader, another is elected.
        deletion_ends_reassignments: the deletion of a topic ends the reassignments of its partitions.
        watches_requests: the deletion of a request in /admin is noticed, so that the next request is, too.
        restores_states: a state znode that is missing is written again from what the controller knows; one that was left
            over is taken over; and a leader epoch that a broker refuses as too low is raised.
        repairs_isrs: members that are no replicas, or are named twice, do not count in an ISR, and leave it.
        deletes_replicas_late: a broker that was not there when its replica was removed deletes it when it is back.
        registers_again: a broker whose registration was deleted registers again.
        ends_pending_isr_changes: a leader whose ISR could not be written because a session ended, its own or the
            controller's, tries again; and a controller whose write of an ISR got no answer recognises it as its own.
        stops_leading: a broker that learns that nobody may lead stops leading.
    """

    quarantines_znodes: bool
    owns_role_by_session: bool
    stands_while_there_is_none: bool
    keeps_controller_epoch: bool
    isolates_failures: bool
    checks_reassignments: bool
    deletion_ends_reassignments: bool
    watches_requests: bool
    restores_states: bool
    repairs_isrs: bool
    deletes_replicas_late: bool
    registers_again: bool
    ends_pending_isr_changes: bool
    stops_leading: bool


NOT_HARDENED = Hardening(*(False for _ in Hardening._fields))
HARDENED = Hardening(*(True for _ in Hardening._fields))
