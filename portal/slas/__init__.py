"""What a team was promised to wait at most, how often that was kept, and who answers for the rest.

A tier names a target; a dated SLA gives a team one, in one pool or in all. A wait counts from
submission to the first start, that of a job still waiting so far. How fast requests are answered
is promised here too; who asks and who answers is the business of `requests`.
"""
