"""Questions about a real cluster, answered by the controller itself in a simulated cluster in the state of a snapshot."""
