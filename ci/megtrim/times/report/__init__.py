"""What reports show of times: tables, pictures, properties of tests, issues."""
