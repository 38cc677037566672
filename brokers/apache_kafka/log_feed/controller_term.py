"""What a broker's logs have shown so far of its term as controller."""

from dataclasses import dataclass, field

from kcsim.vocabulary import TopicPartition


@dataclass
class ControllerTerm:
    """What a broker's log has shown so far of its term as controller; the readers of both log files share it.

    Attributes:
        epoch: None while the broker is not the controller.
        imbalanced: the broker whose leader imbalance the controller checked last.
        alive: the brokers that the controller considers alive, including those that are shutting down.
        partitions: how many the controller found when it took over.
        shutting_down: the broker whose controlled shutdown the controller is processing.
        deleting: topics whose deletion the controller has started and not completed.
        replica_counts: per partition of which the controller has sent a LeaderAndIsr request.
    """

    epoch: int | None = field(init=False, default=None)
    alive: set[int] = field(init=False, default_factory=set)
    partitions: int = field(init=False, default=0)
    shutting_down: int | None = field(init=False, default=None)
    imbalanced: int | None = field(init=False, default=None)
    deleting: set[str] = field(init=False, default_factory=set)
    replica_counts: dict[TopicPartition, int] = field(init=False, default_factory=dict)

    def begin(self, epoch: int) -> None:
        """Begin a term as controller and discard what is known of an earlier term."""
        self.epoch, self.partitions, self.shutting_down, self.imbalanced = epoch, 0, None, None
        self.alive.clear()
        self.deleting.clear()
        self.replica_counts.clear()
