"""What the lane shares: act, a folder that keeps what jobs set up, and the double of GitHub."""

import os
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import ziglang
from filelock import FileLock

from act import stranger
from act.driver.forge import Forge, provide_kit, serve_git
from act.driver.runner import Act
from act.world import World
from support.github_double import GithubDouble
from support.megtrim_cli import ROOT
from workflows.documents import script


@pytest.fixture(scope="session")
def act(tmp_path_factory: pytest.TempPathFactory, shared_out: Path) -> Act:
    cache = tmp_path_factory.mktemp("act")
    tools = Path.home() / ".cache" / "megtrim" / "runner-tools"
    tools.mkdir(parents=True, exist_ok=True)
    (cache / "tool_cache").symlink_to(tools)
    _share_zig(tools)
    return Act(
        program=shutil.which("act") or "act",
        cache=cache,
        home=_home(cache),
        traced=shared_out,
        kit=provide_kit(shared_out.with_name("kit")),
    )


def _home(cache: Path) -> dict[str, str]:
    # Jobs write below their home; what pip downloaded and zig compiled is the user's own.
    home = cache / "home"
    home.mkdir()
    pip = os.environ.get("PIP_CACHE_DIR") or str(Path.home() / ".cache" / "pip")
    zig = os.environ["ZIG_GLOBAL_CACHE_DIR"]
    return {"HOME": str(home), "PIP_CACHE_DIR": pip, "ZIG_GLOBAL_CACHE_DIR": zig}


def _share_zig(tools: Path) -> None:
    """Let the kit's zig be the one here: another would compile its C and C++ libraries again."""
    lock = ROOT / "requirements" / "kit.txt"
    own = Path(ziglang.__file__).parent
    (site,) = (
        script("kit").libraries(lock, tools / "megtrim").parents[1].glob("lib/*/site-packages")
    )
    assert (site / f"ziglang-{version('ziglang')}.dist-info").is_dir()
    with FileLock(site / "ziglang.lock"):
        installed = site / "ziglang"
        link = site / "ziglang.new"
        link.unlink(missing_ok=True)
        link.symlink_to(own)
        if not installed.is_symlink():
            shutil.rmtree(installed)
        link.replace(installed)


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        yield double


@pytest.fixture(scope="module")
def world(
    request: pytest.FixtureRequest, act: Act, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A stranger's repository with a pull request that adopts megtrim. Each module has its own.

    A module's ``HISTORY`` says whether sizes join the history there, its ``ADOPTED`` is the
    configuration that the pull request adopts.
    """
    ccache = os.environ.get("CCACHE_DIR") or str(Path.home() / ".cache" / "ccache")
    env = {"CCACHE_DIR": ccache, "MEGTRIM_HOST_RUNS_PROGRAMS": "yes"}
    root = tmp_path_factory.mktemp("forge")
    env |= serve_git(root, tmp_path_factory.mktemp("settings"))
    config = getattr(request.module, "ADOPTED", stranger.CONFIG)
    history = getattr(request.module, "HISTORY", False)
    with GithubDouble() as double:
        made = World(Forge(root, act, double, env), config, history=history)
        made.begin()
        yield made
