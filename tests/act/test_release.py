"""From a tag to a consumer that runs: built twice, proven on a device, published, linked.

Each step depends on those before it; whichever test is asked for, they run first.
"""

from pathlib import Path

import pytest

from act import stranger
from act.driver.forge import STRANGER
from act.driver.runner import Run
from act.world import DEVICE_JOB, World
from integration.sample_builds import build_consumer, run
from support.megtrim_cli import SAMPLE, run_megtrim

TAG = "v1.0.0"
FILE = f"{STRANGER.partition('/')[2]}-{TAG}.tar.gz"
CONFIG = f"{stranger.CONFIG}artifacts: [load_and_run, libsample_engine.so]\n"
JOBS = dict.fromkeys(("build", "rebuild", DEVICE_JOB, "prove", "publish"), "success")


@pytest.fixture(scope="module")
def released(world: World) -> Run:
    world.forge.merge(world.adopted)
    work = world.forge.code.work
    (work / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    stranger.adopt_releases(world.forge)
    stranger.trace(world.forge)
    sha = world.forge.code.save(message="Make releases", branch="main")
    world.forge.know(sha)
    world.forge.api.set_head("main", sha)
    world.forge.api.tags[TAG] = {"type": "commit", "sha": sha}
    return world.forge.run_tag(TAG, sha)


@pytest.fixture(scope="module")
def downloaded(world: World, released: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert released.conclusions == JOBS
    folder = tmp_path_factory.mktemp("downloads")
    (release,) = world.forge.api.releases.values()
    for asset in release["assets"]:
        (folder / asset["name"]).write_bytes(world.forge.api.assets[asset["id"]])
    return folder


def test_a_tag_becomes_a_release(world: World, released: Run) -> None:
    assert released.conclusions == JOBS
    (release,) = world.forge.api.releases.values()

    assert (release["tag_name"], release["draft"]) == (TAG, False)
    assert sorted(each["name"] for each in release["assets"]) == sorted(
        [
            "SHA256SUMS",
            "keepset.json",
            "provenance.intoto.json",
            "release.json",
            "sbom.cdx.json",
            FILE,
        ]
    )
    assert f"megtrim release verify {FILE} --sha256 " in release["body"]


def test_a_consumer_verifies_links_and_runs_it(downloaded: Path, tmp_path: Path) -> None:
    verified = run_megtrim("release", "verify", FILE, cwd=downloaded)
    assert verified.rc == 0, verified.stderr
    assert "every scenario is proven" in verified.stdout
    unpacked = run("tar", "-xzf", str(downloaded / FILE), "-C", str(tmp_path))
    assert unpacked.ok, unpacked.stderr
    program = build_consumer(tmp_path / FILE.removesuffix(".tar.gz"), tmp_path / "consumer")
    models = SAMPLE / "models"
    answer = run(
        str(program),
        str(models / f"{stranger.MODEL}.sample"),
        f"data={models / f'{stranger.MODEL}.data.npy'}",
    )

    assert answer.ok, answer.stderr
    assert answer.stdout
