"""The What-if lab: the same jobs under the terms of today and with one thing changed.

Inside: uploaded traces, studies and their outcomes; what can be changed, how jobs are drawn anew
for each seed, when a difference is called real, and the process a study runs in. Never inside: a
rule that decides who starts (that is `scheduler_core`, asked through `scheduling.trials`), and any
change to what production follows: a study writes nothing but its own rows.

Who may what: an admin of the organisation runs, names, shares and deletes. Auditors read all.
A study shared with a team is read by whoever works in it or above; it holds sums by team, which
are open to the organisation, and no job and no person. What things cost is shown to those who may
see the costs of that team.

A study runs in a process of its own with a limit on time and memory, started by whoever hears of
it first; rows are the queue. Each replay that is done stands in a row, so a study whose process
died goes on where it was, and is given up after a few deaths.
"""
