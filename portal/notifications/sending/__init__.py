"""Ways out: e-mail, signed webhooks, chat. Each takes a message or says why it did not.

What `common.outbox` delivers with; no database but for the address and the secret of a hook.
"""
