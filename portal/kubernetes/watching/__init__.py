"""A cluster kept in sight: list once, then watch, and put every change into the rows within a second.

`source` asks the API server, `streams` follow one kind each and never lose their place,
`trimming` keeps of an object what somebody reads, `store` knows what is there now and whose rows
a change touches, `recording` brings those rows in step, and `watcher` is the loop around them.
State is compared, never events: a line that is lost, doubled or late changes nothing.
"""
