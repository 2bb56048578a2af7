"""``megtrim devices``: list, check, clean, quarantine and use machines."""
