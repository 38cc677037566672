"""Names of nodes in the event log."""


def consumer_node(name: str) -> str:
    """Return a consumer's node name in the event log."""
    return f"consumer-{name}"
