"""A model of ZooKeeper 3.9: exact in everything a client can observe, deterministic, and fast enough for large clusters.

The core is pure: `paths`, `tree`, `ephemerals`, `watches`, `sessions` and `server` turn a request and a time into a reply
and its effects; `members` determines the leader. Around this core, `timetable`, `connection`, `service`, `session` and
`client` deliver messages in the time of any Runtime, and let connections, clients and members fail.

Left out: ACLs (except that /zookeeper/config is read-only), quotas, TTL and container znodes, reconfig, jute.maxbuffer, and
the reads of a follower that lags behind its leader: all members answer from one tree.
Checked against ZooKeeper 3.9.5.
"""
