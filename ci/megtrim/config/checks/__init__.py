"""Checks that cross the keys of megtrim.yaml: references, files, keys that fit each other."""
