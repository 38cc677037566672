"""Assignors: pure functions from members and partition counts to an assignment."""
