"""Consumer groups: who consumes which partition, and who is in the group.

The two know little of each other. The assignors are pure functions from members and partition counts to an assignment; a
member of the group uses them. The coordinator (coordinator.py), on the broker that leads the group's partition of
__consumer_offsets, keeps members and generations and never looks into an assignment.

The assignors' answers are those of Apache Kafka 2.8.2's own classes, the order of Java's hash tables included. On purpose
they differ where Kafka's are wrong:

- a partition does not go back to a former owner that no longer subscribes to its topic (Kafka gives it back, or fails);
- a general sticky rebalance that would go round in circles comes to an end (Kafka's does not return);
- a claim on a partition that its topic no longer has is dropped (by quota, Kafka looks at the topic only);
- a member that subscribes to nothing gets nothing (by quota, Kafka may count it among the others).
"""
