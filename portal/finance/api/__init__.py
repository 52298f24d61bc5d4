"""Money at /api/v1: months, statements, rate cards, budgets and the reconciliation."""
