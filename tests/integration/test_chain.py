"""The chain on the sample engine, with real compilers and qemu, as a user runs it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import junitparser
import pytest

from integration.conftest import MakeProject
from megtrim.core.keep.keepset_files import find_files
from megtrim.core.size.baseline import dump_sizes, load_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.growth.causes import ORDERS, Cause
from megtrim.hosting.github.baselines import Base
from megtrim.libs.elf.layout import parse_build_id
from megtrim.libs.util.process import CompletedCommand
from megtrim.libs.util.strict_json import dump
from support.megtrim_cli import SAMPLE, KeepFolder, Project, read_verdict, run_megtrim

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"
SCENARIO = f"{MODEL}/default@any"
REDUCE = "reduce/reduced"
PRICE_WITHIN = 0.05
PRICE_WITHIN_BYTES = 4096
"""How far an attributed price may be from the real one, of which the larger counts."""
BUDGET = {"artifact": "load_and_run", "toolchains": ["arm64"]}


def _sizes(verdict: dict[str, Any]) -> dict[str, int]:
    return {row["variant"]: row["size_bytes"] for row in verdict["artifacts"][0]["sizes"]}


def _keep_set(project: Project) -> KeepFolder:
    return KeepFolder(project.folder / "megtrim" / "keepset")


def _probe(project: Project, model: str, *arguments: str, mode: str = "") -> CompletedCommand:
    models = project.folder / "engine/models"
    data = f"data={models / model}.data.npy"
    words = (*mode.split(), str(models / f"{model}.sample"), "--input", data)
    return project.run("probe", *words, "--", "--cpu", *arguments)


@pytest.fixture(scope="module")
def mobile(make_project: MakeProject) -> Project:
    project = make_project(MODEL)
    project.expect("trim")
    return project


@pytest.fixture(scope="module")
def vgg(make_project: MakeProject) -> Project:
    project = make_project("tiny-vgg")
    project.expect("trim")
    return project


@pytest.fixture(scope="module")
def own(mobile: Project, tmp_path_factory: pytest.TempPathFactory, shared_out: Path) -> Project:
    """With results that no other worker's project of the same model verifies meanwhile."""
    project = Project(mobile.folder)
    project.out = tmp_path_factory.mktemp("own")
    project.expect("stage reduce", "--reuse", str(shared_out))
    project.expect("trim")
    return project


@pytest.mark.parametrize(
    "toolchain",
    ["zig", "host", pytest.param("clang-linux-arm64", marks=pytest.mark.clang)],
)
def test_one_command_trims_and_proves(make_project: MakeProject, toolchain: str) -> None:
    """A second run of it does nothing."""
    project = make_project(toolchain=toolchain)
    ended = project.expect("trim")
    verdict = project.verdict()
    sizes = _sizes(verdict)

    assert verdict["verdict"] == "pass"
    assert [s["status"] for s in verdict["scenarios"]] == ["pass"] * 4
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    assert all(s["outputs"] for s in verdict["scenarios"])
    assert sizes["reduced"] < 0.6 * sizes["plain"] < sizes["plain"] < sizes["profile"]
    assert 0 < verdict["regions"]["kept"] < verdict["regions"]["held"]
    assert "reduced" in ended.stdout
    assert "index.html" in ended.stdout
    plain, shipped = (
        project.file(task, "bin/load_and_run").read_bytes() for task in ("build/plain", REDUCE)
    )
    assert (parse_build_id(plain), len(parse_build_id(shipped))) == ("", 40)

    second = project.expect("trim")
    plan = project.run("plan", "--why")
    up_to_date, step, budget = second.stdout.splitlines()
    assert up_to_date.startswith("everything is up to date: pass. load_and_run: ")
    assert step == "next: set a budget, in megtrim.yaml:"
    assert budget.startswith("budgets: [")
    assert second.stderr == ""
    assert plan.stdout.splitlines()[-1] == "everything is up to date"
    sized = project.run("size").stdout
    assert [line for line in sized.splitlines() if f"{sizes['reduced']:,}" in line]


def test_a_changed_argument_redoes_what_depends_on_it(make_project: MakeProject) -> None:
    project = make_project(MODEL)
    project.expect("trim")
    config = project.read()
    config["models"][0]["scenarios"][0]["args"] = ["--cpu", "--iter", "3"]
    project.write(config)
    steps = {s["task"]: s for s in json.loads(project.run("plan", "--json").stdout)}

    assert steps["build/plain"]["state"] == "done"
    assert steps["build/profile"]["state"] == "done"
    assert steps[f"profile/{SCENARIO}"]["state"] == "run"
    assert "arguments changed" in steps[f"profile/{SCENARIO}"]["why"]
    assert steps["header/keepset"]["state"] == "waits"
    assert project.run("trim").rc == 1  # the committed keep set is of other arguments
    project.expect("trim", "--accept")


def test_more_models_keep_more_near_their_prices(make_project: MakeProject) -> None:
    """At the margin and alone; what was trimmed before is still up to date."""
    pair = ("tiny-quant", MODEL)
    projects = {}
    keeps = {}
    sizes = {}
    for models in ((pair[0],), (pair[1],), pair, (*pair, "tiny-vgg")):
        project = projects[models] = make_project(*models)
        project.expect("trim")
        keeps[models] = {*_keep_set(project).read().regions()}
        sizes[models] = _sizes(project.verdict())["reduced"]
    found = json.loads(projects[pair].expect("size prices --json").stdout)

    assert keeps[pair[:1]] < keeps[pair] < keeps[*pair, "tiny-vgg"]
    assert sizes[pair[:1]] < sizes[pair] < sizes[*pair, "tiny-vgg"]
    assert found["size_bytes"] == sizes[pair]
    assert {each["name"] for each in found["prices"]["model"]} == {*pair}
    for each in found["prices"]["model"]:
        (other,) = {*pair} - {each["name"]}
        real = found["size_bytes"] - sizes[other,]
        assert real > 0
        assert abs(each["margin_bytes"] - real) <= max(PRICE_WITHIN * real, PRICE_WITHIN_BYTES)
        assert abs(each["alone_bytes"] - sizes[each["name"],]) <= PRICE_WITHIN_BYTES
    assert "everything is up to date: " in projects[pair].run("trim").stdout


def test_an_untraced_run_traps_and_is_named(vgg: Project) -> None:
    data = vgg.folder / "engine/models/tiny-vgg.data.npy"
    arguments = ("tiny-vgg", "--input", f"data={data}", "--")
    same = vgg.expect("probe", *arguments, "--cpu", "--iter", "2")
    other = vgg.run("probe", *arguments, "--cpu", "--enable-nchw44")

    assert same.stdout.startswith("pass:")
    assert other.rc == 1
    assert other.stdout.startswith("trap: ")
    assert "model      tiny-vgg" in other.stdout
    assert "arguments  --cpu --enable-nchw44" in other.stdout
    regions = [line for line in other.stdout.splitlines() if line.startswith("  region ")]
    assert any("nchw44" in line for line in regions)


def test_another_model_traps(mobile: Project) -> None:
    """By the committed keep set, no profile build is asked for before the trap."""
    ended = _probe(mobile, "tiny-quant")
    committed = _probe(mobile, "tiny-quant", mode="--committed")

    assert (ended.rc, committed.rc) == (1, 1)
    assert ended.stdout.startswith("trap:")
    assert committed.stdout.startswith("trap: ")
    assert "\n  region     " in committed.stdout
    # Other tests may have left further results in the same folder.
    assert REDUCE in committed.stderr.splitlines()[-1]
    assert "profile" not in committed.stderr


def test_a_damaged_model_is_no_trap(vgg: Project) -> None:
    """A minimum-size build traps on any error; the difference shows that nothing is missing."""
    whole = (vgg.folder / "engine/models/tiny-vgg.sample").read_bytes()
    damaged = vgg.folder / "damaged.sample"
    damaged.write_bytes(whole[: len(whole) // 2])
    ended = vgg.run("probe", str(damaged), "--", "--cpu")

    assert ended.rc == 1
    assert ended.stdout.startswith("engine-error:")
    assert "and the profile build fails too" in ended.stdout
    assert "region  " not in ended.stdout


def test_both_layouts_make_the_same_program(make_project: MakeProject, mobile: Project) -> None:
    trim = mobile.read()["trim"]
    assert trim["layout"] == "scoped"
    upstream = make_project(MODEL, trim=trim | {"layout": "upstream"})
    upstream.expect("trim")
    programs = [each.file(REDUCE, "bin/load_and_run") for each in (mobile, upstream)]

    assert programs[0].parents[1] != programs[1].parents[1]
    assert programs[0].read_bytes() == programs[1].read_bytes()


def test_results_do_not_depend_on_the_folder(tmp_path: Path, shared_out: Path) -> None:
    """Nor on what was taken from another folder of results."""
    found = []
    for name, more in (("here", ("--reuse", str(shared_out))), ("there/far/away", ())):
        project = Project.of_sample(tmp_path / name / "project", models=(MODEL,))
        project.expect("trim", *more)
        done = project.done()
        found.append(
            {
                "keep set": (done["header/keepset"] / "keepset.json").read_bytes(),
                "macros": (done["header/keepset"] / "include/bin_reduce.h").read_bytes(),
                "midout.h": (done["header/keepset"] / "include/midout.h").read_bytes(),
                "program": (done[REDUCE] / "bin/load_and_run").read_bytes(),
                "junit": _without_times(done["report/report"] / "junit.xml"),
            }
        )

    assert found[0] == found[1]


def _without_times(path: Path) -> str:
    suites = junitparser.JUnitXml.fromfile(str(path))
    for suite in suites:
        suite.time = 0
        for case in suite:
            case.time = 0
    suites.time = 0
    return str(suites.tostring())  # type: ignore[no-untyped-call]


def test_a_verification_that_only_took_another_time_makes_nothing_again(own: Project) -> None:
    own.expect("verify", "--again")
    ended = own.expect("trim")
    assert "everything is up to date: " in ended.stdout


def test_a_run_after_cleaning_is_up_to_date(own: Project) -> None:
    with own.changed(budgets=[{"artifact": "load_and_run", "max": "1 MiB"}]):
        own.expect("trim")
    own.expect("trim")
    assert len([*own.out.glob("report/*")]) > 1

    cleaned = run_megtrim("clean", "--out", str(own.out))
    ended = own.expect("trim")

    assert "build tree" in cleaned.stdout
    assert "report/report" in cleaned.stdout
    assert len([*own.out.glob("report/*")]) == 1
    assert "everything is up to date: " in ended.stdout


ODD: tuple[dict[str, object], ...] = (
    {"result": {}},
    {"result": None},
    {"result": {"verdict": "x"}},
    {"files": {}},
    {"files": {"../../x": {"sha256": "0", "bytes": 0}}},
    {"inputs": {"a": 3}},
    {"key": ["x"]},
    {"name": {"a": 1}},
)


def test_an_odd_manifest_is_made_again(own: Project) -> None:
    """Of every stage, whatever is odd about it: never our own bug, never another verdict."""
    for turn in range(2):
        manifests = sorted(own.out.glob("*/*/manifest.json"))
        for at, path in enumerate(manifests):
            data = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps(data | ODD[(at + 3 * turn) % len(ODD)]), encoding="utf-8")
        ended = own.expect("trim")
        # The last two are others, where other files were compiled meanwhile.
        verdict = own.file("verdict/verdict", "verdict.json").parent
        for path in manifests:
            if path.parts[-3] not in ("verdict", "report") or path.parent == verdict:
                assert f"{path.parent} was damaged: its manifest is not" in ended.stderr
        assert own.verdict()["verdict"] == "pass"


def _trim_committed(project: Project, *words: str) -> tuple[CompletedCommand, dict[str, Any]]:
    ended = project.run("trim", "--committed", "--json", *words)
    return ended, read_verdict(ended)


def test_the_committed_keep_set_makes_the_same_program(mobile: Project, tmp_path: Path) -> None:
    """No profile build and no trace; also from a folder of results that is spelled with ``..``."""
    reduced = mobile.file(REDUCE, "bin/load_and_run").read_bytes()
    (tmp_path / "companion").mkdir()
    fresh = Project(mobile.folder)
    fresh.out = tmp_path / "companion" / ".." / "fresh"
    before = _keep_set(mobile).texts()

    first, verdict = _trim_committed(fresh)
    second = fresh.run("trim", "--committed")

    assert first.rc == 0, first.stderr
    made = [json.loads(path.read_text("utf-8")) for path in fresh.out.glob("*/*/manifest.json")]
    assert {f"{data['stage']}/{data['name']}" for data in made} == {
        "build/plain",
        "header/keepset",
        REDUCE,
        f"verify/{SCENARIO}",
        "size/artifacts",
        "verdict/verdict",
        "report/report",
    }
    found = next(fresh.out.glob("reduce/*/bin/load_and_run"))
    assert found.read_bytes() == reduced
    assert _keep_set(mobile).texts() == before
    assert "everything is up to date" in second.stdout

    kept = len(_keep_set(mobile).read().regions())
    assert verdict["verdict"] == "pass"
    assert (verdict["regions"]["held"], verdict["regions"]["kept"]) == (0, kept)
    assert verdict["headline"].endswith(f", {kept} regions kept")
    assert [*_sizes(verdict)] == ["plain", "reduced"]
    assert [(s["id"], s["status"], s["regions"]) for s in verdict["scenarios"]] == [
        (SCENARIO, "pass", kept)
    ]
    left = {path.name: path for path in (fresh.out / "final").glob("[!.]*")}
    reports = {"verdict.json", "junit.xml", "report.md", "index.html", "sizes.json"}
    assert set(left) == {*reports, "bin"}
    assert (left["bin"] / "load_and_run").read_bytes() == reduced
    assert json.loads(left["verdict.json"].read_text(encoding="utf-8")) == verdict


def test_growth_is_reported_for_every_file_that_the_baseline_holds(
    mobile: Project, tmp_path: Path
) -> None:
    """With or without a budget; the command line's baseline wins over the configured one."""
    sizes = _sizes(_trim_committed(mobile)[1])
    before = {"plain": sizes["plain"] + 100, "reduced": sizes["reduced"] - 2_048}
    baseline = tmp_path / "sizes.json"
    source = "main at 1a2b3c4d5e6f, the merge base"
    document = {"version": 2, "artifacts": {"load_and_run": before}, "source": source}
    baseline.write_text(json.dumps(document), encoding="utf-8")
    budgets = [{"artifact": "load_and_run", "growth": "1 KiB"}]

    with mobile.changed(budgets=budgets, baseline="gone.json"):
        ended, verdict = _trim_committed(mobile, "--baseline", str(baseline))

    assert ended.rc == 1, ended.stderr
    assert verdict["baseline"] == source
    rows = verdict["artifacts"][0]["sizes"]
    assert [(row["variant"], row["growth_bytes"]) for row in rows] == [
        ("plain", -100),
        ("reduced", 2_048),
    ]
    [budget] = verdict["budgets"]
    assert (budget["used"], budget["status"]) == (2_048, "fail")
    folder = Path(json.loads(ended.stdout)["done"]["report/report"]["folder"])
    for page in ("report.md", "index.html"):
        shown = (folder / page).read_text(encoding="utf-8")
        assert "main at 1a2b3c4d5e6f" in shown.replace("<code>", "").replace("</code>", "")


def test_what_trimming_costs_is_shown(mobile: Project) -> None:
    """Numbers that never mattered to a kernel work; other kernels, threads and words trap."""
    ended = mobile.expect("verify", "--neighbours", "--json")
    again = mobile.expect("verify", "--neighbours")
    result = json.loads(ended.stdout)["done"][f"neighbours/{SCENARIO}"]["result"]
    rows = {
        row["name"]: {level["level"]: level["outcome"] for level in row["levels"]}
        for row in result["neighbours"]
    }

    works = [name for name, levels in rows.items() if levels == {"region": "same"}]
    traps = [name for name, levels in rows.items() if levels == {"region": "trapped"}]
    assert {"iter-1", "iter-3", "iter-12", "warm-up-0", "warm-up-3", "other-values"} <= set(works)
    assert {"threads-2", "enable-nchw44", "no-model", "unknown-flag"} <= set(traps)
    assert rows["larger-input"] == {}  # its shapes are fixed, on plain as well
    assert "everything is up to date" in again.stderr
    assert again.stdout.splitlines()[0] == SCENARIO
    last = next(line for line in again.stdout.splitlines() if "of those that apply" in line)
    assert last.split()[-3:] == [str(len(works)), "of", str(len([r for r in rows.values() if r]))]

    mobile.expect("trim", "--neighbours")
    final = mobile.out / "final"
    verdict = json.loads((final / "verdict.json").read_text(encoding="utf-8"))
    row = next(row for row in verdict["neighbours"] if row["name"] == "enable-nchw44")
    assert any("sample_blocking<" in need for need in row["levels"][0]["needs"])
    assert 'id="neighbours"' in (final / "index.html").read_text(encoding="utf-8")
    assert "enable-nchw44" in (final / "report.md").read_text(encoding="utf-8")


def _rebuilt(project: Project) -> list[str]:
    manifest = json.loads(project.file(REDUCE, "manifest.json").read_text(encoding="utf-8"))
    reported: list[str] = manifest["result"]["build"]["rebuilt"]
    return reported


def _declaring(project: Project, changed: set[str]) -> set[str]:
    root = project.folder / "engine"
    words = re.compile("|".join(rf"MIDOUT_DECL\({name}\)|#if.*\b{name}\b" for name in changed))
    return {
        str(path.relative_to(root))
        for path in (root / "src").rglob("*.cpp")
        if words.search(path.read_text(encoding="utf-8"))
    }


def _headers(project: Project) -> dict[str, bytes]:
    newest = max(project.out.glob("header/*/manifest.json"), key=lambda path: path.stat().st_mtime)
    files = newest.parent.joinpath("include").rglob("*.h")
    return {path.stem: path.read_bytes() for path in files}


def test_one_more_model_compiles_what_declares_a_changed_tag(make_project: MakeProject) -> None:
    """In results of its own: what is compiled depends on what was built there before."""
    project = make_project(MODEL)
    project.out = project.folder / "out"
    project.expect("trim")
    first = _rebuilt(project)
    units = project.verdict()["rebuild"]["units"]
    before = _headers(project)
    both = make_project(MODEL, "tiny-vgg").read()["models"]
    project.change(models=[dict(m, scenarios=m["scenarios"][:1]) for m in both])
    project.expect("stage header", "--accept")
    after = _headers(project)
    changed = {name for name in after if after[name] != before[name]}
    project.expect("trim")
    reported = _rebuilt(project)

    assert len(first) == units > 40
    assert "src/kernels/pooling/plain.cpp" in first
    assert 0 < len(changed) < 6
    assert set(reported) == _declaring(project, changed)
    assert len(reported) < 6
    assert project.verdict()["rebuild"] == {"compiled": len(reported), "units": units}


def test_one_command_trims_for_two_toolchains(tmp_path: Path, shared_out: Path) -> None:
    """Where a verb is of one, it asks for a choice."""
    project = Project.of_sample(tmp_path / "project", models=(MODEL,))
    config = project.read()
    del config["toolchain"]
    config["toolchains"] = [{"name": "desk", "kind": "host"}, {"name": "arm64", "kind": "zig"}]
    project.write(config | {"budgets": [{**BUDGET, "max": "10 MiB"}]})
    asked = project.run("explain", "--json", "conv")
    assert asked.rc == 2
    assert f"expected --config {project.config}#desk or" in asked.stderr

    ended = project.expect("trim", "--reuse", str(shared_out), timeout_s=1200)
    cells = [row.split() for row in ended.stdout.rstrip().splitlines()[-2:]]
    assert [row[:2] for row in cells] == [[name, "load_and_run"] for name in ("desk", "arm64")]
    assert [row[-1] for row in cells] == ["pass", "pass"]
    found: dict[str, Any] = {
        name: json.loads((project.out / name / "final/verdict.json").read_text(encoding="utf-8"))
        for name in ("desk", "arm64")
    }
    assert [len(each["budgets"]) for each in found.values()] == [0, 1]
    assert len({each["toolchain"]["target"] for each in found.values()}) == 2
    keep_set = project.folder / "megtrim" / "keepset"
    assert [len(find_files(keep_set / name)) for name in found] == [1, 1]

    planned = project.run("plan")
    assert planned.stdout.count("everything is up to date") == 2

    where = (f"{project.config}#arm64", "--out", str(project.out / "arm64"))
    chosen = project.run("size", "--config", *where)
    assert (chosen.rc, "nothing was built or run" in chosen.stderr) == (0, True), chosen.stderr

    project.change(budgets=[{**BUDGET, "max": "1 KiB"}])
    ended = project.run("trim", "--committed")
    assert ended.rc == 1
    rows = ended.stdout.rstrip().splitlines()[-2:]
    assert [row.split()[-1] for row in rows] == ["pass", "fail"]
    assert "  run   build" not in ended.stderr


@pytest.mark.parametrize("quick", [False, True])
def test_plain_and_reduced_of_a_merge_base_are_built_from_what_is_committed(
    tmp_path: Path, shared_out: Path, quick: bool
) -> None:
    """A quick baseline needs no keep set."""
    project = Project(shutil.copytree(SAMPLE, tmp_path / "base"))
    project.out = shared_out
    project.env = {"GITHUB_OUTPUT": str(tmp_path / "outputs")}
    budgets = [{"artifact": "load_and_run", "max": "1 KiB"}]
    project.change(toolchain={"kind": "host"}, budgets=budgets, baseline="sizes.json")
    (project.folder / "sizes.json").write_text('{"version": 1}', encoding="utf-8")
    if quick:
        project.change(models=project.read()["models"][:1])
        _keep_set(project).remove()
    left = shared_out / "baseline"
    left.mkdir(exist_ok=True)
    base = Base(sha="1a2b3c4d5e6f" + "0" * 28, branch="main", what="the merge base")
    (left / "wanted.json").write_text(dump(base), encoding="utf-8")
    known = {("load_and_run", "plain"): 7, ("load_and_run", "reduced"): 3}
    known_sizes = dump_sizes(Baseline(sizes=known, source="the known", quick=quick))
    (left / "sizes.json").write_text(known_sizes, encoding="utf-8")

    done = project.expect("ci github baseline rebuild")

    found = load_sizes(left / "sizes.json", shown="")
    assert (found.quick, found.source) == (quick, "main at 1a2b3c4d5e6f, the merge base, rebuilt")
    assert found.sizes.keys() == known.keys()
    assert 0 < found.sizes["load_and_run", "reduced"] < found.sizes["load_and_run", "plain"]
    assert "build/profile" not in done.stderr
    assert "\nrebuilt\n" in (tmp_path / "outputs").read_text(encoding="utf-8")
    assert _keep_set(project).path.exists() is not quick
    if not quick:
        assert found.parts.keys() == {("load_and_run", "reduced")}
        assert found.made_from.made_from.keys() == {*Cause, ORDERS}
