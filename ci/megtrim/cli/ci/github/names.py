"""``megtrim ci github names``: what the names of a configuration's artifacts are made with."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

from megtrim.chain.store import code_digest
from megtrim.cli.echo import show
from megtrim.cli.environment import open_processes
from megtrim.config.config_id import DEFAULT_CONFIG, id_of, infix_of, is_inside, split, suffix_of
from megtrim.github.runner import write_output
from megtrim.util.errors import EXIT_PASS, InputError

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@click.command(
    epilog="""\b
Examples:
  megtrim ci github names
  megtrim ci github names --config android/megtrim.yaml

\b
Outputs of the step:
  file     the file of the configuration, without the toolchain of FILE#TOOLCHAIN
  suffix   what a name ends with, such as .android; empty for megtrim.yaml
  infix    what separates the parts of a name, such as .android. or -
  megtrim  digest of megtrim's own files, which names the results that it can use
  release  the file of a release, such as app-v1.2.3.tar.gz; empty if the run is for no tag
"""
)
@click.option(
    "--config",
    "-c",
    default=DEFAULT_CONFIG,
    show_default=True,
    help="The configuration, from the top of the repository.",
)
def names(config: str) -> int:
    """Print how the names of this configuration differ from those of others in the repository.

    Several configurations may be checked in one run: artifacts, branches and baselines follow
    the path of each. The path alone is used: the file need not be there.
    """
    if not is_inside(config):
        msg = f"--config: found {config}, expected a path from the top of the repository"
        raise InputError(msg, hint="name it without a leading / and without ..")
    env = open_processes().env
    write_output(env, "file", split(config)[0])
    write_output(env, "suffix", suffix_of(config))
    write_output(env, "infix", infix_of(config))
    write_output(env, "megtrim", code_digest())
    write_output(env, "release", _name_release(env, config))
    show(f"configuration {config}: {id_of(config) or 'the default one'}")
    return EXIT_PASS


def _name_release(env: Mapping[str, str], config: str) -> str:
    """Return the name of the file that a run for a tag publishes."""
    kind, _, tag = env.get("GITHUB_REF", "").removeprefix("refs/").partition("/")
    if kind != "tags":
        return ""
    from megtrim.release.archive import ARCHIVE_SUFFIX

    project = env.get("GITHUB_REPOSITORY", "").rpartition("/")[2]
    named = _NOT_IN_A_NAME.sub("-", f"{project}{suffix_of(config)}-{tag}")
    return f"{named}{ARCHIVE_SUFFIX}"
