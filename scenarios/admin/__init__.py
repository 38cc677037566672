"""What people do to a cluster through ZooKeeper, as Kafka's own tools do it: the same reads, refusals and znodes.

Functions on a KafkaZk, in either world; what a tool prints of it is the business of the *_text modules here.
"""
