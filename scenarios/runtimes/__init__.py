"""The Runtime port's adapters: virtual time under SimPy, the wall clock under asyncio."""
