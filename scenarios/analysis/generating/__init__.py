"""Generated histories of clusters of any size, from a seed."""
