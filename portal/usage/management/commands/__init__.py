"""Doors on the command line."""
