import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.size.byte_table import ByteMap, MappedComponent, MappedSymbol
from megtrim.size.report.byte_map import SCREENS, ByteCell, Tile, draw_map, layout


def symbol(label: str, kept_bytes: int) -> MappedSymbol:
    return MappedSymbol(label=label, plain_bytes=None, kept_bytes=kept_bytes)


def component(
    name: str, kept_bytes: int, plain_bytes: int | None = None, *symbols: MappedSymbol
) -> MappedComponent:
    return MappedComponent(
        name=name, plain_bytes=plain_bytes, kept_bytes=kept_bytes, symbols=symbols
    )


FOUND = ByteMap(
    artifact="app",
    variant="reduced",
    components=(
        component("kernels/arm_common/conv_bias", 2000, 60_000),
        component("runtime", 1000, 30_000, symbol("mgb::Graph::run(…)", 600)),
        component("[7 others]", 1000, 10_000),
    ),
)


def area(cell: ByteCell) -> float:
    return float(cell.width.removesuffix("%")) * float(cell.height)


@pytest.mark.parametrize("screen", [0, 1])
def test_areas_are_bytes(screen: int) -> None:
    whole = 100 * SCREENS[screen].height

    kept = {cell.title: cell for cell in draw_map(FOUND)[screen].cells}
    shares = [round(100 * area(cell) / whole) for title, cell in kept.items() if "%" in title]
    assert shares == [50, 25, 25]
    title = "kernels/arm_common/conv_bias: 2.0 KiB of 58.6 KiB (50.0% of the file)"
    assert next(iter(kept)) == title


def test_symbols_are_inside_of_their_component() -> None:
    cells = draw_map(FOUND)[0].cells
    titles = [cell.title for cell in cells]

    at = titles.index("runtime: 1.0 KiB of 29.3 KiB (25.0% of the file)")
    assert titles[at + 1 : at + 3] == [
        "runtime: mgb::Graph::run(…): 600 B",
        "runtime: others: 400 B",
    ]
    assert cells[at].label == "runtime 1.0 KiB"
    assert cells[at + 1].label == "mgb::Graph::run"
    outer, inner = area(cells[at]), sum(map(area, cells[at + 1 : at + 3]))
    assert 0.8 * outer < inner < outer


def test_where_the_plain_build_is_not_known_only_what_ships_is_named() -> None:
    found = ByteMap(artifact="a", variant="reduced", components=(component("x", 200),))

    assert [[cell.title for cell in each.cells] for each in draw_map(found)] == [
        ["x: 200 B (100.0% of the file)"]
    ] * 2


def test_small_ones_share_a_cell() -> None:
    many = tuple(component(f"c{number}", 10_000 - 33 * number) for number in range(300))
    found = ByteMap(artifact="a", variant="reduced", components=many)

    broad, narrow = draw_map(found)

    assert len(narrow.cells) < len(broad.cells) < 300
    assert broad.cells[-1].title.startswith("smaller ones: ")


def test_names_are_shortened_to_what_says_most() -> None:
    names = ("kernels/naive/elemwise_multi_type", "a" * 90)
    for width, expected in (
        (400, f"{names[0]} 400 B"),
        (200, "elemwise_multi_type"),
        (100, "elemwise_m…"),
    ):
        components = (component(names[0], width, width), component(names[1], 956 - width, 0))
        found = ByteMap(artifact="a", variant="reduced", components=components)
        cells = {cell.title[:7]: cell for cell in draw_map(found)[0].cells}
        assert cells["kernels"].label == expected


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("mgb::Map<…>::find(…)", "mgb::Map::find"),
        ("mgb::(anonymous namespace)::run(…)", "mgb::(anonymous namespace)::run"),
        ("mgb::F::operator()(…) const", "mgb::F::operator()"),
        (".rodata", ".rodata"),
    ],
)
def test_a_symbol_has_no_arguments(label: str, shown: str) -> None:
    part = component("runtime", 1000, None, symbol(label, 600))
    found = ByteMap(artifact="a", variant="reduced", components=(part,))

    assert [cell.label for cell in draw_map(found)[0].cells][1] == shown


def test_nothing_is_drawn_of_an_empty_file() -> None:
    found = ByteMap(artifact="a", variant="reduced", components=(component("x", 0, 0),))

    assert draw_map(found)[0].cells == ()


def test_the_example_of_the_paper() -> None:
    """Values 6, 6, 4, 3, 2, 2, 1 in a frame of 6 by 4 (Bruls, Huizing, van Wijk, figure 6)."""
    tiles = layout([6, 6, 4, 3, 2, 2, 1], width=6, height=4)

    rounded = [
        tuple(round(value, 2) for value in (tile.x, tile.y, tile.width, tile.height))
        for tile in tiles
    ]
    assert rounded == [
        (0, 0, 3, 2),
        (0, 2, 3, 2),
        (3, 0, 1.71, 2.33),
        (4.71, 0, 1.29, 2.33),
        (3, 2.33, 1.2, 1.67),
        (4.2, 2.33, 1.2, 1.67),
        (5.4, 2.33, 0.6, 1.67),
    ]


def test_nothing_and_one() -> None:
    assert layout([], width=3, height=2) == ()
    assert layout([7], width=3, height=2) == (Tile(x=0, y=0, width=3, height=2),)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_areas_are_in_ratio_and_inside(values: list[int]) -> None:
    values.sort(reverse=True)
    tiles = layout(values, width=100, height=34)

    for value, tile in zip(values, tiles, strict=True):
        assert tile.width * tile.height == pytest.approx(3400 * value / sum(values), rel=1e-6)
        assert -1e-6 <= tile.x <= tile.x + tile.width <= 100 + 1e-6
        assert -1e-6 <= tile.y <= tile.y + tile.height <= 34 + 1e-6
    corners = [(round(tile.x, 6), round(tile.y, 6)) for tile in tiles]
    assert len(set(corners)) == len(corners)
