"""A model of ZooKeeper 3.9: exact where a client can tell, deterministic, and fast enough for large simulated clusters.

The core is pure: `paths`, `tree`, `ephemerals`, `watches`, `sessions` and `server` turn a request and a time into a reply
and what follows from it; `members` says who leads. Around it, `timetable`, `connection`, `service`, `session` and `client`
carry messages through the time of any Runtime, and let connections, clients and members fail.

Left out: ACLs (but that /zookeeper/config is read-only), quotas, TTL and container znodes, reconfig, jute.maxbuffer, and
the reads of a follower that lags behind its leader: all members answer from one tree.
Checked against ZooKeeper 3.9.5.
"""
