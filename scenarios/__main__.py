"""python -m kcsim.scenarios: the command kcsim, where its script is not on the PATH."""

from kcsim.scenarios.cli.main import main

main()
