"""What would have happened: traces replayed through the engine, and the report about it.

Belongs here: events and their order, the placement study, the figures of a report. Does not belong
here: any rule that decides who starts (that is the planner's, and shared), reading of files.

The ways in, each a module: `scenario` (a trace made into a cluster and its work), `running` (replay
it), `whatif` (replay on from a snapshot), `forecast` (when waiting work will start), `study` (the
placement study), `report` and `writing` (the figures, as JSON and CSV). `counted` is a short cut of
`live`, the planner as the one who decides; tests hold the two equal.
"""
