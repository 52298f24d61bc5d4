"""What a team is promised and may use at most in a pool, from when to when.

Dated rows: a change closes one and opens the next. Capacity is promised only through
`inventory.services.commit`; asking and approving happen in `requests`.
"""
