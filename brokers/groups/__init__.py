"""Consumer groups: who consumes which partition. Pure functions, from members and partition counts to an assignment."""
