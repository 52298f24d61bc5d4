"""What people ask, who agrees, and the change it makes once approved.

Feasibility and price before asking, the thread of one request, and the pages where a lead
reserves and an admin decides. The change itself is made by the room it belongs to.
"""
