"""The language of scenario files: what can be said in one, and what is said of it when it is wrong."""
