import pytest

from fuzz.readers import READERS, FileReader
from fuzz.run import mutated, run


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_damaged_file_is_an_error_of_its_own(reader: FileReader) -> None:
    for seed in reader.seeds[:3]:
        reader.read(seed)
    tally = run(reader, 3000 if reader.name == "npy" else 150, seed=2)

    assert tally.bugs == {}
    assert tally.refused > 0


def test_equal_seeds_are_equal_files() -> None:
    seeds = (b"some 12 bytes", b"{}")

    assert list(mutated(seeds, 50, 7)) == list(mutated(seeds, 50, 7))
    assert list(mutated(seeds, 50, 7)) != list(mutated(seeds, 50, 8))


def test_a_bug_is_found() -> None:
    """What is no error of megtrim's is shown with a file that leads to it, and so is a hang."""

    def read(data: bytes) -> None:
        data.decode("ascii")

    tally = run(FileReader("ascii", (b"abc",), read), 100, seed=1)

    assert tally.taken > 0
    assert all(kind.startswith("UnicodeDecodeError in ") for kind in tally.bugs)
    assert len(tally.bugs) == 1


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.run.LONGEST_S", 0.05)

    def read(data: bytes) -> None:
        while True:
            pass

    tally = run(FileReader("endless", (b"abc",), read), 1, seed=1)

    assert [kind.partition(" ")[0] for kind in tally.bugs] == ["Hang"]
