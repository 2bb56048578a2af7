"""megtrim explain: regions and functions, scenarios, the verdict, crashes in the field."""
