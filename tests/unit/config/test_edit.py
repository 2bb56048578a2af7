import pytest

from megtrim.config.document import append_item, parse_document
from megtrim.config.problems import KeyPath
from megtrim.util.errors import InputError

ITEM = {"name": "tuned", "args": ["--cpu", "--iter", 2], "inputs": {"data": "a b.npy"}}
SCENARIOS: KeyPath = ("models", 0, "scenarios")
FILE = """\
# what we ship
models:
  - name: one   # the first
    scenarios:
      - {name: default, args: [--cpu]}
      # the slow way
      - name: slow
        args:
          - --cpu
          # why this one
          - --verbose

  # another
  - {name: two}
"""
ADDED = """\
      - name: tuned
        args: [--cpu, --iter, 2]
        inputs: {data: a b.npy}
"""


def test_an_item_comes_after_the_last_one() -> None:
    before, after = FILE.split("\n\n")
    edited = append_item(FILE.encode(), SCENARIOS, ITEM, file="f.yaml")
    assert edited.decode() == f"{before}\n{ADDED}\n{after}"


@pytest.mark.parametrize(
    "text",
    [
        "list:\n- {name: a}",
        "list:\n- name: a\n  note: |\n    two\n    lines\n\nother: 1\n",
        "list:\r\n  - name: a\r\n  # end\r\n",
        "list:\n  - name: 'a\n      b'\nother: {}\n",
        "list:\n  - name: a\n    empty:\nother: 1\n",
        "---\nlist:\n    -   name: a\n...\n",
    ],
)
def test_every_style_of_a_list_with_dashes(text: str) -> None:
    edited = append_item(text.encode(), ("list",), ITEM, file="f.yaml").decode()
    rest = edited.splitlines(keepends=True)
    kept = [line for line in text.splitlines() if line in [each.rstrip("\r\n") for each in rest]]
    assert kept == text.splitlines()
    data = parse_document(edited.encode(), file="f.yaml").data
    found = data["list"]
    assert isinstance(found, list)
    assert found[-1] == ITEM


@pytest.mark.parametrize(
    "text",
    [
        "list: [{name: a}]\n",
        "list: []\n",
        "list: 3\n",
        "other: 3\n",
        "list: &x\n  - {name: a}\nother: *x\n",
    ],
)
def test_other_lists_are_left_alone(text: str) -> None:
    """The lines to add by hand are in the error; a list that is used twice must not grow twice."""
    with pytest.raises(InputError, match="not a list with one dash a line") as caught:
        append_item(text.encode(), ("list",), ITEM, file="f.yaml")
    assert "- name: tuned\n  args: [--cpu, --iter, 2]" in caught.value.hint
