"""What reports show of sizes: tables, budgets, growth, maps and trends."""
