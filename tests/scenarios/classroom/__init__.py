"""Tests of lessons on pages, alone and with a class."""
