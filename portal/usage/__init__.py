"""The ledger: append-only facts of who held which GPUs from when to when.

Intervals are closed, cut on a fixed 5-minute UTC grid, and never edited: a correction is two more
rows. No prices, no Kubernetes.
"""
