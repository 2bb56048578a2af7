"""A device job on a virtual phone: the runner's phone is a real adb daemon behind a real adb."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from act import stranger
from act.driver.forge import Forge
from act.driver.runner import Act
from act.world import HOSTED_JOBS, Chapter, World, content
from support.github_double import GithubDouble

CONFIG = (
    stranger.CONFIG.replace("kind: host", "kind: zig")
    .replace("{name: desk, qemu_cpu: max}", "{name: phone, qemu_cpu: max}")
    .replace(
        "name: bench, kind: local, class: desk",
        "name: rehearsed, kind: virtual-phone, class: phone",
    )
    .replace("max: 250 KiB", "max: 2 MiB")
)
DEVICE_JOB = "device phone 1/1"


@pytest.fixture(scope="module")
def first(act: Act, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chapter]:
    # The phone's root folder is made once for a machine, and kept there.
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    state = str(tmp_path_factory.mktemp("state"))
    env = {
        "CCACHE_DIR": os.environ.get("CCACHE_DIR") or str(Path(caches) / "ccache"),
        "MEGTRIM_HOST_RUNS_PROGRAMS": "yes",
        "XDG_CACHE_HOME": caches,
        "XDG_STATE_HOME": state,
    }
    with GithubDouble() as double:
        world = World(Forge(tmp_path_factory.mktemp("forge"), act, double, env), CONFIG)
        world.begin()
        yield world.run_pull(world.adopted)


def test_the_phone_proves_the_build_and_the_evidence_bears_it(first: Chapter) -> None:
    assert first.run.conclusions == {**HOSTED_JOBS, DEVICE_JOB: "success", "late": "success"}
    assert first.run.rc == 0
    verdict = content(first.run, "megtrim-report", "verdict.json")
    assert verdict["verdict"] == "pass"
    (check,) = [each for each in verdict["checks"] if each["kind"] == "device"]
    assert check["subject"] == "tiny-mobile/default@phone"
    assert check["text"].startswith("rehearsed: outputs equal to the last bit")
    assert "- ✅ pass: rehearsed: outputs equal to the last bit" in first.body
    (entry,) = content(first.run, "megtrim-evidence-phone-1", "evidence.json")["entries"]
    assert (entry["class"], entry["device"]["name"]) == ("phone", "rehearsed")
    assert entry["device"]["kind"] == "virtual-phone"
    assert "aarch64" in " ".join(entry["device"]["facts"].values())
    (result,) = entry["results"]
    assert (result["status"], result["attempts"]) == ("pass", [])
