"""Compares times of processes: samples, pairs, intervals, and when to stop.

Pure: nothing here starts a program or reads a clock.
"""
