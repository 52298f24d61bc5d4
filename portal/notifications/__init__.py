"""What reaches people: inbox, e-mail, signed webhooks, chat.

Facts are handed over by the audit chain: a service writes its line in the transaction of its
change, and `services.spread` reads the lines that are new, in order, exactly once. So no room has
to remember to notify, nothing told can differ from what was done, and a fact is never lost with a
process. `kinds` says which lines concern whom. What leaves the portal goes by `common.outbox`.
"""
