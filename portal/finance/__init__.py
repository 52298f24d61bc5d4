"""Money: dated rate cards, and statements that add up to the pool's cost.

Everything is computed from the ledger and dated rows; nothing here measures use.
"""
