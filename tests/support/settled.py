"""Imported last by the server that megtrim is forked from in tests: what is loaded stays."""

from support import heap

heap.settle()
