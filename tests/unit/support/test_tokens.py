"""The count of the code that a run of the tests prints."""

from pathlib import Path

import pytest

from support.tokens import ROOT, count_parts, count_tokens, describe


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (b"", 0),
        (b"a = 1\n", 3),
        (b"# a comment\n\n\na   =   (\n    1\n)\n", 5),
        (b'def f(x):\n    """Say."""\n    return x + 1\n', 11),
        ("s = 'ä'  # ü\n".encode(), 3),
    ],
)
def test_tokens_are_words_signs_numbers_and_texts(source: bytes, count: int) -> None:
    assert count_tokens(source) == count


def test_each_part_is_counted(tmp_path: Path) -> None:
    for name, text in {
        "ci/megtrim/core/one.py": "a = 1\n",
        "ci/megtrim/core/trim/two.py": "b = 2\n",
        "ci/megtrim/times/three.py": "c\n",
        "ci/megtrim/times/page.j2": "c c c c\n",
        "ci/virtual_phone/phone.py": "d = d\n",
        "tests/unit/test_one.py": "e()\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    known: dict[str, int] = {}

    counts = count_parts(known, tmp_path)

    assert counts == {"core": 6, "times": 1, "virtual_phone": 3, "tests": 3}
    known.update(dict.fromkeys(known, 1000))
    (tmp_path / "ci/megtrim/core/one.py").write_text("a = 1 + 1\n", encoding="utf-8")
    later = count_parts(known, tmp_path)
    assert describe(later) == "ci/megtrim 2k (core 1k, times 1k), virtual_phone 1k, tests 1k"
    assert later["core"] == 1005
    assert len(known) == 5


def test_all_parts_of_the_package_are_named() -> None:
    known: dict[str, int] = {}
    folders = {path.parent.name for path in (ROOT / "ci/megtrim").glob("*/__init__.py")}

    assert {*count_parts(known, ROOT)} == {*folders, "virtual_phone", "tests"}
