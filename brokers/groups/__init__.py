"""Consumer groups: which members a group has, and which member consumes which partition.

The two halves hardly depend on each other. The assignors are pure functions from members and partition counts to an
assignment; a member of the group (its leader) calls them. The coordinator (coordinator.py), on the broker that leads the
group's partition of __consumer_offsets, keeps members and generations and never inspects an assignment.

The assignors compute what the classes of Apache Kafka 2.8.2 compute, including the iteration order of Java's hash tables.
They deliberately differ where Kafka's are wrong:

- a partition does not go back to a former owner that no longer subscribes to its topic (Kafka gives it back, or fails);
- a general sticky rebalance that would cycle for ever ends (Kafka's does not return);
- a claim on a partition that its topic no longer has is dropped (by quota, Kafka looks at the topic only);
- a member that subscribes to nothing gets nothing (by quota, Kafka may count it among the others).
"""
