"""What reports show of sizes: tables, budgets, growth and maps."""
