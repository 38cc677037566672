"""How the controller processes its events, one family a file."""
