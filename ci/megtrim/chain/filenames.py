"""Names of the files that one stage leaves and others read."""

from __future__ import annotations

TRACE_FILE = "trace.txt"
CACHE_FILE = "algo.cache"
REGIONS_FILE = "regions.txt"
KEEP_SET_FILE = "keepset.json"
FUNCTIONS_FILE = "functions.txt"
DROPPED_FILE = "dropped-{target}.txt"
SIZES_FILE = "sizes.json"
BYTE_TABLES_FILE = "byte-tables.json"
VERDICT_FILE = "verdict.json"
FINAL_FOLDER = "final"
