"""One job of its own process: takes a machine, notes when, keeps it, notes what it wrote.

Arguments: state folder, file of notes, name of the job, seconds to keep it (or "released": until
there is a file "release-NAME" next to the notes), machines.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from megtrim.devices.device import utc_now
from megtrim.devices.pool.queue import Queue, QueuePosition


def note(notes: Path, *words: object) -> None:
    """Append one line; so short a write is never mixed with another's."""
    line = " ".join(map(str, (f"{time.monotonic():.6f}", *words)))
    with notes.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def main() -> None:
    state, notes, name, kept_s, *machines = sys.argv[1:]
    queue = Queue(Path(state), utc_now)
    noted = False

    def waiting(_wait: QueuePosition) -> None:
        nonlocal noted
        if not noted:
            noted = True
            note(Path(notes), name, "waits", "-", os.getpid())

    with queue.acquire(name, lambda: machines, waiting) as slot:
        note(Path(notes), name, "takes", slot.key, os.getpid())
        # A phone stands in as a file: whoever has it finds it empty and leaves it empty.
        phone = Path(notes).with_name(f"phone-{slot.key}")
        with phone.open("x", encoding="utf-8") as file:
            file.write(name)
        if kept_s == "released":
            while not Path(notes).with_name(f"release-{name}").exists():
                time.sleep(0.01)
        else:
            time.sleep(float(kept_s))
        if phone.read_text(encoding="utf-8") != name:
            note(Path(notes), name, "mixed", slot.key, os.getpid())
        phone.unlink()
        note(Path(notes), name, "leaves", slot.key, os.getpid())


main()
