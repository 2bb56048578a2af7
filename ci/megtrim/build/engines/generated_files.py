"""The files of a build that come from its spec, and replace or extend those of the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from megtrim.build.engines import source_copy
from megtrim.build.engines.checkout import Checkout
from megtrim.build.engines.cmake.driver import WorkTree
from megtrim.build_spec import BuildSpec
from megtrim.util.errors import ProductFailure
from megtrim.util.files import cannot_write


def write(spec: BuildSpec, tree: WorkTree, checkout: Checkout) -> None:
    """Update the tree to the spec; a file that is up to date already is not touched."""
    source_copy.sync(checkout, tree.source, dict(spec.overrides))
    try:
        tree.include.mkdir(parents=True, exist_ok=True)
        for stale in _stale(spec, tree):
            stale.unlink()
    except OSError as error:
        raise cannot_write(tree.include, error) from None
    for name, text in spec.include:
        source_copy.write_if_changed(tree.include / name, text)


def expect(spec: BuildSpec, tree: WorkTree) -> None:
    """Raise ProductFailure if a file changed since :func:`write`: something else was compiled."""
    for base, files in ((tree.source, spec.overrides), (tree.include, spec.include)):
        for name, text in files:
            if (base / name).read_bytes() != text.encode():
                msg = f"{base / name} changed during the build"
                raise ProductFailure(msg, hint="does the engine's build write that file itself?")


def _stale(spec: BuildSpec, tree: WorkTree) -> Iterator[Path]:
    expected = {tree.include / name for name, _ in spec.include}
    found = sorted(tree.include.rglob("*")) if tree.include.is_dir() else ()
    return (path for path in found if path not in expected and not path.is_dir())
