import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.checks.statuses import ScenarioStatus, VerdictKind
from megtrim.core.verdict.join import join
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.strict_json import dump
from megtrim.ship.crashes.program import dump_left_out
from megtrim.ship.release.check import check_release, expect_whole
from megtrim.ship.release.contents import (
    AAR_PATH,
    KEEP_SET_PATH,
    PROOFS_PATH,
    RELEASE_FILE,
    ReleaseContents,
    name_files,
)
from megtrim.ship.release.documents import BILL_FILE, CHECKSUMS_FILE, DOCUMENTS, STATEMENT_FILE
from unit.core.verdict.examples import RESNET, facts, passing, scenario
from unit.libs.elf.made_objects import shared_library
from unit.ship.crashes.made_programs import program
from unit.ship.release.examples import (
    GRAPHS,
    MODELS,
    PROOFS,
    PROVEN,
    contents,
    documents,
    for_other_engine,
    keep_set,
    proofs_of,
    sha,
    sum_up,
    write,
    write_for_android,
    write_release,
)

WHOLE = documents()
STATEMENT = WHOLE[STATEMENT_FILE]
CONFIGURATION = contents().configuration_sha256
PATHS = sorted(WHOLE)
LISTED = [path for path in PATHS if path != CHECKSUMS_FILE]
Damage = Callable[[Path], None]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write(tmp_path / "release")


def released() -> ReleaseContents:
    return name_files(
        contents(), {path: sha(WHOLE[path]) for path in LISTED if path not in DOCUMENTS}
    )


def problems(folder: Path) -> str:
    return "\n".join(check_release(folder).problems)


def test_a_whole_release_passes(release: Path) -> None:
    found = check_release(release, expected=sha(WHOLE[CHECKSUMS_FILE]))

    assert found.problems == ()
    assert found.contents == released()
    assert (sorted(found.files), found.sha256) == (LISTED, sha(WHOLE[CHECKSUMS_FILE]))


def test_it_may_be_moved_and_read_by_anyone(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "other", copy_function=shutil.copyfile)

    assert problems(tmp_path / "other") == ""


@pytest.mark.parametrize("path", LISTED)
def test_a_bit(path: str, release: Path) -> None:
    data = bytearray((release / path).read_bytes())
    data[len(data) // 2] ^= 1
    (release / path).write_bytes(data)

    assert f"{path} was changed: its sha256 is " in problems(release)


@pytest.mark.parametrize("path", PATHS)
def test_a_cut(path: str, release: Path) -> None:
    data = (release / path).read_bytes()
    (release / path).write_bytes(data[:-1])

    assert path in problems(release)


@pytest.mark.parametrize("path", PATHS)
def test_a_missing_file(path: str, release: Path) -> None:
    (release / path).unlink()
    if not any((release / path).parent.iterdir()):
        (release / path).parent.rmdir()

    assert f"{path} is missing" in problems(release)


@pytest.mark.parametrize("path", LISTED)
def test_a_link(path: str, release: Path, tmp_path: Path) -> None:
    shutil.move(release / path, tmp_path / "moved")
    (release / path).symlink_to(tmp_path / "moved")

    assert f"{path} is not a plain file" in problems(release)


@pytest.mark.parametrize("path", [path for path in LISTED if not path.startswith("include/")])
def test_another_name(path: str, release: Path) -> None:
    (release / path).rename(release / f"{path}.old")

    assert f"{path}.old was renamed: it is {path}" in problems(release)


def _swap(folder: Path) -> None:
    (folder / "bin/load_and_run").rename(folder / "x")
    (folder / "lib/libengine.so").rename(folder / "bin/load_and_run")
    (folder / "x").rename(folder / "lib/libengine.so")


def _replace(name: str, text: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    return damage


def _forge(texts: dict[str, str]) -> Damage:
    def damage(folder: Path) -> None:
        shutil.rmtree(folder)
        write(folder, sum_up(texts))

    return damage


def _lose(path: str) -> Damage:
    return _forge({name: text for name, text in WHOLE.items() if name != path})


def _without(line: str) -> str:
    return "".join(each for each in WHOLE[CHECKSUMS_FILE].splitlines(True) if line not in each)


def _described(**changes: object) -> Damage:
    return _forge(documents(described=replace(contents(), **changes)))  # type: ignore[arg-type]


NO_PROOF = f"share/proofs.json has no proof of {RESNET} by these programs"
UNLIKE = "comes from another release, or does not follow from release.json"
PENDING = scenario(RESNET, status=ScenarioStatus.UNVERIFIED, outputs=())
UNVERIFIED = contents(join(facts(scenarios=(PENDING,))))
OTHER_MODELS = MODELS | {"resnet18-s": "9" * 64}


def _traced_with(models: dict[str, str], graph: str | None = None) -> dict[str, str]:
    keep = keep_set(passing(), models=models, graph=graph)
    return documents(keep=keep, described=replace(contents(), keep_set_sha256=sha(keep)))


DAMAGES: dict[str, tuple[Damage, str]] = {
    "swapped": (_swap, "bin/load_and_run was changed"),
    "added": (_replace("bin/more", "more\n"), "bin/more was added: SHA256SUMS does not name it"),
    "hidden": (_replace(".hidden", ""), ".hidden was added"),
    "control": (_replace("a\x1b[31m", ""), r"'a\x1b[31m' was added"),
    "newline": (_replace("a\nb", ""), r"'a\nb' was added"),
    "twin missing": (
        lambda folder: (folder / "include/engine/twin.h").unlink(),
        "include/engine/twin.h is missing",
    ),
    "empty folder": (lambda folder: (folder / "empty").mkdir(), "empty is an empty folder"),
    "pipe": (lambda folder: os.mkfifo(folder / "pipe"), "pipe is not a plain file"),
    "linked folder": (
        lambda folder: (folder / "more").symlink_to(folder / "bin"),
        "more is not a plain file",
    ),
    "dangling": (lambda folder: (folder / "more").symlink_to("none"), "more is not a plain file"),
    "no checksums": (_replace(CHECKSUMS_FILE, ""), "SHA256SUMS:1: found no end of line"),
    "unnamed": (_replace(CHECKSUMS_FILE, _without("libengine.so")), "lib/libengine.so was added"),
    "outside": (_replace(CHECKSUMS_FILE, f"{'a' * 64}  ../secret\n"), "SHA256SUMS:1: found"),
    "binary checksums": (_replace(CHECKSUMS_FILE, "\udcff\n"), "SHA256SUMS:1: found the byte 0xff"),
    "forged removal": (_lose("licences/LICENSE"), f"{STATEMENT_FILE} {UNLIKE}"),
    **{
        name: (_forge(WHOLE | texts), f"{STATEMENT_FILE} {UNLIKE}")
        for name, texts in {
            "forged program": {"bin/load_and_run": "evil\n"},
            "forged addition": {"bin/more": "more\n"},
            "older provenance": {STATEMENT_FILE: documents(program="older\n")[STATEMENT_FILE]},
            "older description": {RELEASE_FILE: dump(contents(program="older\n"))},
            "other sources": {RELEASE_FILE: dump(for_other_engine())},
            "other configuration": {STATEMENT_FILE: STATEMENT.replace(CONFIGURATION, "d" * 64)},
            "other toolchain": {STATEMENT_FILE: STATEMENT.replace("clang 14", "clang 15")},
        }.items()
    },
    "older program": (
        _forge(WHOLE | {"bin/load_and_run": documents(program="older\n")["bin/load_and_run"]}),
        "bin/load_and_run is another build than release.json describes",
    ),
    **{
        f"no {path}": (_lose(path), f"{path}: cannot be read: No such file")
        for path in (STATEMENT_FILE, RELEASE_FILE)
    },
    "provenance of another kind": (
        _forge(WHOLE | {STATEMENT_FILE: '{"_type": "x"}\n'}),
        "provenance.intoto.json:1: ",
    ),
    "description of another version": (
        _forge(WHOLE | {RELEASE_FILE: '{"version": 3}\n'}),
        "release.json:1: version: found 3, expected 2",
    ),
    "other keep set": (
        _forge(documents(keep=keep_set(passing(), models=OTHER_MODELS))),
        "share/keepset.json is another keep set than release.json names",
    ),
    "keep set of another model": (
        _forge(_traced_with(OTHER_MODELS)),
        f"share/keepset.json was traced with another model for {RESNET}",
    ),
    "keep set of another graph": (
        _forge(_traced_with(OTHER_MODELS, graph="e" * 64)),
        f"share/keepset.json was traced with another model for {RESNET}",
    ),
    "no keep set": (
        _forge(documents(keep="{}\n", described=replace(contents(), keep_set_sha256=sha("{}\n")))),
        KEEP_SET_PATH,
    ),
    "unproven": (_forge(documents(described=UNVERIFIED)), f"{RESNET} is not proven"),
    "draft": (_described(draft=True), "release.json: it is a draft, which devices have still"),
    "failed": (_described(verdict=VerdictKind.FAIL), "release.json: the verdict is fail"),
    "no proof of a device": (_forge(documents(described=PROVEN)), NO_PROOF),
    "proof of another build": (
        _forge(documents(described=PROVEN, more={PROOFS_PATH: proofs_of("c" * 64)})),
        NO_PROOF,
    ),
    "proofs of another form": (
        _forge(documents(described=PROVEN, more={PROOFS_PATH: "{}\n"})),
        "share/proofs.json:1: ",
    ),
    "other parts": (
        _forge(WHOLE | {BILL_FILE: WHOLE[BILL_FILE].replace("f" * 40, "e" * 40)}),
        f"{BILL_FILE} {UNLIKE}",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_other_damage(name: str, release: Path) -> None:
    damage, said = DAMAGES[name]
    damage(release)

    assert said in problems(release)


def test_devices_may_prove_it(tmp_path: Path) -> None:
    texts = documents(described=PROVEN, more={PROOFS_PATH: dump(PROOFS)})

    assert problems(write(tmp_path / "release", texts)) == ""


def test_a_draft_need_not_be_proven(tmp_path: Path) -> None:
    pending = replace(contents().scenarios[0], status=ScenarioStatus.UNVERIFIED, outputs=())
    said = replace(contents(), draft=True, scenarios=(pending, *contents().scenarios[1:]))
    draft = write(tmp_path / "draft", documents(described=said))

    assert check_release(draft, draft=True).problems == ()
    assert len(check_release(draft).problems) == 2
    (draft / "bin/load_and_run").unlink()
    assert check_release(draft, draft=True).problems != ()


def test_all_that_is_wrong_is_one_error(release: Path) -> None:
    assert expect_whole(check_release(release), release) == released()
    (release / "bin/load_and_run").write_text("other", encoding="utf-8")
    (release / "lib/libengine.so").unlink()
    (release / "more").write_text("", encoding="utf-8")

    with pytest.raises(ProductFailure, match="is not what was released") as caught:
        expect_whole(check_release(release), release)
    for said in ("bin/load_and_run was changed", "lib/libengine.so is missing", "more was added"):
        assert said in caught.value.message


def test_another_whole_release_has_another_digest(release: Path, tmp_path: Path) -> None:
    older = write(tmp_path / "older", documents(program="older\n"))
    expected = check_release(release).sha256

    assert check_release(older).problems == ()
    [problem] = check_release(older, expected=expected).problems
    assert problem.endswith("this is another release")


def test_a_model_may_have_been_traced_with_other_weights(tmp_path: Path) -> None:
    folder = write(tmp_path / "retrained", _traced_with(OTHER_MODELS, graph=GRAPHS["resnet18-s"]))

    assert check_release(folder).problems == ()


def test_a_model_is_one_of_its_own(release: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.mge"
    other = tmp_path / "other.mge"
    own.write_text("own", encoding="utf-8")
    other.write_text("other", encoding="utf-8")
    models = MODELS | {"resnet18-s": sha("own")}
    keep = keep_set(passing(), models=models)
    stated = replace(
        contents(),
        keep_set_sha256=sha(keep),
        scenarios=tuple(
            replace(each, model_sha256=models[each.model]) for each in contents().scenarios
        ),
    )
    folder = write(tmp_path / "other-release", documents(keep=keep, described=stated))

    assert check_release(folder, model=own).problems == ()
    [problem] = check_release(folder, model=other).problems
    assert problem == (
        f"{other} is not one of its models (mobilenet-s, resnet18-s): "
        "this release is for another one"
    )


def test_a_folder_that_cannot_be_read_is_a_mistake(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied", "release/bin")

    with pytest.raises(InputError, match="is not a folder with a release"):
        check_release(release / "none")
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InputError, match=r"^release/bin: cannot be read: Permission denied"):
        check_release(release)


def test_an_aar_is_made_of_the_other_files(tmp_path: Path) -> None:
    whole = write_for_android(tmp_path / "whole", shared_library("LITE_run"))
    other = write_for_android(tmp_path / "other", shared_library("LITE_stop"))
    replaced = write_for_android(
        tmp_path / "replaced", shared_library("LITE_run"), aar=(other / AAR_PATH).read_bytes()
    )
    unable = write(tmp_path / "unable", documents(more={AAR_PATH: "PK"}))

    assert (problems(whole), problems(other)) == ("", "")
    for folder in (replaced, unable):
        assert f"{AAR_PATH} is not made of this release's library, headers" in problems(folder)


@pytest.mark.parametrize(
    ("left_out", "problem"),
    [
        (None, ""),
        ("", "symbols/app.left-out.json is missing, and functions of app were left out"),
        ("{}", "symbols/app.left-out.json:1: version: found nothing, expected this key"),
        (
            dump_left_out(program().left_out, program_sha256="0" * 64),
            "symbols/app.left-out.json is from another build than release.json describes",
        ),
        (
            dump_left_out((), program_sha256="0" * 64),
            "symbols/app.left-out.json lists 0 functions, release.json says 3",
        ),
    ],
)
def test_a_list_of_something_else(left_out: str | None, problem: str, tmp_path: Path) -> None:
    found = problems(write_release(tmp_path / "r", program(), left_out=left_out))

    assert problem in found
    assert bool(found) == bool(problem)


def test_a_list_of_no_program(tmp_path: Path) -> None:
    text = dump_left_out((), program_sha256="0" * 64)
    folder = write(tmp_path / "r", documents(more={"symbols/old.left-out.json": text}))

    assert problems(folder) == (
        "symbols/old.left-out.json does not belong in a release of these artifacts"
    )


def test_a_release_of_an_older_form_is_no_damage(tmp_path: Path) -> None:
    """What becomes of it is said, once its sums were compared."""
    older = WHOLE | {RELEASE_FILE: WHOLE[RELEASE_FILE].replace('"version": 2', '"version": 1', 1)}
    folder = write(tmp_path / "older", sum_up(older))
    with pytest.raises(InputError, match=r"older was released by megtrim 0\.1\.0, whose") as caught:
        expect_whole(check_release(folder), folder)
    assert "verify it with the megtrim that made it" in caught.value.hint

    (folder / "bin/load_and_run").write_text("other", encoding="utf-8")
    with pytest.raises(ProductFailure, match="bin/load_and_run was changed"):
        expect_whole(check_release(folder), folder)
