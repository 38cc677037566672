"""Histories that were not made here: read from other systems' files into an event log of ours."""
