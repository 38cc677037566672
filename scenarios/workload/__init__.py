"""What clients write in a run, and what became of it: producers, and the ledger of every record."""
