"""The subcommands of kcsim; each imports what it needs only when it is called."""
