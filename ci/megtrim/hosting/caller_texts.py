"""The short workflows of a team's repository that call the kit's: what `megtrim init` writes."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, replace

from megtrim.core.config.config_id import DEFAULT_CONFIG, choose, id_of, suffix_of
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

SIZE_CHECK = ".github/workflows/megtrim.yml"
FORKS = ".github/workflows/megtrim-forks.yml"
REFRESH = ".github/workflows/megtrim-refresh.yml"
NIGHT = ".github/workflows/megtrim-night.yml"
RELEASE = ".github/workflows/megtrim-release.yml"
"""The files of the default configuration; those of others have their ids in their names."""
DEVICE_ENVIRONMENT = "megtrim-devices"
"""Of GitHub, in which jobs run on a team's devices."""


def warn_of_environment(repository: str) -> str:
    """``repository``: its page, or what stands for it."""
    return (
        f"the environment {DEVICE_ENVIRONMENT} protects nothing until it has reviewers: GitHub "
        f"makes it without any, and each pull request's program runs on your devices unasked. "
        f"Add reviewers at {repository}/settings/environments"
    )


CALLED = (
    "size-check.yml",
    "size-summary.yml",
    "size-history.yml",
    "fork-comment.yml",
    "trace-refresh.yml",
    "nightly-performance.yml",
    "release.yml",
)
_USES = re.compile(
    r"\buses: (?P<repository>\S+)/\.github/workflows/"
    rf"(?P<called>{'|'.join(map(re.escape, CALLED))})@(?P<sha>\S+)(?: # (?P<version>\S+))?"
)

_GRAMMAR = {
    "repository": (
        r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+",
        "OWNER/REPO of the kit, or its URL",
    ),
    "url": (r"https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._-]+)+", "OWNER/REPO or an https URL"),
    "sha": (r"[0-9a-f]{40}", "the 40 hex digits of a commit of the kit"),
    "version": (r"v[0-9]+\.[0-9]+\.[0-9]+", "that commit's version, such as v1.2.3"),
    "branch": (r"[A-Za-z0-9_][A-Za-z0-9._/-]*", "the name of a branch, without spaces"),
    "config": (r"[A-Za-z0-9._][A-Za-z0-9._/-]*(#[a-z0-9-]+)?", "a path without spaces and quotes"),
    "keep_set": (r"[A-Za-z0-9._][A-Za-z0-9._/-]*", "a path without spaces and quotes"),
    "recipe": (r"|[a-z0-9][a-z0-9-]*", "the name of a recipe of the kit"),
    "packages": (r"|[a-z0-9][a-z0-9.+ -]*", "names of Debian packages"),
}

_WRITTEN = """\
# Written by megtrim init ({digest}). --upgrade replaces it; once edited, only its pins.
"""
_SIZE_CHECK = """\
# What a pull request costs. Require the check "{check}", and nothing else of this file.
# No paths filter: a required check that is filtered out is waited for forever. No concurrency:
# the called jobs have their own, and a run that is cut off as a whole would cut off a device.
name: megtrim{of}
on:
  pull_request:
  push: {{branches: ["{branch}"]}}
  merge_group:
  workflow_dispatch: {{inputs: {{pull-request: {{type: string, description: Its number}}}}}}
permissions: {{}}
jobs:
{sizes}  history:
    name: history{of}{leg}{strategy}
    needs: {needs}
    if: ${{{{ !cancelled() && github.event_name == 'push' }}}}
    permissions: {{contents: write}} # the history's branch
    uses: {repository}/.github/workflows/size-history.yml@{sha} # {version}
    with: {{config: {chosen}}}
"""
_SIZE_JOB = """\
  {job}:
    name: size{of}{leg}
    permissions: {{actions: read, contents: read, pull-requests: write}} # baseline and comment
    uses: {repository}/.github/workflows/size-check.yml@{sha} # {version}
    with: {{{given}{quiet}, pull-request: "${{{{ inputs.pull-request }}}}"}}
"""
_SIZE_SUMMARY = """\
  summary:
    name: size{of}
    needs: {needs}
    if: always()
    permissions: {{contents: read, pull-requests: write}} # the comment
    uses: {repository}/.github/workflows/size-summary.yml@{sha} # {version}
    with: {{{summarised}, pull-request: "${{{{ inputs.pull-request }}}}"}}
"""
_FORKS = """\
# Shows the report of a fork's pull request, whose own run may not comment. It runs after that one,
# as the default branch has it, checks out nothing but the kit, and runs no code of the fork.
name: megtrim forks{of}
on:
  workflow_run: # zizmor: ignore[dangerous-triggers] the kit's SECURITY.md says why it is safe
    workflows: ["megtrim{of}"]
    types: [completed]
permissions: {{}}
jobs:
  comment:
    name: comment{of}
    permissions: {{actions: read, contents: read, pull-requests: write}} # report and comment
    uses: {repository}/.github/workflows/fork-comment.yml@{sha} # {version}
    with: {{config: {config}{starts}{compared}}}
"""
_REFRESH = """\
# Traces every scenario again, and proposes the keep set when it changed. No concurrency: as there.
name: megtrim refresh{of}
on:
  schedule: [{{cron: "17 3 * * 1"}}]
  workflow_dispatch:
permissions: {{}}
jobs:
  refresh:
    name: refresh{of}{leg}{strategy}
    permissions: {{actions: write, contents: write, pull-requests: write}} # the proposal
    uses: {repository}/.github/workflows/trace-refresh.yml@{sha} # {version}
    with: {{{given}, keep-set: {keep_set}{starts}}}
"""
_NIGHT = """\
# Measures times, compares them with earlier nights, and opens issues. No concurrency: as there.
name: megtrim night{of}
on:
  schedule: [{{cron: "43 1 * * *"}}]
  workflow_dispatch:
permissions: {{}}
jobs:
  night:
    name: night{of}{leg}{strategy}
    permissions: {{actions: read, contents: write, issues: write}} # the history's branch, issues
    uses: {repository}/.github/workflows/nightly-performance.yml@{sha} # {version}
    with: {{{given}}}
"""
_RELEASE = """\
# Makes a release of each tag: built twice, proven on devices, published whole. By hand: choose the
# tag where the branch is asked for. No concurrency: as there.
name: megtrim release{of}
on:
  push: {{tags: ["{tags}"]}}
  workflow_dispatch:
permissions: {{}}
jobs:
  release:
    name: release{of}
    permissions: {{attestations: write, contents: write, id-token: write}} # attests, publishes
    uses: {repository}/.github/workflows/release.yml@{sha} # {version}
    with: {{{given}}}
"""
GITLAB = ".gitlab-ci.yml"
_GITLAB = """\
megtrim:
  image: python:3.11-bookworm
  variables:
    GIT_SUBMODULE_STRATEGY: none
    CCACHE_DIR: $CI_PROJECT_DIR/.ccache
  cache:
    key: megtrim
    paths: [.ccache]
    when: always
  before_script:
    - apt-get update
    - apt-get install -y --no-install-recommends ccache time {packages}qemu-user-static
    - pip install "megtrim{extra} @ git+{url}@{sha}" # {version}
    # The default branch, not the merge request, decides where submodules come from, and where
    # the engine's key is sent.
    - rm -rf .trusted
    - >-
      git clone --quiet --depth 1 --no-checkout --branch "$CI_DEFAULT_BRANCH"
      "$CI_REPOSITORY_URL" .trusted
    - megtrim ci sources fetch . --trusted .trusted --url "$CI_PROJECT_URL"{given}
    - rm -f baseline.json
    - >-
      BRANCH=$(printf %s "${{CI_MERGE_REQUEST_TARGET_BRANCH_NAME:-$CI_COMMIT_BRANCH}}"
      | sed -e s,%,%25,g -e s,#,%23,g -e s,/,%2F,g);
      curl --fail --silent --show-error --header "JOB-TOKEN: $CI_JOB_TOKEN" --output baseline.json
      "$CI_API_V4_URL/projects/$CI_PROJECT_ID/jobs/artifacts/$BRANCH/raw/megtrim-out/final/sizes.json?job=megtrim"
      || echo "no baseline"
  script:
    - megtrim trim --committed --no-gate --baseline baseline.json{given}
    - megtrim ci gate megtrim-out/final
  artifacts:
    when: always
    paths:
      - megtrim-out/final
      - megtrim-crash.md
    reports:
      junit: megtrim-out/final/junit.xml
  retry:
    max: 1
    exit_codes: [3]
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
    - if: $CI_COMMIT_BRANCH && $CI_COMMIT_REF_PROTECTED == "true"
"""


class Kit(Value):
    repository: str
    sha: str
    version: str


class Provision(Value):
    packages: str = ""
    recipe: str = ""
    """The kit's recipe of an image, where the configuration does not name one by digest."""


class Callers(Value):
    kit: Kit
    branch: str
    config: str
    keep_set: str
    packages: str = ""
    recipe: str = ""
    toolchains: Mapping[str, Provision] = field(default_factory=dict)
    """By name, if the file has several: each caller has a leg for each of them."""
    nights: tuple[str, ...] = ()
    """Toolchains with a device whose times are measured; an empty name where there is just one."""
    releases: bool = False
    """Whether tags are to become releases; of one toolchain."""


def name_check(config: str) -> str:
    return f"size{_of(config)} / verdict"


def parse_kit(text: str, server: str) -> str:
    """Return OWNER/REPO of a kit that is named so, or by a URL of the server."""
    host = re.escape(server.partition("://")[2])
    address = rf"(?:{re.escape(server)}/|(?:ssh://)?git@{host}[:/])"
    return re.sub(rf"^{address}", "", text).removesuffix("/").removesuffix(".git")


def find_pins(text: str) -> set[Kit]:
    """Return the kits that a workflow calls; what Dependabot wrote has the same form."""
    found = (match.groupdict() for match in _USES.finditer(text))
    return {
        Kit(repository=f["repository"], sha=f["sha"], version=f["version"] or "") for f in found
    }


def upgrade(old: str, new: str, kit: Kit) -> str:
    """Return ``new``; of a caller that someone edited, the old text with other pins.

    Empty if that is no caller.
    """
    first, _, rest = old.partition("\n")
    if f"{first}\n" == _head(rest):
        return new
    pin = rf"uses: {kit.repository}/.github/workflows/\g<called>@{kit.sha} # {kit.version}"
    return _USES.sub(pin, old) if _USES.search(old) else ""


def _head(text: str) -> str:
    """Name the digest of a caller without its pins, which Dependabot moves, too."""
    digest = hashlib.sha256(_USES.sub(r"\g<called>", text).encode()).hexdigest()[:16]
    return _WRITTEN.format(digest=digest)


def name_own(config: str) -> dict[str, str]:
    """Return the path of each caller that this configuration may have, by that of the default's."""
    end = f"{suffix_of(config)}.yml"
    every = (SIZE_CHECK, FORKS, REFRESH, NIGHT, RELEASE)
    return {path: path.replace(".yml", end) for path in every}


def workflows(callers: Callers) -> dict[str, str]:
    """Return the text of each workflow by path. Raises InputError for what YAML could misread."""
    values = asdict(callers)
    del values["kit"], values["toolchains"], values["nights"], values["releases"]
    values |= asdict(callers.kit)
    for name, value in values.items():
        expect_plain(name, value)
    values["given"] = _list_given(callers.config, callers.packages, callers.recipe)
    values["chosen"] = callers.config
    values["check"] = name_check(callers.config)
    values["of"] = _of(callers.config)
    texts = {SIZE_CHECK: _SIZE_CHECK, FORKS: _FORKS, REFRESH: _REFRESH}
    if callers.nights:
        texts[NIGHT] = _NIGHT
    if callers.releases:
        texts[RELEASE] = _RELEASE
    own = name_own(callers.config)
    started = own[SIZE_CHECK].rpartition("/")[2]
    values["starts"] = f", size-check: {started}" if own[SIZE_CHECK] != SIZE_CHECK else ""
    # With any letter after the v, a tag such as vision-v1 would be one of two configurations.
    values["tags"] = f"{id_}-v[0-9]*" if (id_ := id_of(callers.config)) else "v[0-9]*"
    values |= dict.fromkeys(("leg", "strategy", "quiet", "compared"), "")
    values |= dict.fromkeys(("job", "needs"), "size")
    if callers.toolchains:
        # A matrix has the outputs of one of its jobs only, and the summary needs the ids of all.
        sizes = [_SIZE_JOB.format_map(values | leg) for leg in _list_size_jobs(callers)]
        measured = {name: callers.toolchains[name] for name in callers.nights}
        nights = values | _legs(replace(callers, toolchains=measured))
        values |= _legs(callers)
        texts[SIZE_CHECK] += _SIZE_SUMMARY
    else:
        sizes = [_SIZE_JOB.format_map(values)]
        nights = values
    values["sizes"] = "".join(sizes)
    written = {
        own[path]: text.format_map(nights if path == NIGHT else values)
        for path, text in texts.items()
    }
    return {path: f"{_head(text)}{text}" for path, text in written.items()}


def gitlab_pipeline(kit: Kit, config: str, packages: str) -> str:
    """The kit's repository is a URL here."""
    values = {"url": kit.repository, "sha": kit.sha, "version": kit.version}
    for name, value in (values | {"config": config, "packages": packages}).items():
        expect_plain(name, value)
    values["packages"] = packages and f"{packages} "
    values["extra"] = "" if packages else "[zig]"
    values["given"] = "" if config == DEFAULT_CONFIG else f" --config {config}"
    return _GITLAB.format_map(values)


def expect_plain(name: str, value: str) -> None:
    pattern, expected = _GRAMMAR[name]
    if not re.fullmatch(pattern, value) or ".." in value.split("/"):
        msg = f"{name.replace('_', ' ')}: found {value!r}, expected {expected}"
        raise InputError(msg)


def _list_given(config: str, packages: str, recipe: str) -> str:
    given = {"config": config, "packages": packages, "image-recipe": recipe}
    return ", ".join(f"{key}: {value}" for key, value in given.items() if value)


def _list_size_jobs(callers: Callers) -> Iterator[dict[str, str]]:
    for name, provision in callers.toolchains.items():
        config = f'"{choose(callers.config, name)}"'
        given = _list_given(config, provision.packages, provision.recipe)
        yield {"job": f"size-{name}", "leg": f" {name}", "quiet": ", comment: false"} | {
            "given": given
        }


def _legs(callers: Callers) -> dict[str, str]:
    entries = []
    for name, provision in callers.toolchains.items():
        expect_plain("config", choose(callers.config, name))
        for key, value in asdict(provision).items():
            expect_plain(key, value)
        entries.append(
            f'\n          - {{toolchain: "{name}", packages: "{provision.packages}", '
            f'recipe: "{provision.recipe}"}}'
        )
    leg = "${{ matrix.toolchain }}"
    names = " ".join(callers.toolchains)
    jobs = [f"size-{name}" for name in callers.toolchains]
    reports = ",".join(f"${{{{ needs.{job}.outputs.report }}}}" for job in jobs)
    matrix = "\n    strategy:\n      fail-fast: false\n      matrix:\n        include:"
    chosen = choose(callers.config, leg)
    packages = 'packages: "${{ matrix.packages }}", image-recipe: "${{ matrix.recipe }}"'
    return {
        "leg": f" {leg}",
        "strategy": matrix + "".join(entries),
        "given": f'config: "{chosen}", {packages}',
        "chosen": f'"{chosen}"',
        "keep_set": f'"{callers.keep_set}/{leg}"',
        "needs": f"[{', '.join(jobs)}]",
        "compared": f', toolchains: "{names}"',
        "summarised": f'config: {callers.config}, toolchains: "{names}", reports: "{reports}"',
    }


def _of(config: str) -> str:
    return f" {id_}" if (id_ := id_of(config)) else ""
