"""Sends bills, from one of several workers, and takes goods from a stock that all of them share."""
