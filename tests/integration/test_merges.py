"""Whole repositories under `git merge`: what two branches add comes together without a conflict.

Many hosts, GitHub among them, merge without asking for drivers in .gitattributes, so there are
none here.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from integration.conftest import MakeProject
from megtrim.core.cli.session.templates import StarterModel, model_files, starter
from megtrim.core.config.load import load_config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.keepset_files import dump_folder, read_folder
from megtrim.core.keep.region import Region
from megtrim.engines.models.operators import OperatorInfo, merge
from megtrim.engines.sample import SampleEngine
from megtrim.hosting.caller_texts import Callers, Kit, workflows
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import read_verdict
from support.scenario_records import make_record
from support.source_forge import GIT_ENV

pytestmark = pytest.mark.chain

PAIRS = 200
SAMPLES = ("tiny-quant", "tiny-mobile", "tiny-vgg")
CALLERS = workflows(
    Callers(
        kit=Kit(
            repository="acme/megtrim", sha="0123456789abcdef" * 2 + "01234567", version="v1.2.3"
        ),
        branch="main",
        config="megtrim.yaml",
        keep_set="megtrim/keepset",
    )
)
_OPERATORS = ("Concat", "Elemwise", "MatrixMul", "Pooling", "Split")


@dataclass(frozen=True, slots=True)
class Model:
    needs: OperatorInfo
    scenarios: Mapping[str, frozenset[int]]


Team = Mapping[str, Model]
"""Name -> model: all that a team's repository is made from."""


def join(one: Team, other: Team) -> Team:
    joined = dict(one)
    for name, model in other.items():
        known = joined.get(name, model)
        joined[name] = replace(model, scenarios={**known.scenarios, **model.scenarios})
    return joined


def keep_set(team: Team) -> KeepSet:
    return build_keep_set(
        20220507,
        [
            make_record(
                (Region("tag", (number,)) for number in regions), scenario=f"{name}/{scenario}@any"
            )
            for name, model in team.items()
            for scenario, regions in model.scenarios.items()
        ],
        merge([(name, model.needs) for name, model in team.items()]),
    )


def files(team: Team) -> dict[str, str]:
    texts = {"megtrim.yaml": starter(SampleEngine.starter), **CALLERS}
    for name, model in team.items():
        file, default = model_files([StarterModel(file=f"models/{name}.mge")]).items()
        texts |= {f"models/{name}.mge": name, file[0]: file[1]}
        for scenario in model.scenarios:
            text = default[1].replace("name: default", f"name: {scenario}")
            texts[default[0].replace("default", scenario)] = text
    kept = dump_folder(keep_set(team)).items()
    return texts | {f"megtrim/keepset/{name}": text for name, text in kept}


def draw_model(chance: random.Random, scenarios: list[str]) -> Model:
    needs = OperatorInfo(
        hash=chance.choice([None, chance.randrange(4)]),
        dtypes=("Float32",),
        opr_types=tuple(sorted(chance.sample(_OPERATORS, 2))),
        elemwise_modes=(),
    )
    regions = [frozenset(chance.sample(range(12), chance.randint(1, 6))) for _ in scenarios]
    return Model(needs, dict(zip(scenarios, regions, strict=True)))


def draw_names(chance: random.Random, word: str, most: int) -> list[str]:
    """Return names from a small range, so that those of two branches are often neighbours."""
    return [f"{word}{number:02}" for number in sorted(chance.sample(range(40), most))]


def draw_pair(seed: int) -> tuple[Team, Team, Team]:
    chance = random.Random(seed)
    names = draw_names(chance, "net", 9)
    chance.shuffle(names)
    old, ours, theirs = (names[each : each + chance.randint(1, 3)] for each in (0, 3, 6))
    base = {name: draw_model(chance, draw_names(chance, "run", 2)) for name in old}
    sides = []
    for side, added in ((0, ours), (1, theirs)):
        team = {name: draw_model(chance, draw_names(chance, "run", 2)) for name in added}
        for name, model in base.items():
            if chance.random() < 0.7:
                # Names of one side are even, those of the other odd: no two add the same.
                numbers = chance.sample(range(side, 40, 2), 2)
                more = draw_model(chance, [f"more{number:02}" for number in numbers])
                team[name] = replace(model, scenarios=more.scenarios)
        sides.append(join(base, team))
    return base, sides[0], sides[1]


@dataclass(frozen=True, slots=True)
class Repository:
    folder: Path

    def git(self, *words: str, stdin: Path | None = None) -> CompletedCommand:
        argv = ("git", "-C", str(self.folder), *words)
        return ProcessRunner(GIT_ENV).run(Command(argv=argv, timeout_s=60, stdin=stdin))

    def add(self, branches: Mapping[str, tuple[str, Mapping[str, str]]]) -> None:
        """Make branches: name -> the one that it starts from, or none, and its files."""
        stream = self.folder.with_name("stream")
        with stream.open("wb") as output:
            for name, (start, texts) in branches.items():
                begin = f"from refs/heads/{start}\ndeleteall\n" if start else ""
                head = f"commit refs/heads/{name}\ncommitter t <t@invalid> 0 +0000\ndata 0\n"
                output.write(f"{head}{begin}".encode())
                for path, text in texts.items():
                    data = text.encode()
                    output.write(b"M 100644 inline %s\ndata %d\n" % (path.encode(), len(data)))
                    output.write(data + b"\n")
        imported = self.git("fast-import", "--quiet", stdin=stream)
        assert imported.ok, imported.stderr

    def add_sides(self, base: Mapping[str, str], *sides: Mapping[str, str]) -> None:
        """Make ``base``, and ``ours`` and ``theirs`` and ``third`` from it."""
        commits: dict[str, tuple[str, Mapping[str, str]]] = {"base": ("", base)}
        for name, side in zip(("ours", "theirs", "third"), sides, strict=False):
            commits[name] = ("base", side)
        self.add(commits)

    def merge(self, ours: str, *others: str) -> CompletedCommand:
        """Check out a branch, and merge others one by one; return how the last one went."""
        assert self.git("checkout", "-q", "-f", ours).ok
        return [self.git("merge", "-q", "--no-edit", other) for other in others][-1]

    def texts(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.folder)): path.read_text(encoding="utf-8")
            for path in self.folder.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(self.folder).parts
        }


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "team")
    made.folder.mkdir()
    assert made.git("init", "-q").ok
    return made


@pytest.mark.parametrize("tenth", range(10))
def test_two_branches_that_add_never_conflict(repository: Repository, tenth: int) -> None:
    pairs = {seed: draw_pair(seed) for seed in range(PAIRS) if seed % 10 == tenth}
    branches = {}
    for seed, (base, ours, theirs) in pairs.items():
        branches[f"base{seed}"] = ("", files(base))
        branches[f"ours{seed}"] = (f"base{seed}", files(ours))
        branches[f"theirs{seed}"] = (f"base{seed}", files(theirs))
    repository.add(branches)

    for seed, (_, ours, theirs) in pairs.items():
        merged = repository.merge(f"ours{seed}", f"theirs{seed}")
        assert merged.rc == 0, f"{seed}: {merged.stdout}"
        both = join(ours, theirs)
        assert repository.texts() == files(both), seed
        _expect_union(repository.folder, both)


def _expect_union(folder: Path, team: Team) -> None:
    kept = keep_set(team)
    configured = all_scenarios(load_config(folder / "megtrim.yaml").config)

    assert read_folder(folder / "megtrim/keepset") == kept
    assert sorted(each.id for each in configured) == [each.id for each in kept.scenarios]


def test_the_pairs_add_what_they_are_to_add() -> None:
    pairs = [draw_pair(seed) for seed in range(PAIRS)]
    grown = [
        [name for name in base if len(side[name].scenarios) > len(base[name].scenarios)]
        for base, *sides in pairs
        for side in sides
    ]
    to_one_model = [{*one} & {*other} for one, other in zip(grown[::2], grown[1::2], strict=True)]

    assert all(set(ours) - set(base) and set(theirs) - set(base) for base, ours, theirs in pairs)
    assert not [1 for base, ours, theirs in pairs if (set(ours) & set(theirs)) - set(base)]
    assert sum(map(bool, to_one_model)) > PAIRS / 4


@pytest.mark.parametrize("theirs", [{38, 40}, {41}])
def test_a_scenario_that_both_traced_again_merges_by_region(
    repository: Repository, theirs: set[int]
) -> None:
    """In different places of one file; no line's comma depends on whether it is the last."""
    base = {31, 33, 35, 37, 39}
    ours = {30}
    needs = draw_model(random.Random(1), []).needs

    def texts(regions: set[int]) -> dict[str, str]:
        return files({"net": Model(needs, {"run": frozenset(regions)})})

    repository.add_sides(texts(base), texts(base | ours), texts(base | theirs))

    assert repository.merge("ours", "theirs").ok
    assert repository.texts() == texts(base | ours | theirs)


def test_a_queue_of_three_is_the_union_of_all(repository: Repository) -> None:
    base, ours, theirs = draw_pair(7)
    third = join(base, {"zoo": draw_model(random.Random(7), ["default"])})
    repository.add_sides(*map(files, (base, ours, theirs, third)))

    assert repository.merge("ours", "theirs", "third").ok
    _expect_union(repository.folder, join(join(ours, theirs), third))


def test_after_two_merges_the_union_is_built_and_proven(make_project: MakeProject) -> None:
    project = make_project(*SAMPLES)
    config = project.read()
    models = {model["name"]: model for model in config["models"]}
    project.write(config | {"models": "megtrim/models/*.yaml"})
    team = Repository(project.folder)
    assert team.git("init", "-q", "-b", "main").ok

    def add(name: str) -> None:
        model = models[name] | {"scenarios": models[name]["scenarios"][:1]}
        path = project.folder / f"megtrim/models/{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(model), encoding="utf-8")
        project.expect("stage header", "--accept")
        assert team.git("add", "--all").ok and team.git("commit", "-q", "-m", f"Add {name}").ok

    first, *others = SAMPLES
    add(first)
    for name in others:
        assert team.git("checkout", "-q", "-b", name, "main").ok
        add(name)
    assert team.merge("main", *others).ok

    ended = project.expect("trim", "--committed", "--json")
    verdict = read_verdict(ended)
    again = project.run("stage header")

    assert [(each["id"], each["status"]) for each in verdict["scenarios"]] == [
        (f"{name}/default@any", "pass") for name in sorted(SAMPLES)
    ]
    assert again.rc == 0, again.stderr
    assert "is not what was traced now" not in again.stderr


def test_the_same_model_twice_conflicts_in_its_files_alone(repository: Repository) -> None:
    """Only a person knows which of the two is meant."""
    base, _, _ = draw_pair(1)
    one, other = (draw_model(random.Random(seed), ["default"]) for seed in (1, 2))
    sides = (base, join(base, {"new": one}), join(base, {"new": other}))
    repository.add_sides(*map(files, sides))

    assert repository.merge("ours", "theirs").rc == 1
    conflicts = repository.git("diff", "--name-only", "--diff-filter=U").stdout.split()
    assert conflicts == ["megtrim/keepset/new/default@any.json"]


def test_a_removed_model_takes_its_files_along(repository: Repository) -> None:
    stays, goes, new = (draw_model(random.Random(seed), ["default"]) for seed in (1, 2, 3))
    base = {"stays": stays, "goes": goes}
    repository.add_sides(*map(files, (base, {"stays": stays}, {**base, "new": new})))

    assert repository.merge("ours", "theirs").ok
    _expect_union(repository.folder, {"stays": stays, "new": new})
    assert not (repository.folder / "megtrim/keepset/goes").exists()
