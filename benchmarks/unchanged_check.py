"""What the check of a pull request costs that changes only a page, over a full one.

    python benchmarks/unchanged_check.py

The sample engine, a model and its keep set are committed to a repository of their own. The commands
of the build job (trim, plan of the device jobs, bundle) then run in two fresh clones: of the first
commit, without any results; and of one that changes a page, with what the first has left. Each side
has a folder of its own and a compiler cache that begins empty. The figures to quote are the files
that the second compiles, which must be none, and the ratio of the wall times. What is the same for
both, such as checkouts and the installation of megtrim, is in neither.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import click

from megtrim.libs.util.process import Command, ProcessRunner

MOST_RATIO = 0.3
SAMPLE = Path(__file__).parents[1] / "examples/sample-engine"
MODEL = "tiny-mobile"
_AUTHOR = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.com")


def run(*argv: str, cwd: Path, env: Mapping[str, str] | None = None) -> float:
    began = time.monotonic()
    ended = ProcessRunner({**os.environ, **(env or {})}).run(
        Command(argv=argv, timeout_s=3600, cwd=cwd)
    )
    if not ended.ok:
        msg = f"{' '.join(argv)} failed:\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
        raise click.ClickException(msg)
    return time.monotonic() - began


def megtrim(*argv: str, cwd: Path, env: Mapping[str, str]) -> float:
    return run(sys.executable, "-m", "megtrim", *argv, cwd=cwd, env=env)


def make_team(folder: Path, env: Mapping[str, str]) -> Path:
    """Commit a project with its keep set, then a second commit that changes a page."""
    team = folder / "team"
    (team / "models").mkdir(parents=True)
    for suffix in ("sample", "data.npy"):
        shutil.copy(SAMPLE / f"models/{MODEL}.{suffix}", team / "models")
    megtrim("init", f"models/{MODEL}.sample", cwd=team, env=env)
    megtrim("trim", "--out", str(folder / "first"), cwd=team, env=env)
    run("git", "init", "--quiet", "--initial-branch=main", cwd=team)
    for text in ("The app\n", "The app, and what it is for\n"):
        (team / "README.md").write_text(text, encoding="utf-8")
        run("git", "add", ".", cwd=team)
        run("git", *_AUTHOR, "commit", "--quiet", "--message", text.strip(), cwd=team)
    return team


def check(clone: Path, out: Path, env: Mapping[str, str], *more: str) -> float:
    given = ("--committed", "--out", str(out))
    return megtrim("trim", "--no-gate", *given, *more, cwd=clone, env=env) + megtrim(
        "ci", "evidence", "pack", *given, "--to", f"{out}-bundle", cwd=clone, env=env
    )


@click.command()
def main() -> None:
    """Check both commits, and print the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        env = {"CCACHE_DIR": str(folder / "ccache"), "MEGTRIM_STATE": str(folder / "state")}
        team = make_team(folder, {**env, "CCACHE_DIR": str(folder / "first-ccache")})
        times = []
        for name, commit, more in (
            ("full", "main~1", ()),
            ("page", "main", ("--reuse", str(folder / "out-full"))),
        ):
            clone = folder / name
            run("git", "clone", "--quiet", str(team), str(clone), cwd=folder)
            run("git", "checkout", "--quiet", "--detach", commit, cwd=clone)
            times.append(check(clone, folder / f"out-{name}", env, *more))
        trees = folder / "out-page/work"
        compiled = len([*trees.rglob("*.o")]) if trees.is_dir() else 0
    ratio = times[1] / times[0]
    click.echo(f"full {times[0]:.1f} s, page {times[1]:.1f} s, load {os.getloadavg()[0]:.1f}")
    click.echo(f"ratio {ratio:.2f} (target {MOST_RATIO}); files compiled: {compiled} (target 0)")
    sys.exit(compiled > 0 or ratio > MOST_RATIO)


if __name__ == "__main__":
    main()
