"""Jobs: what they asked for, the stages they went through, and the intervals they hold GPUs now.

Open intervals live here; closed ones go to `usage`. Nothing here decides or talks to a cluster.
"""
