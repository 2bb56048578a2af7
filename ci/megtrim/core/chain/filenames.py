"""Names of the files that one stage leaves and others read."""

import re

TRACE_FILE = "trace.txt"
CACHE_FILE = "algo.cache"
REGIONS_FILE = "regions.txt"
KEEP_SET_FILE = "keepset.json"
FUNCTIONS_FILE = "functions.txt"
BLOCKS_FILE = "blocks.txt"
DROPPED_FILE = "dropped-{target}.txt"
SIZES_FILE = "sizes.json"
BYTE_TABLES_FILE = "byte-tables.json"
VERDICT_FILE = "verdict.json"
PAGE_FILE = "index.html"
REPORT_FORMS = {"junit": "junit.xml", "markdown": "report.md", "html": PAGE_FILE}
"""The file of each form of the report."""
FINAL_FOLDER = "final"
WORK_FOLDER = "work"
"""Holds build trees, each guarded by a lock of its name."""
RUNS_FOLDER = "runs"
SYSROOTS_FOLDER = "sysroots"
AGAINST_FILE = "against.json"
PASS_FOLDER = "passes"
"""Holds the sizes of trims in a folder of results that passed, and what they were made of."""
PASS_FILE = re.compile(r"[0-9]{8}(?:\.made-of)?\.json", re.ASCII)
FORMER_PASS_FILES = ("last-pass.json", "pass-before.json")
"""What an earlier megtrim left in its place, the newest first."""
