"""The views in which a partition can be served or not. Nothing else, so that it costs nothing to import."""

from enum import StrEnum


class OutageView(StrEnum):
    """Whose view decides that a partition is not served (outages.py)."""

    CLIENTS = "clients"
    ZOOKEEPER = "zookeeper"
