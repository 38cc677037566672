"""The processing of the controller's events, one family of events per file."""
