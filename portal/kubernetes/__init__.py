"""The cluster behind one port: what is wanted is written, what is there is read.

`port` is the contract, `manifests` and `diff` are pure, `simulated` is a cluster that lives in a
file. No decisions here: targets come from the last tick, facts go to `workloads` and `usage`.
"""
