"""One run of act: the command line, the deadline, and what it left."""

import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from act.driver.git import Remote
from act.driver.journal import Job, Journal
from megtrim.libs.util.process import Command, ProcessRunner
from support.starts import counting

DEADLINE_S = 1200.0
"""The first run with zig compiles its C and C++ libraries, which a slow machine does in minutes."""
HOSTED = "ubuntu-24.04"
DEVICE = "self-hosted"
ARM = "ubuntu-24.04-arm"
STAND_INS = Path(__file__).parents[1] / "actions"
_USES = re.compile(r"uses:\s*([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)(/[^@\s]*)?@([0-9a-f]{40})\b")
_FOREIGN = ("GITHUB_", "RUNNER_", "ACTIONS_", "GIT_", "MEGTRIM_", "PYTEST_", "CCACHE_", "COV_")
_FOREIGN_NAMES = ("CI", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run ended. ``artifacts``: name to the zip that holds it."""

    rc: int
    jobs: Mapping[str, Job]
    artifacts: Mapping[str, Path]
    complaints: tuple[str, ...]
    wall_s: float
    log: Path

    @property
    def conclusions(self) -> dict[str, str]:
        return {
            name: job.conclusion if job.taken else "no runner"
            for name, job in sorted(self.jobs.items())
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    program: str
    cache: Path
    """Workspaces while they are used, and the runner's tool cache, which stays."""
    home: Mapping[str, str]
    traced: Path
    """Results of what people trim themselves before they adopt megtrim."""
    kit: Remote
    """This tree as the kit's repository; whoever adds commits takes a copy."""

    def run(
        self,
        event: str,
        *,
        folder: Path,
        workflow: str,
        scratch: Path,
        options: Sequence[str],
        env: Mapping[str, str],
        token: str,
        secrets: Mapping[str, str] | None = None,
        runners: Sequence[str] = (HOSTED, DEVICE),
        on_change: Callable[[Mapping[str, Job]], None] = lambda jobs: None,
    ) -> Run:
        journal = Journal()
        run_id = env["GITHUB_RUN_ID"]
        (scratch / "artifacts" / run_id).mkdir(parents=True)  # act fails to list what is not there
        (scratch / "config").mkdir()

        def on_line(line: str) -> None:
            if journal.read(line):
                on_change(journal.jobs)

        argv = (
            self.program,
            event,
            "--json",
            "--rm",
            "--concurrent-jobs=4",
            "--pull=false",
            f"--directory={folder}",
            f"--workflows=.github/workflows/{workflow}",
            f"--eventpath={scratch / 'event.json'}",
            *(f"--platform={label}=-self-hosted" for label in runners),
            # Labels that no runner has must not be asked of a registry: none is mapped.
            "--no-cache-server",
            "--no-skip-checkout",
            f"--action-cache-path={self.cache}",
            "--artifact-server-addr=127.0.0.1",
            f"--artifact-server-port={_free_port()}",
            f"--artifact-server-path={scratch / 'artifacts'}",
            *(f"--{kind}-file={os.devnull}" for kind in ("env", "secret", "var", "input")),
            f"--secret=GITHUB_TOKEN={token}",
            *(f"--secret={name}={value}" for name, value in sorted((secrets or {}).items())),
            *(f"--env={name}={value}" for name, value in sorted(env.items())),
            *(f"--env={name}={value}" for name, value in counting().items()),
            *options,
        )
        log = scratch / "act.jsonl"
        outer = {**_clean(os.environ), **self.home, "XDG_CONFIG_HOME": str(scratch / "config")}
        outer["PATH"] = os.pathsep.join((str(STAND_INS / "node"), outer["PATH"]))
        processes = ProcessRunner(outer)
        done = processes.run(
            Command(
                argv=argv,
                timeout_s=DEADLINE_S,
                cwd=folder,
                merge_stderr=True,
                log=log,
                on_line=on_line,
            )
        )
        assert not done.timed_out, f"act did not end within {DEADLINE_S} s; {log}"
        stored = scratch / "artifacts" / run_id
        return Run(
            rc=done.rc,
            jobs=journal.jobs,
            artifacts={file.stem: file for file in sorted(stored.glob("*/*.zip"))},
            complaints=tuple(journal.complaints),
            wall_s=done.wall_s,
            log=log,
        )


def stand_ins(*trees: Path) -> tuple[str, ...]:
    """Say which stand-in takes the place of which action, by the pins that workflows write."""
    found = {
        (match.group(1), match.group(3))
        for tree in trees
        for file in sorted((tree / ".github").rglob("*.yml"))
        for match in _USES.finditer(file.read_text(encoding="utf-8"))
    }
    return tuple(
        f"--local-repository={action}@{sha}={STAND_INS / action.partition('/')[2]}"
        for action, sha in sorted(found)
        if action.startswith("actions/")
    )


def _clean(env: Mapping[str, str]) -> dict[str, str]:
    """Keep what a program needs to run; a job must not see the runner that runs these tests."""
    return {
        name: value
        for name, value in env.items()
        if not name.startswith(_FOREIGN) and name not in _FOREIGN_NAMES
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
