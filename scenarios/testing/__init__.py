"""The objects that the pytest plugin's fixtures return, for tests of anything that elects or locks through ZooKeeper.

The code is plain and blocking: the tests that use it have no event loop. Only pytest_plugin.py imports pytest.
"""
