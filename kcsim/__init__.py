"""A simulation of Kafka's control plane with a controller elected through ZooKeeper.

The controller's decisions are real; ZooKeeper is real or modelled; the brokers are simulated.
"""
