"""What all views read from an event log: points in time, ranges of events, notable events, changes of the state."""
