"""The fold of a partition's history with the controller's own decisions. Pure: no Spark in here."""
