"""Stand-in for actions/cache: a tar per key, in a folder. A key that is taken is not saved."""

import hashlib
import os
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path


def main(verb: str, env: Mapping[str, str]) -> int:
    store = Path(env["MEGTRIM_STAND_IN_CACHE"])
    store.mkdir(parents=True, exist_ok=True)
    paths = [line.strip() for line in env["IN_PATH"].splitlines() if line.strip()]
    return save(store, paths, env) if verb == "save" else restore(store, paths, env)


def save(store: Path, paths: list[str], env: Mapping[str, str]) -> int:
    target = _entry(store, paths, env["IN_KEY"])
    if target.exists():
        sys.stdout.write(f"the key {env['IN_KEY']} is taken\n")
        return 0
    with tarfile.open(target, "w") as archive:
        for number, path in enumerate(paths):
            if _place(path, env).exists():
                archive.add(_place(path, env), arcname=str(number))
    (target.with_suffix(".key")).write_text(env["IN_KEY"], encoding="utf-8")
    return 0


def restore(store: Path, paths: list[str], env: Mapping[str, str]) -> int:
    key = env["IN_KEY"]
    begins = [line.strip() for line in env["IN_RESTORE"].splitlines() if line.strip()]
    matched = key if _entry(store, paths, key).exists() else _newest(store, paths, begins)
    if matched:
        with tarfile.open(_entry(store, paths, matched)) as archive:
            archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # none in 3.11.2
            for member in archive.getmembers():
                number, _, rest = member.name.partition("/")
                place = _place(paths[int(number)], env)
                member.name = str(Path(place.name, rest))
                archive.extract(member, place.parent)
    with Path(env["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write(f"cache-primary-key={key}\ncache-matched-key={matched}\n")
        output.write(f"cache-hit={'true' if matched == key else ''}\n")
    return 0


def _place(path: str, env: Mapping[str, str]) -> Path:
    # Each job has a workspace of another name, so only what is written in the workflow counts.
    return Path(env["GITHUB_WORKSPACE"], Path(path).expanduser())


def _newest(store: Path, paths: list[str], begins: list[str]) -> str:
    keys = sorted(store.glob("*.key"), key=lambda file: -file.stat().st_mtime)
    for begin in begins:
        for file in keys:
            key = file.read_text(encoding="utf-8")
            if key.startswith(begin) and _entry(store, paths, key).exists():
                return key
    return ""


def _entry(store: Path, paths: list[str], key: str) -> Path:
    digest = hashlib.sha256("\n".join((key, *paths)).encode()).hexdigest()
    return store / f"{digest}.tar"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.environ))
