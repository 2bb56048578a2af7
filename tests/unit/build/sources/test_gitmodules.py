from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.build.sources.gitmodules import MOST_SUBMODULES, parse_gitmodules
from megtrim.util.errors import InputError

PLAIN = """\
# what the engine needs
[submodule "third_party/midout"]
\tpath = third_party/midout
\turl = https://github.com/MegEngine/midout.git
[submodule "third_party/Json"]
    path = third_party/Json
    url = ../json.git
    branch = master
    shallow = true
    update = none
"""


def entry(path: str = "third_party/x", url: str = "../x.git", name: str = "x") -> str:
    return f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n'


def test_what_git_writes_is_read() -> None:
    found = parse_gitmodules(PLAIN, shown=".gitmodules")

    assert [(str(each.path), each.url, each.place) for each in found] == [
        ("third_party/Json", "../json.git", ".gitmodules:7"),
        ("third_party/midout", "https://github.com/MegEngine/midout.git", ".gitmodules:4"),
    ]


HOSTILE = {
    "path outside": (entry(path="../x"), 2),
    "path outside by a detour": (entry(path="a/../../x"), 2),
    "absolute path": (entry(path="/etc/x"), 2),
    "path that is an option": (entry(path="-x"), 2),
    "part that is an option": (entry(path="a/--upload-pack=x"), 2),
    "path into the repository": (entry(path="a/.git/hooks"), 2),
    "path into the repository, in capitals": (entry(path=".GIT/hooks"), 2),
    "path of the tree itself": (entry(path="."), 2),
    "path with a backslash": (entry(path="a\\b"), 2),
    "path with an escape": (entry(path="a\x1b[2J"), 2),
    "path with a right-to-left mark": (entry(path="a\u202eb"), 2),
    "two in one folder": (entry() + entry(name="y"), 6),
    "one within another": (entry() + entry(path="third_party/x/y", name="y"), 6),
    "name that leads elsewhere": (entry(name="../../hooks"), 1),
    "name that is an option": (entry(name="-c"), 1),
    "absolute name": (entry(name="/etc"), 1),
    "name twice": (entry() + entry(path="third_party/y"), 4),
    "update that is a program": (entry() + "\tupdate = !touch pwned\n", 4),
    "url twice": (entry() + "\turl = https://example.org/a/b\n", 4),
    "another section": ('[core]\n\tfsmonitor = "touch pwned"\n', 1),
    "included file": ("[include]\n\tpath = /etc/passwd\n", 1),
    "url rewritten": ('[url "ext::sh -c pwned"]\n\tinsteadOf = https://\n', 1),
    "unknown key": (entry() + "\tsshCommand = touch pwned\n", 4),
    "quoted value": (entry(url='"../x.git"'), 3),
    "continued line": (entry(url="../x.git\\"), 3),
    "comment behind a value": (entry(url="../x.git ; ext::sh"), 3),
    "no url": ('[submodule "x"]\n\tpath = x\n', 1),
    "no path": ('[submodule "x"]\n\turl = ../x.git\n', 1),
    "escaped name": ('[submodule "x\\"]\n', 1),
    "value before a section": ("path = x\n", 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_git_does_not_write_is_refused(name: str) -> None:
    text, line = HOSTILE[name]
    with pytest.raises(InputError) as caught:
        parse_gitmodules(text, shown="engine/.gitmodules")

    assert caught.value.message.startswith(f"engine/.gitmodules:{line}: found ")
    assert caught.value.message.isprintable()


def test_there_is_an_end() -> None:
    many = "".join(entry(path=f"p{n}", name=f"n{n}") for n in range(MOST_SUBMODULES + 1))

    with pytest.raises(InputError, match="expected at most"):
        parse_gitmodules(many, shown="x")


_LINES = st.sampled_from(
    [
        *PLAIN.splitlines(),
        *(line for text, _ in HOSTILE.values() for line in text.splitlines()),
    ]
)


@given(st.lists(_LINES | st.text(max_size=40), max_size=12))
def test_any_text_is_submodules_or_one_error(lines: list[str]) -> None:
    try:
        found = parse_gitmodules("\n".join(lines), shown="x")
    except InputError:
        return
    paths = [each.path for each in found]
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert not path.is_absolute()
        assert not {"..", ".git", "."} & set(path.parts)
        assert path != PurePosixPath()
