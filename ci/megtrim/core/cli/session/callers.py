"""Workflows that call the kit: what ``megtrim init`` is asked about them, and what it plans."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from megtrim.core.cli.session.starter import Content
from megtrim.libs.util.value import Value


class CallerRequest(Value):
    config: Path
    toolchain: str
    """Its kind, if the configuration is yet to be written; empty: it is there."""
    github: bool
    """Otherwise GitLab."""
    release: bool
    upgrade: bool
    kit: str
    kit_version: str
    kit_sha: str
    branch: str | None


class CallerPlan(Value):
    new: Mapping[Path, Content] = field(default_factory=dict)
    changed: Mapping[Path, str] = field(default_factory=dict)
    """Written before, and there."""
    lines: tuple[str, ...] = ()
    check: str = ""
    """What is to be required."""
