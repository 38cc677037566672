"""The tables that all of this reads and writes: their columns, how they are read and written, and the session."""
