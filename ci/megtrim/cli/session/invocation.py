"""From the options of a call to the command that repeats it, as its reader has to type it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from megtrim.cli.options import DEFAULT_OUT
from megtrim.config_id import suffix_of
from megtrim.verdict.invocation import Invocation

REPORT_ARTIFACT = "megtrim-report"
BASELINE_FILE = "baseline.json"
"""The baseline that growth was held against, in the folder of the report."""


def invocation_of(
    options: Mapping[str, Any], env: Mapping[str, str], *, keep_set: Path | None = None
) -> Invocation:
    """Return the call; ``keep_set`` is relative to the configuration.

    A person repeats it in the folder of the call. What a job of GitHub Actions did is repeated at
    the top of a checkout, where the job ran: paths outside of it are the runner's own and are left
    out, and the baseline is in the report that people download.
    """
    away = env.get("GITHUB_ACTIONS") == "true"
    here = Path.cwd()

    def render_path(path: Path | None) -> str:
        if path is None:
            return ""
        if path.is_absolute() and path.is_relative_to(here):
            path = path.relative_to(here)
        outside = path.is_absolute() or ".." in path.parts
        return "" if away and outside else str(path)

    config = options["config"]
    out = render_path(options["out"])
    baseline = render_path(options.get("baseline"))
    shown = render_path(config) or str(config)
    if options.get("baseline") and not baseline:
        baseline = f"{REPORT_ARTIFACT}{suffix_of(shown)}/{BASELINE_FILE}"
    return Invocation(
        config=shown,
        out="" if out == DEFAULT_OUT else out,
        engine=render_path(options["engine"]),
        image=options.get("image") or "",
        no_docker=bool(options.get("no_docker")),
        device=options.get("device") or "",
        baseline=baseline,
        traces=tuple(filter(None, map(render_path, options.get("traces", ())))),
        committed=bool(options.get("committed")),
        quick=bool(options.get("quick")),
        keep_set=render_path(config.parent / keep_set) if keep_set else Invocation().keep_set,
    )
