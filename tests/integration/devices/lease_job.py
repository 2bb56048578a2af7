"""One job of its own process: takes a machine, notes it, keeps it, notes what it wrote.

Arguments: state folder, file of notes, name of the job, seconds to keep it, machines.
"""

import os
import sys
import time
from pathlib import Path

from megtrim.lab.pool.leases import Leases
from megtrim.places.devices.device import utc_now
from unit.places.devices.machines import FakeMachine


def note(notes: Path, *words: object) -> None:
    """Append one line; so short a write is never mixed with another's."""
    with notes.open("a", encoding="utf-8") as file:
        file.write(" ".join(map(str, (*words, os.getpid(), "\n"))))


def main() -> None:
    state, notes, name, kept_s, *machines = sys.argv[1:]
    wanted = [FakeMachine(each, Path(state)) for each in machines]
    with Leases(Path(state), name, utc_now).acquire(lambda: wanted) as machine:
        note(Path(notes), name, "takes")
        # A phone stands in as a file: whoever has it finds it empty and leaves it empty.
        phone = Path(notes).with_name(f"phone-{machine.name}")
        with phone.open("x", encoding="utf-8") as file:
            file.write(name)
        time.sleep(float(kept_s))
        if phone.read_text(encoding="utf-8") != name:
            note(Path(notes), name, "mixed")
        phone.unlink()
        note(Path(notes), name, "leaves")


main()
