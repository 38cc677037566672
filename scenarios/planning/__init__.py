"""Plans of reassignments for a snapshot's cluster: goals, the placement with the least bytes moved, batches, rollback."""
