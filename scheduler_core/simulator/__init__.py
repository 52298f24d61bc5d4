"""What would have happened: traces replayed through the engine, and the report about it.

Belongs here: events and their order, the placement study, the figures of a report. Does not belong
here: any rule that decides who starts (that is the planner's, and shared), reading of files.
"""
