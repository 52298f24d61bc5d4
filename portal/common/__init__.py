"""Plumbing every room stands on: audit, clock, leases, errors, money, time zones, API conventions.

No subject matter belongs here: nothing in this room knows what a team or a GPU is. Every other
room may enter; this room enters none.
"""
