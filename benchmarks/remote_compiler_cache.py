"""What a compiler cache beyond one machine saves, and what a dead one costs.

    .venv/bin/python benchmarks/remote_compiler_cache.py [FILES]

Builds FILES translation units (default 40) of some weight with this machine's compiler, each time
with an empty local cache: without a storage, filling one, reading it as another machine, and
with a storage that is dead, frozen, killed or frozen after it had answered. Needs redis-server,
ccache and g++. Prints seconds, and how many times those of the build without a storage.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from compiler_cache.test_remote_storage import Bench
from megtrim.libs.util.process import ProcessRunner
from support.storages import Redis, free_port, redis_server

_HEAVY = """\
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int part_{number}() {{
    std::map<std::string, std::vector<int>> all;
    for (int i = 0; i < {number}; ++i) all[std::to_string(i)].push_back(i);
    return static_cast<int>(all.size());
}}
"""


def main(files: int) -> None:
    """Measure each case once."""
    with tempfile.TemporaryDirectory(prefix="megtrim-benchmark-") as scratch:
        root = Path(scratch)
        own = {name: value for name, value in os.environ.items() if "CCACHE" not in name}
        processes = ProcessRunner(own)
        bench = Bench(root / "bench", processes)
        for number in range(1, files):
            part = bench.root / "engine" / "src" / f"part_{number}.cpp"
            part.write_text(_HEAVY.format(number=number), encoding="utf-8")
        plain = bench.build().wall_s
        _show(files, "no storage", plain, plain)
        (root / "redis").mkdir()
        with redis_server(processes, root / "redis") as redis:
            _measure(files, bench, redis, plain)


def _measure(files: int, bench: Bench, redis: Redis, plain: float) -> None:
    def build(what: str, url: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        _show(files, what, bench.build(url, meanwhile=meanwhile).wall_s, plain)

    build("filling it", redis.url())
    build("another machine", redis.url())
    build("dead", f"redis://127.0.0.1:{free_port()}")
    redis.ask("FLUSHALL")
    redis.freeze()
    build("frozen", redis.url())
    redis.thaw()
    build("frozen after it had answered", redis.url(), redis.freeze)
    redis.thaw()
    redis.ask("FLUSHALL")
    build("killed after it had answered", redis.url(), redis.kill)


def _show(files: int, what: str, wall_s: float, plain: float) -> None:
    sys.stdout.write(f"{files} files, {what:<30}{wall_s:8.1f} s {wall_s / plain:6.2f} x\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
