"""The lessons that come with the simulator, in the order of the course; test_course.py compares it with the files."""

NAMES = [
    "controller-election",
    "watches",
    "leaders-and-isr",
    "unclean-election",
    "controlled-shutdown",
    "reassignment",
    "deletion",
    "zombie-controller",
    "session-states",
    "consumer-rebalances",
    "leader-epochs",
    "total-loss",
    "elections-without-end",
]
