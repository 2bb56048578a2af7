import pytest

from megtrim.size.references.graph import ReferenceGraph
from megtrim.size.references.search import MatchKind, describe, find_matches
from unit.size.references.made_graphs import made_part, make_graph

ADD_INT, ADD_FLOAT, MULTIPLY, ENGINE, DATA = range(5)
_ARCHIVE = "dnn/src/libmegdnn.a(utils.cpp.o)"


def _graph() -> ReferenceGraph:
    parts = (
        made_part("_ZN3mgb3opr3AddIiE3runEv", 20, "src/opr/impl/add.cpp.o"),
        made_part("_ZN3mgb3opr3AddIfE3runEv", 30, "src/opr/impl/add.cpp.o"),
        made_part("_ZN3mgb3opr3MulEv", 40),
        made_part("_ZN6megdnn8fallback10elemwise_xEv", 50, _ARCHIVE),
        made_part("", 60)._replace(names=(), section=".rodata"),
    )
    return make_graph(parts, (), {})


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("_ZN3mgb3opr3AddIiE3runEv", MatchKind.SYMBOL, (ADD_INT,)),
        ("mgb::opr::Mul()", MatchKind.SYMBOL, (MULTIPLY,)),
        ("mgb::opr::Mul", MatchKind.SYMBOL, (MULTIPLY,)),
        ("mgb::opr::Add<int>::run", MatchKind.SYMBOL, (ADD_INT,)),
        ("mgb::opr::Add<…>::run()", MatchKind.FAMILY, (ADD_INT, ADD_FLOAT)),
        ("operators", MatchKind.COMPONENT, (ADD_INT, ADD_FLOAT, MULTIPLY)),
        ("kernels", MatchKind.COMPONENT, (ENGINE,)),
        ("add.cpp.o", MatchKind.SOURCE, (ADD_INT, ADD_FLOAT)),
        ("libmegdnn.a", MatchKind.SOURCE, (ENGINE,)),
        ("utils.cpp.o", MatchKind.SOURCE, (ENGINE,)),
        (_ARCHIVE, MatchKind.SOURCE, (ENGINE,)),
        (".rodata", MatchKind.SECTION, (DATA,)),
    ],
)
def test_a_text_names_something(text: str, kind: MatchKind, parts: tuple[int, ...]) -> None:
    (found,) = find_matches(text, _graph())

    assert (found.kind, found.parts) == (kind, parts)


def test_a_part_of_several_names_is_a_list_to_choose_from() -> None:
    found = find_matches("mgb::opr", _graph())

    assert [(each.kind, each.label) for each in found] == [
        (MatchKind.FAMILY, "mgb::opr::Add<…>::run()"),
        (MatchKind.SYMBOL, "mgb::opr::Mul()"),
    ]


def test_what_nothing_is_called_has_no_match() -> None:
    assert find_matches("nowhere", _graph()) == ()


def test_a_part_is_described_as_people_read_it() -> None:
    graph = _graph()

    assert describe(graph.parts[MULTIPLY]) == "mgb::opr::Mul()"
    assert describe(graph.parts[DATA]) == "[unnamed in .rodata]"
