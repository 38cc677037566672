"""Time, tasks and mailboxes: the Runtime port, and its adapters for virtual time (SimPy) and the wall clock (asyncio)."""
