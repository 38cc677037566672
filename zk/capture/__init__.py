"""Events from ZooKeeper's transactions: from a live server's log, from replies to clients, from a stopped server's files."""
