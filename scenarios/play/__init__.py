"""A cluster on a page that can be acted on: a run in virtual time that waits for its spectators, and the page's server."""
