"""The times in a log of ``load_and_run``: its lines, and a strict reader of whole logs."""
