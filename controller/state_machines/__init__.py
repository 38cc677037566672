"""The state machines of partitions and replicas: each change of state, with its znodes, requests and elections."""
