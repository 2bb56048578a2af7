"""``python -m virtual_phone`` is ``virtual-phone``."""

from __future__ import annotations

from virtual_phone.cli import run

if __name__ == "__main__":
    run()
