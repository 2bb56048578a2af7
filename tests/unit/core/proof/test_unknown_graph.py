"""The engine's warning about a model that is not the one its operator JSON is of."""

from megtrim.core.keep.keepset import build_keep_set
from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.proof.verification import describe_unknown_graph

WARNING = "[WARN] Graph (with hash 77) is not among the graphs fed to midout, may caused by"
NEEDS = OperatorNeeds(hashes=((5, ("a", "b")),), dtypes=(), operators=(), elemwise_modes=())
KEEP = build_keep_set(20220507, (), NEEDS)


def test_a_diagnosis_names_the_graph_and_those_of_the_header() -> None:
    said = describe_unknown_graph(WARNING, "m.mge", KEEP)

    assert "the graph 77 of m.mge is not in the header, which has 5 of a, b" in said
    assert describe_unknown_graph("load model: 3ms", "m.mge", KEEP) == ""
