"""YAML's events as nodes: what a node holds, and which documents are refused."""

from __future__ import annotations

import pytest
import yaml

from megtrim.config.yaml.nodes import DEEPEST, MOST_VALUES, Node, NodeReader
from megtrim.config.yaml.problems import ConfigError


def reader(text: str) -> NodeReader:
    return NodeReader("f", yaml.parse(text, Loader=yaml.SafeLoader))


def plain(node: Node) -> object:
    if isinstance(node.value, list):
        return [plain(each) for each in node.value]
    if isinstance(node.value, dict):
        return {key: plain(each) for key, (_, each) in node.value.items()}
    return node.value


def test_a_node_has_its_line_and_its_size() -> None:
    """The size counts all values in it, itself included."""
    node = reader("a: 1\nb:\n- x\n- y\n").document()

    assert isinstance(node.value, dict)
    (line_a, a), (line_b, b) = node.value.values()
    assert (line_a, line_b) == (1, 2)
    assert (a.value, a.size) == (1, 1)
    assert (b.line, b.size, node.size) == (3, 3, 5)


def test_aliases_and_merges_are_written_out() -> None:
    """Of several merged mappings the first one counts, and a key of its own wins over all."""
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  z: 3\nd: *a\n"

    assert plain(reader(text).document()) == {
        "a": {"x": 1, "y": 1},
        "b": {"y": 2, "z": 2},
        "c": {"x": 1, "y": 1, "z": 3},
        "d": {"x": 1, "y": 1},
    }


def test_a_key_twice_is_remembered_and_the_first_one_counts() -> None:
    """So that it is reported together with all other problems."""
    read = reader("a:\n  b: 1\n  b: 2\n")

    assert plain(read.document()) == {"a": {"b": 1}}
    assert [str(each) for each in read.repeated] == [
        "f:3: a.b: found this key a second time (the first is on line 2), expected each key once"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f:1: found an empty file, expected a mapping: version, engine, models"),
        ("a: 1\n---\nb: 2\n", "f:2: found a second document ('---'), expected one document"),
        ("a: !!python/none x\n", "f:1: found the tag 'tag:yaml.org,2002:python/none', expected "),
        ("a: *b\n", "f:1: found the alias *b, expected &b before it"),
        ("a: &a [*a]\n", "f:1: found the alias *a, expected &a before it"),
        ("[a]: 1\n", "f:1: found a key that is not plain text, expected key: value"),
        ("<<: 3\n", "f:1: found '<<' with something else than a mapping, expected "),
        ('a: "\\x01"\n', "f:1: found a control character in '\\x01', expected plain text"),
        (
            "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2),
            "f:1: found lists or mappings nested too deep, expected fewer levels",
        ),
    ],
)
def test_what_no_configuration_needs_is_refused(text: str, said: str) -> None:
    """With its line."""
    with pytest.raises(ConfigError) as caught:
        reader(text).document()

    assert caught.value.message.startswith(said)


def test_an_alias_counts_as_all_that_it_refers_to() -> None:
    """Ten aliases of ten of ten would be a small file and a large document."""
    size = MOST_VALUES // 4
    values = ", ".join(["0"] * size)
    twice, often = f"a: &a [{values}]\nb: [*a]\n", f"a: &a [{values}]\nb: [*a, *a, *a]\n"

    assert reader(twice).document().size > 2 * size
    with pytest.raises(ConfigError, match=f"more than {MOST_VALUES} values, aliases counted"):
        reader(often).document()
