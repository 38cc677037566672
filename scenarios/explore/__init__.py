"""Random scenarios from seeds: generate, run, judge and shrink them, and measure which parts of the system they reach."""
