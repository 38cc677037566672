"""The subcommands of kcsim. Each subcommand imports what it needs only when it is called."""
