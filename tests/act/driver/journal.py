"""What act said, line by line: its jobs with their steps, outputs, summaries and annotations.

act skips a job silently where no runner has its labels, and one whose condition is false. Both
are simply not among the finished jobs, so a test names every job that it expects.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_LEG = re.compile(r"(.*\d/\d+)-\d+")
"""act numbers the legs of a matrix behind the job's name."""
_CALLER_LEG = re.compile(r"(.+)-\d+")
_NO_RUNNER = "Skipping unsupported platform"


@dataclass(slots=True, kw_only=True)
class Job:
    name: str
    caller: str = ""
    """The job of the calling workflow."""
    conclusion: str = ""
    """success, failure; empty while it runs, and where no runner took it."""
    taken: bool = True
    """False where no runner has its labels."""
    steps: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    annotations: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


class Journal:
    def __init__(self) -> None:
        self._found: dict[tuple[str, str, bool], Job] = {}
        self.complaints: list[str] = []

    @property
    def jobs(self) -> dict[str, Job]:
        names = Counter(job.name for job in self._found.values())
        return {
            f"{caller} / {name}" if leg or names[name] > 1 else name: job
            for (caller, name, leg), job in self._found.items()
        }

    def read(self, line: str) -> bool:
        try:
            record = json.loads(line)
        except ValueError:
            self.complaints.append(line)
            return False
        if not isinstance(record, dict) or "job" not in record:
            if isinstance(record, dict) and record.get("level") in ("error", "fatal"):
                self.complaints.append(record["msg"])
            return False
        parts = record["job"].split("/", 2)
        if len(parts) < 3:
            return False  # the caller's own job, which has no steps
        return self._note(parts[0], _name(parts[2], record), record)

    def _note(self, caller: str, name: str, record: dict[str, Any]) -> bool:
        leg = _CALLER_LEG.fullmatch(caller)
        caller = leg[1] if leg else caller
        key = (caller, name, leg is not None)
        changed = key not in self._found
        job = self._found.setdefault(key, Job(name=name, caller=caller))
        text = record["msg"].rstrip("\n")
        if _NO_RUNNER in text:
            job.taken = False
        if "jobResult" in record:
            job.conclusion = record["jobResult"]
            return True
        steps = record.get("stepID", [])
        if "stepResult" in record and record.get("stage") == "Main" and len(steps) == 1:
            job.steps[record["step"]] = record["stepResult"]
        match record.get("command"):
            case "summary":
                job.summary += record["content"]
            case "set-output" if len(steps) == 1:
                job.outputs[record.get("name", "")] = record.get("arg", "")
            case "error" | "warning" | "notice":
                job.annotations.append((record["command"], record.get("arg", text)))
            # act ends a line where its buffer does, and then prints an empty one.
            case _ if text and record.get("raw_output") and "command" not in record:
                job.lines.append(text)
            case _:
                pass
        return changed


def _name(text: str, record: dict[str, Any]) -> str:
    text = text.strip()
    leg = _LEG.fullmatch(text) if record.get("matrix") else None
    return leg.group(1) if leg else text
