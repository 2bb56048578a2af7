"""Fault injection: what can go wrong with a phone, and a relay that makes it happen in time."""
