"""Surfaces show turns to people. A surface reads only entries and views."""
