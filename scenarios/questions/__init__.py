"""Questions that need no cluster: who gets which replica, who consumes what."""
