"""Every next step that is printed is typed, twice in a row: it works, or is not printed again.

In a fresh tree of git, which one trim is made in: each case spoils it, asks, and types the answer.
"""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from megtrim.core.cli.main import main
from megtrim.libs.util.errors import EXIT_BUG, InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import SAMPLE, Project, run_megtrim
from support.source_forge import GIT_ENV

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"
SCENARIO = f"{MODEL}/default@any"
PROCESSES = ProcessRunner(GIT_ENV)
_VERBS = "|".join(main.list_commands(click.Context(main)))
_TYPED = re.compile(rf"\bmegtrim (?:{_VERBS})\b(?:'[^']*'|[^`;,\n'])*|\bgit add [^\n]*")
_SAID = re.compile(r"^(?:next: | {2,}|megtrim: ).*", re.MULTILINE)
"""Lines of next steps and hints; others show what was done."""
_WITHOUT_A_VALUE = re.compile(r"\b[A-Z]{4,}\b|…")
"""A name for the reader to replace."""


def find_printed(ended: CompletedCommand) -> Iterator[str]:
    for line in _SAID.findall(f"{ended.stdout}\n{ended.stderr}"):
        for command in _TYPED.findall(line):
            if not _WITHOUT_A_VALUE.search(command):
                yield command.strip().rstrip(".)")


class Tree:
    """``type`` takes a line as a person's shell does."""

    def __init__(self, folder: Path) -> None:
        self.project = Project.of_sample(folder, models=(MODEL,))
        self.folder = folder

    def type(self, line: str) -> CompletedCommand:
        if line.startswith("megtrim ") and "&&" not in line:
            return run_megtrim(*shlex.split(line)[1:], cwd=self.folder)
        argv = ("sh", "-c", line)
        return PROCESSES.run(Command(argv=argv, timeout_s=60, cwd=self.folder))

    def git(self, *words: str) -> None:
        PROCESSES.capture("git", "-C", str(self.folder), *words)


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree(tmp_path_factory.mktemp("next") / "team")
    tree.project.change(toolchain={"kind": "host"})
    config = tree.project.read()
    del config["budgets"]
    tree.project.write(config)
    tree.git("init", "--quiet")
    for key, value in (("name", "me"), ("email", "me@example.invalid")):
        tree.git("config", f"user.{key}", value)
    return tree

def test_explore(trimmed, capsys):
    import os
    t = trimmed
    def show(line, depth=0):
        e = t.type(line)
        print("  "*depth + f"$ {line}  -> {e.rc}")
        found = list(dict.fromkeys(find_printed(e)))
        for f in found: print("  "*depth + f"    PRINTED {f}")
        if e.rc not in (0,1): print("   ", e.stderr[-600:])
        return e, found
    with capsys.disabled():
        def walk(line):
            e, found = show(line)
            for f in found:
                show(f, 1); show(f, 1)
            e2, again = show(line)
        walk("megtrim trim")
        walk("megtrim trim")
        t.git("add","-A"); t.git("commit","-qm","x")
        for what, setup, line in CASES:
            print("=====", what)
            try:
                setup(t)
                e, found = show(line)
                if e.rc in (0,1): print(re.sub("(?s)^.*verdict: ","verdict: ", e.stdout)[-900:])
                for f in found:
                    if f in seen and "accept" not in f: continue
                    seen.add(f); show(f, 1); show(f, 1)
                if found: show(line)
            except BaseException as x:
                print("EXC", repr(x))
            finally:
                t.git("reset","-q","--hard"); t.git("clean","-fdq")

seen=set()
def noop(t): pass
def conf(**k): return lambda t: t.project.change(**k)
def both(*fs):
    def f(t):
        for x in fs: x(t)
    return f
def args(*a):
    def f(t):
        c=t.project.read(); c["models"][0]["scenarios"][0]["args"]=list(a); t.project.write(c)
    return f
def rm(p):
    def f(t):
        q=t.folder/p
        shutil.rmtree(q) if q.is_dir() else q.unlink(missing_ok=True)
    return f
def write(p,s):
    def f(t): (t.folder/p).parent.mkdir(parents=True,exist_ok=True); (t.folder/p).write_text(s)
    return f
def edit(p,a,b):
    def f(t): 
        q=t.folder/p; s=q.read_text(); assert a in s; q.write_text(s.replace(a,b))
    return f
KS="megtrim/keepset"
KF="megtrim/keepset/tiny-mobile/default@any.json"
CASES=[
 ("no keepset committed", rm(KS), "megtrim trim --committed"),
 ("no keepset check", rm(KS), "megtrim check"),
 ("no keepset explain", rm(KS), "megtrim explain tiny-mobile"),
 ("no keepset verify", rm(KS), "megtrim verify --committed"),
 ("no keepset header", rm(KS), "megtrim stage header --committed"),
 ("damaged keepset", edit(KF, '"region ', '"regoin '), "megtrim check"),
 ("damaged keepset2", edit(KF, '{', '{,'), "megtrim trim"),
 ("keepset one region lost", None, "megtrim trim --committed"),
 ("keep set file", both(rm(KS), write(KS,"{}")), "megtrim trim"),
 ("profile committed", noop, "megtrim stage profile --committed"),
 ("functions of regions", noop, "megtrim stage functions"),
 ("functions level", conf(trim={"level":"function","layout":"scoped","minimum_size":True,"optimize":"none"}), "megtrim trim --committed"),
 ("functions level header accept", conf(trim={"level":"function","layout":"scoped","minimum_size":True,"optimize":"none"}), "megtrim stage header --accept"),
 ("trim other model", lambda t: shutil.copy(SAMPLE/"models/tiny-vgg.sample", t.folder/"x.sample"), "megtrim trim x.sample"),
 ("init there", lambda t: shutil.copy(SAMPLE/"models/tiny-vgg.sample", t.folder/"x.sample"), "megtrim init x.sample"),
 ("init add twice", noop, "megtrim init --add engine/models/tiny-mobile.sample"),
 ("init add", lambda t: shutil.copy(SAMPLE/"models/tiny-vgg.sample", t.folder/"x.sample"), "megtrim init --add x.sample"),
 ("init none", noop, "megtrim init"),
 ("no config", rm("megtrim.yaml"), "megtrim trim"),
 ("no config check", rm("megtrim.yaml"), "megtrim check"),
 ("no config explain", rm("megtrim.yaml"), "megtrim explain tiny-mobile"),
 ("other out verdict", noop, "megtrim explain verdict --out other"),
 ("address other out", noop, "megtrim explain --address 0x10 --out other"),
 ("explain nothing", noop, "megtrim explain"),
 ("explain unknown", noop, "megtrim explain nonesuch"),
 ("size why none", noop, "megtrim size why nonesuch"),
 ("history none", noop, "megtrim perf history"),
 ("size history none", noop, "megtrim size history"),
 ("compare none", noop, "megtrim perf compare 1a2b3c4 5d6e7f8"),
 ("append none", noop, "megtrim perf append run.json"),
 ("export twice", write("there/x","x"), "megtrim export there"),
 ("release there", write("rel/x","x"), "megtrim release build rel"),
 ("release uncommitted", args("--cpu","--iter","3"), "megtrim release build rel2 --committed"),
 ("perf run emu", noop, "megtrim perf run --rounds 3"),
 ("perf run x", noop, "megtrim perf run --experiment nonesuch"),
 ("perf tune", noop, "megtrim perf tune nonesuch"),
 ("probe scenario", noop, "megtrim probe tiny-mobile/default -- --cpu"),
 ("probe trap", lambda t: shutil.copy(SAMPLE/"models/tiny-vgg.sample", t.folder/"x.sample"), "megtrim probe x.sample -- --cpu"),
 ("probe bad arg", noop, "megtrim probe tiny-mobile -- --nonesuch"),
 ("probe bad input", noop, "megtrim probe tiny-mobile --input x=engine/models/tiny-mobile.data.npy -- --cpu"),
 ("lapsed waiver", conf(budgets=[{"artifact":"load_and_run","max":"50 KiB"}], waivers=[{"budget":"load_and_run","until":"2020-01-01","reason":"x","owner":"me"}]), "megtrim check"),
 ("against", noop, "megtrim trim --against nonesuch"),
 ("against2", noop, "megtrim trim --against HEAD"),
 ("require baseline", conf(budgets=[{"artifact":"load_and_run","growth":"4 KiB"}]), "megtrim trim --require-baseline"),
 ("quick", noop, "megtrim trim --quick"),
 ("quick header", noop, "megtrim stage header --quick"),
 ("compile error", write("engine/src/zz.cpp","int x\n"), "megtrim trim"),
 ("compile error2", lambda t: edit(next(p for p in (t.folder/"engine/src").rglob("*.cpp") if p.name=="main.cpp").relative_to(t.folder), "int main", "int int main")(t), "megtrim trim"),
 ("model missing", rm("engine/models/tiny-mobile.sample"), "megtrim trim"),
 ("input missing", rm("engine/models/tiny-mobile.data.npy"), "megtrim trim"),
 ("bad args", args("--cpu","--nonesuch"), "megtrim trim"),
 ("bad args iter", args("--cpu","--iter","x"), "megtrim trim"),
 ("no scenarios args input", lambda t: edit("megtrim.yaml","data: engine","dada: engine")(t), "megtrim trim"),
 ("lfs", write("engine/models/tiny-mobile.sample","version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 4\n"), "megtrim trim"),
 ("yaml typo", edit("megtrim.yaml","scenarios","senarios"), "megtrim trim"),
 ("device", noop, "megtrim trim --device nonesuch"),
 ("toolchain missing", conf(toolchain={"kind":"android-arm64"}), "megtrim trim"),
 ("doctor", noop, "megtrim doctor"),
 ("devices list", noop, "megtrim devices list"),
 ("devices check", noop, "megtrim devices check"),
 ("init github", noop, "megtrim init --github"),
 ("clean", noop, "megtrim clean --dry-run"),
 ("ci evidence", noop, "megtrim ci evidence pack --to b"),
 ("gate", noop, "megtrim ci gate megtrim-out/final"),
 ("gate none", noop, "megtrim ci gate nonesuch"),
 ("reached none", noop, "megtrim trim --reached nonesuch"),
 ("release verify none", noop, "megtrim release verify nonesuch"),
 ("report json", noop, "megtrim report --format junit"),
 ("neighbours", noop, "megtrim verify --neighbours"),
]
def lose(t):
    import json
    q=t.folder/KF; s=q.read_text().splitlines(); 
    at=[i for i,l in enumerate(s) if "sample_conv_depthwise" in l][0]
    del s[at]; q.write_text("\n".join(s)+"\n")
CASES=[(a, b or lose, c) for a,b,c in CASES]
