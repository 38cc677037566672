"""The registry of steps: for every step of a timetable one entry, with all that is particular to it."""
