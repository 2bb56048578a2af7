import pytest

from workflows import rules
from workflows.documents import parse

SHA = "0123456789012345678901234567890123456789"
GUARDED = f"${{{{ ({rules.OF_DEFAULT_BRANCH}) && secrets.cache-remote || '' }}}}"
KEY = f"${{{{ {rules.OF_THE_REPOSITORY} && secrets.engine-key || '' }}}}"
KNOWN = "(job.workflow_repository || inputs.kit-repository) && (job.workflow_sha || inputs.kit-sha)"
KIT_STEPS = f"""\
      - name: Know the event and the kit
        run: test "$ALLOWED_EVENT" = true -a -n "$KIT"
        env:
          ALLOWED_EVENT: ${{{{ contains(fromJSON('["push"]'), github.event_name) }}}}
          KIT: ${{{{ {KNOWN} }}}}
      - name: Check out the kit
        uses: actions/checkout@{SHA} # v1.2.3
        with:
          repository: ${{{{ job.workflow_repository || inputs.kit-repository }}}}
          ref: ${{{{ job.workflow_sha || inputs.kit-sha }}}}
          path: kit
          token: {rules.KIT["token"]}
          ssh-key: {rules.KIT["ssh-key"]}
          persist-credentials: false
"""
PROPER = f"""\
name: proper
on:
  workflow_call:
permissions: {{}}
jobs:
  one:
    name: one
    timeout-minutes: 5
    permissions:
      contents: read # to look
    concurrency:
      group: megtrim-one
    outputs:
      list: ${{{{ steps.plan.outputs.list }}}}
      list-jobs: ${{{{ steps.plan.outputs.list-jobs }}}}
    steps:
{KIT_STEPS}      - name: Plan
        id: plan
        run: plan "$WORD" --to 'a;b'
      - name: Keep
        uses: actions/upload-artifact@{SHA} # v1.2.3
        with:
          name: plan
          overwrite: true
  two:
    name: two
    needs: one
    if: needs.one.outputs.list-jobs != '' && needs.one.outputs.list-jobs != '0'
    timeout-minutes: 5
    permissions:
      contents: read # to look
    concurrency:
      group: megtrim-two
    strategy:
      fail-fast: false
      matrix: ${{{{ fromJSON(needs.one.outputs.list || '{{"include":[]}}') }}}}
    steps:
{KIT_STEPS}      - name: Fetch
        id: sources
        uses: ./kit/.github/actions/sources
        with:
          config: megtrim.yaml
          key: {KEY}
      - name: Bring the image
        id: image
        uses: ./kit/.github/actions/image
      - name: Trim
        run: kit/.venv/bin/megtrim trim
        env:
          MEGTRIM_CACHE_REMOTE_SECRET: {GUARDED}
          MEGTRIM_IMAGE: ${{{{ steps.image.outputs.image }}}}
          MEGTRIM_PRIVATE_SOURCES: ${{{{ steps.sources.outputs.private }}}}
"""
JOB = "    name: two\n"
READS = "    permissions:\n      contents: read # to look\n"
CACHE = "actions/upload-artifact@"
IMAGE = "          MEGTRIM_IMAGE:"
PLAN = """plan "$WORD" --to 'a;b'"""
_BEFORE = "two: Trim comes before the image"
_UNTOLD = "two: Trim is not shown of the image"
_PASSWORD = "two: Trim has the password in MEGTRIM_CACHE_REMOTE_SECRET"
CHECKOUT, UPLOAD = (f"actions/{name}@{SHA} # v1.2.3" for name in ("checkout", "upload-artifact"))


def hold(secret: str) -> str:
    return f"{JOB}    env: {{A: '${{{{ secrets.{secret} }}}}'}}\n"


DEFECTS = {
    "only_known_events": [
        ("  workflow_call:", "  pull_request_target:", "event pull_request_target"),
        ("  workflow_call:", "  workflow_run:", "event workflow_run"),
    ],
    "a_run_of_a_fork_is_data": [
        ('["push"]', '["workflow_run"]', "one: Plan comes after a run of a fork"),
        (
            """["push"]'), github.event_name""",
            """["workflow_run"]'), github.event.workflow_run.head_branch""",
            "one: head_branch is what a fork says",
        ),
    ],
    "no_paths_filter": [
        ("  workflow_call:", "  push: {paths: [a]}", "push has paths"),
        (
            "  workflow_call:",
            "  pull_request: {paths-ignore: [a]}",
            "pull_request has paths-ignore",
        ),
    ],
    "nothing_global": [
        ("permissions: {}", "permissions: {contents: read}", "top: permissions are not {}"),
        ("permissions: {}\n", "", "top: permissions are not {}"),
        ("permissions: {}\n", "permissions: {}\nenv: {A: b}\n", "top: env"),
        ("name: proper", "name: proper\ndefaults: {}", "top: defaults"),
        ("name: proper", "name: proper\nconcurrency: a", "top: concurrency"),
    ],
    "permissions_with_reasons": [
        (READS, "", "one: permissions are not listed"),
        (
            "      contents: read # to look\n",
            "      issues: write\n",
            "one: issues: write has no reason",
        ),
        (READS, "    permissions: write-all\n", "one: permissions are not listed"),
    ],
    "actions_pinned": [
        (UPLOAD, "actions/upload-artifact@v7", "one: actions/upload-artifact@v7 is not pinned"),
        (
            UPLOAD,
            f"actions/upload-artifact@{SHA} # v7",
            f"one: actions/upload-artifact@{SHA} has no version next to it",
        ),
        (UPLOAD, "./kit/.github/actions/gone", "one: ./kit/.github/actions/gone is not there"),
        (UPLOAD, "./.github/actions/set-up", "one: ./.github/actions/set-up is not pinned"),
        ("    name: two", "    name: two\n    container: debian", "two: container"),
    ],
    "one_command": [
        (PLAN, "a && b", "one: operator && in: a && b"),
        (PLAN, "a | b", "one: operator | in: a | b"),
        (PLAN, "a ; b", "one: operator ; in: a ; b"),
        (PLAN, "a > b", "one: operator > in: a > b"),
        (PLAN, "echo $WORD", "one: variable without quotes: echo $WORD"),
        (PLAN, 'echo "$(id)"', 'one: command inside: echo "$(id)"'),
        (PLAN, "echo `id`", "one: command inside: echo `id`"),
        (PLAN, 'a "${{ inputs.x }}"', 'one: expression in: a "${{ inputs.x }}"'),
        (PLAN, "|\n          a\n          b", "one: several lines: a"),
    ],
    "bounded_jobs": [
        ("    timeout-minutes: 5\n", "", "one: no timeout-minutes"),
        ("megtrim-one", "mine", "one: group 'mine'"),
        (
            "megtrim-one",
            "megtrim-${{ github.workflow }}",
            "one: group 'megtrim-${{ github.workflow }}'",
        ),
    ],
    "groups_apart": [("megtrim-two", "megtrim-one", "two: the group of one")],
    "everything_has_a_name": [
        ("name: proper\n", "", "top: no name"),
        (JOB, "", "two: no name"),
        ("name: Plan\n        id: plan", "id: plan", "one: a step without a name"),
    ],
    "checkouts_keep_nothing": [
        (
            "          persist-credentials: false\n      - name: Plan",
            "      - name: Plan",
            "one: Check out the kit keeps its token",
        ),
        (
            "          path: kit\n",
            "          allow-unsafe-pr-checkout: true\n",
            "one: Check out the kit is unsafe",
        ),
    ],
    "kit_known_first": [
        (
            'test "$ALLOWED_EVENT" = true -a -n "$KIT"\n        env:',
            'test -n "$KIT"\n        env:',
            "one: does not begin by knowing its kit",
        ),
        (
            "fromJSON('[\"push\"]')",
            'fromJSON(\'["push", "pull_request_target"]\')',
            "one: does not refuse events that are not listed",
        ),
        (
            '["push"]',
            '["workflow_run"]',
            "one: does not refuse events that are not listed",
        ),
        (
            "          ref: ${{ job.workflow_sha || inputs.kit-sha }}",
            "          ref: main",
            "one: does not check out its kit",
        ),
    ],
    "empty_matrix_guarded": [
        (""" || '{"include":[]}'""", "", "two: matrix ${{ fromJSON(needs.one.outputs.list) }}"),
        (" && needs.one.outputs.list-jobs != '0'", "", "two: runs without entries"),
        ("      fail-fast: false\n", "", "two: one failing entry ends the others"),
    ],
    "no_way_around": [
        (PLAN, 'tee "$GITHUB_ENV"', "GITHUB_ENV is used"),
        (PLAN, "curl example.org", "curl is used"),
        (CHECKOUT, "docker://debian", "docker:// is used"),
    ],
    "cache_in_one_place": [
        (CACHE, "actions/cache@", "one: a cache that saves by itself"),
        (CACHE, "actions/cache/save@", "one: a cache of its own"),
        (CACHE, "actions/cache/save@", "one: Keep saves what is only proposed"),
        (
            f"{UPLOAD}\n        with:",
            f"actions/setup-python@{SHA} # v1.2.3\n        with:\n          cache: pip",
            "one: setup-python with a cache",
        ),
    ],
    "images_by_digest": [
        (PLAN, "plan ghcr.io/acme/android:r21e", "image ghcr.io/acme/android:r21e"),
        (PLAN, "plan debian:12-slim", "image debian:12-slim"),
        (PLAN, "docker login", "one: docker by hand: docker login"),
        (PLAN, "sudo docker pull a", "one: docker by hand: sudo docker pull a"),
        (UPLOAD, f"docker/login-action@{SHA} # v1.2.3", f"one: docker/login-action@{SHA}"),
    ],
    "builds_in_the_image": [
        ("uses: ./kit/.github/actions/image", "run: x", _BEFORE),
        ("steps.image.outputs.image", "inputs.image", _UNTOLD),
    ],
    "the_cache_password_is_guarded": [
        (f"({rules.OF_DEFAULT_BRANCH}) && ", "", _PASSWORD),
        ("_REMOTE_SECRET:", "_REMOTE:", f"{_PASSWORD[:-7]}"),
        ("bin/megtrim trim", "bin/megtrim ci gate", "two: Trim compiles nothing"),
        (JOB, hold("cache-remote"), "two: the whole job has the password"),
    ],
    "the_engine_key_is_guarded": [
        (f"key: {KEY}", "key: ${{ secrets.engine-key }}", "two: Fetch has the engine's key"),
        (
            "uses: ./kit/.github/actions/sources",
            "uses: ./kit/.github/actions/image",
            "two: Fetch has the engine's key",
        ),
        (
            "      - name: Fetch\n",
            "      - name: Build\n        run: kit/.venv/bin/megtrim trim\n      - name: Fetch\n",
            "two: Fetch comes after code of the project",
        ),
        (
            IMAGE,
            "          MEGTRIM_ENGINE_KEY: x\n          MEGTRIM_IMAGE:",
            "two: Trim fetches nothing",
        ),
        (
            "          MEGTRIM_PRIVATE_SOURCES: ${{ steps.sources.outputs.private }}\n",
            "",
            "two: Trim does not know whether the sources are private",
        ),
        (JOB, hold("engine-key"), "two: the whole job has the engine's key"),
    ],
    "the_kit_key_is_guarded": [
        (
            IMAGE,
            "          KEY: ${{ secrets.kit-key }}\n          MEGTRIM_IMAGE:",
            "two: Trim has the kit's key",
        ),
        (JOB, hold("kit-key"), "two: the whole job has the kit's key"),
    ],
    "uploads_stand_a_second_attempt": [
        ("          overwrite: true\n", "", "one: Keep"),
        ("          name: plan\n", "", "one: Keep"),
    ],
}


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_a_proper_workflow_breaks_no_rule(rule: rules.Rule) -> None:
    """So what the next test sees comes from its defect."""
    assert list(rule(parse(PROPER))) == []


@pytest.mark.parametrize(
    ("rule", "old", "new", "found"),
    [(rule, *defect) for rule, defects in DEFECTS.items() for defect in defects],
)
def test_a_rule_finds_its_defect(rule: str, old: str, new: str, found: str) -> None:
    assert old in PROPER

    assert found in list(getattr(rules, rule)(parse(PROPER.replace(old, new, 1))))


def test_every_rule_is_shown_at_work() -> None:
    assert {*DEFECTS} == {rule.__name__ for rule in rules.RULES}
