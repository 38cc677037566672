"""The rules of the controller's decisions, as the event log's column `rule` has them; election.py has those of elections.

A history that is generated without a controller takes the same words from here.
"""

from enum import StrEnum


class DecisionRule(StrEnum):
    """A rule of the controller. The value is the sentence in the event log."""

    OFFLINE_LEAVES_ISR = "a replica that goes offline leaves the ISR, one leader epoch later"
    LAST_STAYS_IN_ISR = "the last member stays in the ISR, so that it is known who has the data, but leads no more"
    NEW_REPLICAS_NEW_EPOCH = "a changed replica list needs a new leader epoch, or brokers would not take it in"
    BROKERS_COMPARED = "started: new ids; stopped: ids gone; bounced: same id, higher broker epoch"
    CONTROLLER_EXISTS = "/controller exists: stop"
    ELECTION_APPLIED = "the multi that creates /controller and raises /controller_epoch was applied"
    ELECTION_REFUSED = "/controller or /controller_epoch changed first: the multi was refused"
