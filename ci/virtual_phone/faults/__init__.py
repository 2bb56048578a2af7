"""Fault injection: what can go wrong with a phone, and a relay that sees when it is to happen."""
