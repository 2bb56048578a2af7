"""Budgets in reports: what each limit allows, what is used, what is left."""
