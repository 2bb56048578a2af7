"""The command line: its verbs, endings, printed text, environment and clock."""

import errno
import io
import json
import os
import re
import sys
import threading
from datetime import UTC, date, datetime
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from click.shell_completion import ShellComplete

from megtrim.core.cli import echo, message_codes
from megtrim.core.cli import main as entry
from megtrim.core.cli.clock import describe_clock, read_now, read_today
from megtrim.core.cli.echo import complain, open_console, show, show_command, show_summary
from megtrim.core.cli.environment import open_processes, read_git_ceilings, takes_color
from megtrim.core.cli.lazy_group import LazyGroup, describe
from megtrim.core.cli.main import main
from megtrim.core.parts import load
from megtrim.core.verdict.model import to_json
from megtrim.libs.util.errors import InfrastructureFailure, InputError, Interrupted, ProductFailure
from megtrim.libs.util.process import Command, ProcessRunner
from support.clock import clock_at
from unit.core.cli.support import Shell, walk
from unit.core.verdict.examples import passing

VERBS = tuple(
    words
    for words, command in walk(main)
    if not isinstance(command, click.Group) or getattr(command, "alone", None)
)


def test_the_first_page_lists_what_people_use() -> None:
    assert " ".join(main.list_commands(click.Context(main))) == (
        "doctor demo init check plan trim verify probe explain size report clean export release "
        "perf devices model stage ci"
    )


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help_with_an_example(shell: Shell, verb: tuple[str, ...]) -> None:
    answer = shell(*verb, "--help").expect(0, err="")
    assert answer.out.startswith(f"Usage: megtrim {' '.join(verb)} ")
    block = answer.out.partition("\n  Example")[2].partition(":\n")[2].partition("\n\n")[0]
    examples = block.replace("\\\n", " ").splitlines()
    assert examples
    assert all(line.strip().startswith(f"megtrim {' '.join(verb)}") for line in examples)


def test_the_first_page_says_where_to_start_and_how_it_ends(shell: Shell) -> None:
    answer = shell("--help").expect(0)
    for status in ("0 ", "1 ", "2 ", "3 ", "70 ", "130 "):
        assert f"\n    {status}" in answer.out
    for verb in ("doctor", "init", "trim"):
        assert f"\n    megtrim {verb} " in answer.out
    assert shell("-h") == answer


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("frobnicate",), "No such command 'frobnicate'.\n"),
        (("trmi",), "No such command 'trmi'. Did you mean 'trim'?"),
        (("size", "shwo"), "No such command 'shwo'. Did you mean 'show'?"),
        (("trim", "--frobnicate"), "No such option"),
        (("trim", "--jobs", "0"), "Invalid value for '--jobs'"),
        (("init",), "found no model, expected at least one to trim for"),
        (("demo", "--device", "fridge"), "--device: found 'fridge', expected a device or a kind"),
        (("trim", "--release", "r"), "--release names the release of a record: it needs --reached"),
        (("model", "show"), "Missing argument 'FILE'"),
        (("probe",), "Missing argument 'MODEL'"),
        (("verify", "--", "--cpu"), "Got unexpected extra argument"),
        (("verify", "--scenario", "m", "--neighbours"), "does not go with --neighbours"),
    ],
)
def test_bad_usage_is_2(shell: Shell, arguments: tuple[str, ...], said: str) -> None:
    assert said in shell(*arguments).expect(2, out="").err


@pytest.mark.parametrize("verb", ["trim", "plan", "stage build", "verify", "explain verdict"])
def test_no_configuration_is_2(shell: Shell, verb: str) -> None:
    answer = shell(*verb.split()).expect(2)
    assert answer.err.startswith("megtrim: megtrim.yaml: found no such file")
    assert "megtrim init" in answer.err
    assert list(shell.folder.iterdir()) == []


def test_an_error_that_says_what_to_do_has_no_code(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own words are closer than those of a page about all that are like it."""
    assert entry._status(["plan"]) == 2
    assert "explain MT" not in shell.capture.readouterr().err
    raising(monkeypatch, InputError("megtrim.yaml:3: found 7, expected text"))
    assert entry._status(["doctor"]) == 2
    assert "explain MT" not in shell.capture.readouterr().err
    raising(monkeypatch, InputError("m.mge: not a .mge model: it begins with: x"))
    assert entry._status(["doctor"]) == 2
    assert shell.capture.readouterr().err.endswith("\n  next: megtrim explain MT0203\n")
    assert "what to do: Change the key" in shell("explain", "MT0101").out
    assert shell("explain", "MT0999").status == 2


def test_an_error_keeps_its_status_without_the_page(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_codes, "_PAGE", "gone.md")
    assert "megtrim.yaml: found no such file" in shell("plan").expect(2).err


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr("megtrim.core.cli.doctor._findings", Mock(side_effect=error))


_STOPPED = "interrupted; finished results are kept"


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ProductFailure("it is so", hint="do this"), 1, "it is so\n  do this"),
        (InputError("it is so", hint="do this"), 2, "it is so\n  do this"),
        (InfrastructureFailure("it is so", hint="do this"), 3, "it is so\n  do this"),
        (Interrupted("it is so", hint="do this"), 130, "it is so\n  do this"),
        (KeyboardInterrupt(), 130, _STOPPED),
        (click.Abort(), 130, _STOPPED),
    ],
)
def test_every_kind_of_failure_has_its_status(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, text: str
) -> None:
    raising(monkeypatch, error)

    answer = shell("doctor")

    assert (answer.status, answer.out, answer.err.strip()) == (status, "", f"megtrim: {text}")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("numpy.so: failed to map segment from shared object"),
    ],
)
def test_little_memory_is_no_bug(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    raising(monkeypatch, error)

    shell("doctor").expect(3, "not enough memory\n  free some, or raise the limit", "ulimit -v")
    assert not (shell.folder / "megtrim-crash.md").exists()


def test_a_bug_leaves_a_report(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, ZeroDivisionError("by zero"))

    shell("doctor", "--json").expect(
        70, "ZeroDivisionError: by zero", "this is a bug in megtrim; please report megtrim-crash.md"
    )
    report = shell.read("megtrim-crash.md")
    assert report.startswith("# megtrim crashed\n- version: ")
    assert "- arguments: `doctor --json`\n" in report
    assert "\n```\nTraceback (most recent call last):\n" in report
    assert report.endswith("ZeroDivisionError: by zero\n```\n")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_disk_that_fails_is_no_bug(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    raising(monkeypatch, OSError(number, os.strerror(number), "out/x"))

    shell("doctor").expect(3, f"out/x cannot be written: {os.strerror(number)}")
    assert not (shell.folder / "megtrim-crash.md").exists()


def test_a_bug_is_shown_also_where_no_report_can_be_left(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(monkeypatch, ZeroDivisionError())
    (shell.folder / "megtrim-crash.md").mkdir()

    shell("doctor").expect(70, "please report the lines above")


def test_a_bug_is_shown_with_arguments_that_are_no_text(shell: Shell) -> None:
    assert entry._bug(["explain", "\udcff"]) == 70

    assert "- arguments: `explain \\udcff`\n" in shell.read("megtrim-crash.md")


GROUP = LazyGroup(
    "tool",
    members={
        "show": "hosting.cli.verbs:schema",
        "inner": "lab.cli.verbs:devices",
        "broken": "core.cli.nowhere:nothing",
    },
)


def test_a_verb_is_imported_when_it_is_called() -> None:
    context = click.Context(GROUP)

    assert GROUP.list_commands(context) == ["show", "inner", "broken"]
    found = GROUP.get_command(context, "show")
    assert found is not None
    assert found.name == "schema"
    assert GROUP.get_command(context, "absent") is None
    with pytest.raises(ModuleNotFoundError):
        GROUP.get_command(context, "broken")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("megtrim t", ["trim"]),
        ("megtrim ci g", ["gate", "github"]),
        ("megtrim size ", ["show", "diff", "history", "why", "prices"]),
        ("megtrim size --commi", ["--committed"]),
        ("megtrim trim --commi", ["--committed"]),
    ],
)
def test_a_shell_completes_verbs_and_options(typed: str, offered: list[str]) -> None:
    words = typed.split(" ")
    completion = ShellComplete(main, {}, "megtrim", "_MEGTRIM_COMPLETE")
    found = completion.get_completions(words[1:-1], words[-1])
    assert [item.value for item in found] == offered


HEAVY = ("jinja2", "numpy", "scipy.optimize", "scipy.sparse", "scipy.stats")


def test_a_list_says_of_each_verb_what_its_help_begins_with() -> None:
    """The list is read from the source of a verb, which is not imported."""
    groups = [command for _, command in walk(main) if isinstance(command, LazyGroup)]
    for group in (main, *groups):
        for (name, *inner), command in walk(group):
            said = command.get_short_help_str(limit=1000)
            assert inner or describe(group.members[name], limit=1000) == said, name


_WORK = (
    "concurrent.futures",
    "elftools",
    "filelock",
    "importlib.metadata",
    "pydantic",
    "requests",
    "subprocess",
    "xxhash",
    "yaml",
    "megtrim.core.chain.session",
    "megtrim.core.cli.session",
    "megtrim.core.config.model",
    "megtrim.core.stages",
    "megtrim.core.verdict.model",
    "megtrim.engines",
    "megtrim.libs.util.process",
    "megtrim.places",
)
_MOST_MODULES = 45
"""Modules of ours that a help may import; 41 are the most today."""
_EVERY_VERB = [words for words, _ in walk(main)]
_PACKAGE = Path(entry.__file__).parents[2]


def _name(file: Path) -> str:
    return str(file.relative_to(_PACKAGE))


@pytest.fixture(scope="module")
def imported(processes: ProcessRunner) -> dict[str, list[str]]:
    """Return what the help of each verb imports: each in a process that has imported nothing."""
    script = (
        "import contextlib, io, json, os, sys\n"
        "import click\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.stdout.flush()\n"
        "    if os.fork():\n"
        "        assert os.wait()[1] == 0, words\n"
        "        continue\n"
        "    from megtrim.core.cli import main\n"
        "    from megtrim.core.parts import hand_in\n"
        "    from megtrim.parts import PARTS\n"
        "    hand_in(PARTS)\n"
        "    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        status = main._status([*words, '--help'])\n"
        "    print(json.dumps([' '.join(words), *sys.modules]), flush=True)\n"
        "    os._exit(status)\n"
    )
    argv = (sys.executable, "-c", script, json.dumps(_EVERY_VERB))
    ended = processes.run(Command(argv=argv, timeout_s=120))
    assert ended.ok, ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    return {words: modules for words, *modules in rows}


@pytest.mark.parametrize("words", [" ".join(words) for words in _EVERY_VERB])
def test_help_imports_no_work(imported: dict[str, list[str]], words: str) -> None:
    """Options and help stand in modules of their own, so nobody waits for a trim to read them."""
    found = imported[words]
    own = [name for name in found if name.startswith("megtrim.")]

    assert [name for name in (*HEAVY, *_WORK) if name in found] == []
    assert len(own) <= _MOST_MODULES, own


@pytest.mark.parametrize("file", sorted(_PACKAGE.rglob("cli/**/*verbs.py")), ids=_name)
def test_work_that_a_verb_names_is_there(file: Path) -> None:
    places = re.findall(r'_later\(\s*"([^"]+)"', file.read_text(encoding="utf-8"))

    assert places
    assert [place for place in places if not callable(load(place, "a test"))] == []


@pytest.mark.parametrize(
    ("words", "more", "needed"),
    [
        ("--version", (), []),
        ("perf list", (), []),
        (
            "ci github names",
            (
                "megtrim.core.stages",
                "megtrim.places.devices",
                "megtrim.core.verdict.model",
                "megtrim.core.config.model",
                "yaml",
            ),
            [],
        ),
    ],
)
def test_a_call_imports_what_it_uses(
    processes: ProcessRunner, words: str, more: tuple[str, ...], needed: list[str]
) -> None:
    """A verb imports statistics and templates only to use them.

    Each of these libraries takes a tenth of a second, or a whole one. Each job of a workflow has
    some small steps: none waits for what a trim needs.
    """
    assert list_heavy(processes, words, *more) == needed


def test_the_gate_imports_no_schema(processes: ProcessRunner, tmp_path: Path) -> None:
    """Every job has a gate, and every one of its modules is a moment of each."""
    (tmp_path / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    heavy = ("pydantic", "yaml", "requests", "filelock", "importlib.metadata")

    assert list_heavy(processes, f"ci gate {tmp_path}", *heavy, "megtrim.core.verdict.model") == []


def list_heavy(processes: ProcessRunner, words: str, *more: str) -> list[str]:
    script = (
        "import sys\n"
        "from megtrim.core.cli import main\n"
        "from megtrim.core.parts import hand_in\n"
        "from megtrim.parts import PARTS\n"
        "hand_in(PARTS)\n"
        f"status = main._status({words.split()!r})\n"
        f"heavy = {[*HEAVY, *more]!r}\n"
        "print(status, *(each for each in heavy if each in sys.modules))"
    )
    ended = processes.run(Command(argv=(sys.executable, "-c", script), timeout_s=60))
    status, *found = ended.stdout.splitlines()[-1].split()
    assert status == "0", ended.stderr
    return found


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


PIPE = io.StringIO()
TERMINAL = Terminal()


@pytest.mark.parametrize(
    ("stream", "variables", "colored"),
    [
        (TERMINAL, {}, True),
        (PIPE, {}, False),
        (PIPE, {"FORCE_COLOR": "1"}, True),
        (TERMINAL, {"NO_COLOR": "1"}, False),
        (TERMINAL, {"NO_COLOR": ""}, True),
        (PIPE, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (TERMINAL, {"TERM": "dumb"}, False),
        (TERMINAL, {"CI": "true"}, False),
        (TERMINAL, {"CI": "true", "GITHUB_ACTIONS": "true"}, True),
        (PIPE, {"CI": "true", "GITHUB_ACTIONS": "true"}, False),
    ],
)
def test_where_there_are_colors(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, variables: dict[str, str], colored: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CI", "GITHUB_ACTIONS", "GITLAB_CI", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert takes_color(stream) is colored


SUMMARY = """\
  reduced  138,208  pass
verdict: fail. app: one of the outputs is another one than that of the plain build
  fail: parity:m: it differs
    to reproduce: megtrim verify --config megtrim.yaml --scenario m/default@any --again
  warning: pass me by
"""


def test_a_status_has_its_color(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    show_summary(SUMMARY)
    show(SUMMARY)

    red = "\x1b[31mfail\x1b[0m"
    verdict = "\x1b[1mverdict:\x1b[0m \x1b[31m\x1b[1mfail\x1b[0m"
    green = "\x1b[32mpass\x1b[0m"
    yellow = "\x1b[33mwarning\x1b[0m"
    colored = SUMMARY.replace("verdict: fail", verdict).replace("  fail", f"  {red}")
    colored = colored.replace("  pass\n", f"  {green}\n")
    assert capsys.readouterr().out == f"{colored.replace('warning', yellow)}\n{SUMMARY}\n"


def test_the_verdict_stands_apart_and_sentences_fit_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What people paste and tables stay as they are; without colour there is still the rule."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(echo, "count_columns", lambda *_, **__: 40)
    show_summary(SUMMARY)

    assert capsys.readouterr().out.splitlines() == [
        "  reduced  138,208  pass",
        "─" * 40,
        "verdict: fail. app: one of the outputs",
        "  is another one than that of the plain",
        "  build",
        "  fail: parity:m: it differs",
        "    to reproduce: megtrim verify --config megtrim.yaml --scenario m/default@any --again",
        "  warning: pass me by",
        "",
    ]


PRINTS = """
from megtrim.core.cli.echo import show
for _ in range(9999): show('x' * 99)
raise SystemExit(3)
"""


def test_a_result_is_made_printable(capsys: pytest.CaptureFixture[str]) -> None:
    show("::error::\x1b[2J")
    show_command("::error::a%0Ab")
    complain("\u202e")

    assert capsys.readouterr() == (
        "\\u003a:error::\\u001b[2J\n::error::a%0Ab\n",
        "megtrim: \\u202e\n",
    )


def test_a_reader_that_ends_does_not_change_the_exit_status() -> None:
    script = f'{sys.executable} -c "$1" | head -n 1; exit ${{PIPESTATUS[0]}}'
    outcome = ProcessRunner(os.environ).run(
        Command(argv=("bash", "-c", script, "bash", PRINTS), timeout_s=60)
    )

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (3, "x" * 99 + "\n", "")


@pytest.mark.parametrize(
    ("quiet", "said"), [(False, "one\nwarning: two\n"), (True, "warning: two\n")]
)
def test_it_speaks_on_stderr(capsys: pytest.CaptureFixture[str], quiet: bool, said: str) -> None:
    console = open_console(quiet=quiet)
    console.say("one")
    console.warn("two")

    assert capsys.readouterr() == ("", said)


def test_its_heartbeat_ends_with_the_command() -> None:
    before = threading.active_count()
    with click.Context(click.Command("verb")):
        open_console(quiet=False)
        assert threading.active_count() == before + 1

    assert threading.active_count() == before


def test_a_hooks_repository_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's own variables are dropped; how high it may look is a person's word."""
    monkeypatch.setenv("GIT_DIR", "/hook/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/hook/.git/index")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/tmp")

    env = open_processes().env

    assert {name for name in env if name.startswith("GIT_")} == {"GIT_CEILING_DIRECTORIES"}


@pytest.mark.parametrize(
    ("value", "ceilings"),
    [("", ()), ("/a", (Path("/a"),)), ("/a::/b/c/", (Path("/a"), Path("/b/c")))],
)
def test_ceilings(monkeypatch: pytest.MonkeyPatch, value: str, ceilings: tuple[Path, ...]) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", value)

    assert read_git_ceilings() == ceilings


def test_the_clock_can_be_set() -> None:
    with clock_at("2027-01-31"):
        assert (read_today(), read_now()) == (date(2027, 1, 31), datetime(2027, 1, 31, tzinfo=UTC))
    with clock_at("2027-01-31T23:59:00"):
        assert read_now() == datetime(2027, 1, 31, 23, 59, tzinfo=UTC)
    with clock_at("2027-01-31T23:59:00-02:00"):
        assert read_now() == datetime(2027, 2, 1, 1, 59, tzinfo=UTC)


def test_a_clock_that_was_set_is_announced() -> None:
    with clock_at("2027-01-31"):
        assert describe_clock().startswith("MEGTRIM_NOW is set: ")
    with clock_at(""):
        before = date.today()
        assert describe_clock() == ""
        assert before <= read_today() <= date.today()


@pytest.mark.parametrize("now", ["soon", "9999-12-31", "0001-01-01", "9999-12-31T23:59:59-14:00"])
def test_a_clock_that_shows_no_time_is_refused(now: str) -> None:
    with clock_at(now), pytest.raises(InputError) as caught:
        read_today()

    assert caught.value.message == (
        f"MEGTRIM_NOW: found {now!r}, expected a day or a time, such as 2027-01-31"
    )
