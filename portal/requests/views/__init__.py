"""Pages of the room: Reserve and the quota form, the inbox, one request and its moves."""
