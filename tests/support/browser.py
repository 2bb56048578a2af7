"""A browser without a window, driven by selenium."""

import shutil
from pathlib import Path

from selenium import webdriver

_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def start(profile: Path, **logs: str) -> webdriver.Chrome:
    """``logs``: levels by kind, such as ``browser="ALL"``."""
    options = webdriver.ChromeOptions()
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", logs)
    service = webdriver.ChromeService(shutil.which("chromedriver") or "")
    return webdriver.Chrome(options=options, service=service)
