"""``python -m virtual_phone`` is ``virtual-phone``."""

from virtual_phone.cli import run

if __name__ == "__main__":
    run()
