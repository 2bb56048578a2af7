"""Pools of machines: who gets which one, what happens to one that fails, what is remembered."""
