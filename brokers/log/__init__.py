"""The log of one replica: records, segments, leader epochs, retention."""
