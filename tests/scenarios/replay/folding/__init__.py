"""The fold: runs of the simulator once more."""
