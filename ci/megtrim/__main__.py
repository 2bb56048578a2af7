"""``python -m megtrim`` is ``megtrim``."""

from megtrim.cli.main import run

if __name__ == "__main__":
    run()
