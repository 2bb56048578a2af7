"""The digest that names a commit of git, of SHA-1 or of SHA-256. Pure."""

from __future__ import annotations

import re

COMMIT_DIGEST = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
