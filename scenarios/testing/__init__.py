"""For tests of anything that elects or locks through ZooKeeper: what the pytest plugin's fixtures hand out.

Plain, blocking code: the tests that use it have no event loop. pytest itself is known to pytest_plugin.py alone.
"""
