"""Pages of cost: months, statements, rates, budgets, use, and what finance does to them."""
