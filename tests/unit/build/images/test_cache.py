"""The folder of the compiler's cache is the one that ccache itself would take."""

from __future__ import annotations

from pathlib import Path

from megtrim.build.images import container_runner


def test_where_it_is(tmp_path: Path) -> None:
    """Named; in the user's cache; where older ones had it; or next to the results."""
    other = tmp_path / "results"
    home = {"HOME": str(tmp_path)}

    assert container_runner.folder({"CCACHE_DIR": "/c", **home}, otherwise=other) == Path("/c")
    assert container_runner.folder({"CCACHE_DIR": "c"}, otherwise=other) == Path.cwd() / "c"
    assert container_runner.folder(home, otherwise=other) == tmp_path / ".cache" / "ccache"
    named = {"XDG_CACHE_HOME": "/x", **home}
    assert container_runner.folder(named, otherwise=other) == Path("/x/ccache")
    assert container_runner.folder({}, otherwise=other) == other
    (tmp_path / ".ccache").mkdir()
    assert container_runner.folder(named, otherwise=other) == tmp_path / ".ccache"
