"""Run the timetable of a scenario on a cluster and evaluate its expectations."""
