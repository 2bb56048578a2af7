#!/usr/bin/env python3
"""Take the pictures of README and pages: comments and the report of real runs.

`nox -s pictures` makes the runs and calls this: make_pictures.py COMMENTS REPORT-FOLDER.

Needs chromium, chromedriver, a font with emoji (fonts-noto-color-emoji) and the requirements of
the tests. Fonts and browsers differ between machines, so a person checks the pictures before
they are committed, and no test compares them. What they show, and the day that they show, is in
docs/images/shown.json: a test holds it to what megtrim writes now.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import cmarkgfm
from selenium.webdriver.common.by import By

from support.browser import start

_PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 16px; background: #fff; width: 900px; color: #1f2328;
  font: 14px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; }}
article {{ border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden; }}
header {{ background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; }}
main {{ padding: 0 16px 12px; }}
h2 {{ font-size: 1.5em; border-bottom: 1px solid #d1d9e0; padding-bottom: .3em; }}
h3 {{ font-size: 1.15em; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #d1d9e0; padding: 4px 10px; }}
code {{ background: #eff1f3; border-radius: 6px; padding: .15em .4em;
  font: 85% "DejaVu Sans Mono", monospace; }}
pre {{ background: #f6f8fa; border-radius: 6px; padding: 12px; overflow: hidden; }}
pre code {{ background: none; padding: 0; }}
details {{ margin: 8px 0; }}
</style><article><header><b>github-actions</b> <small>bot</small></header>
<main>{}</main></article>"""


_IMAGES = Path(__file__).parents[1] / "docs/images"
_COMMENTS = {"trapped": "comment", "over": "comment-over"}
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b(?= \d\d:\d\d UTC)")


def read_shown(comments: Path, report: Path) -> dict[str, dict[str, object]]:
    """Return for each picture its day, and the headings or sizes that it shows."""
    shown: dict[str, dict[str, object]] = {}
    for name, picture in _COMMENTS.items():
        text = (comments / f"{name}.md").read_text(encoding="utf-8")
        shown[picture] = {"of": name, "day": _DAY.findall(text)[-1], "shows": list_headings(text)}
    verdict = json.loads((report / "verdict.json").read_text(encoding="utf-8"))
    sizes = [each["size_bytes"] for each in verdict["artifacts"][0]["sizes"]]
    page = (report / "index.html").read_text(encoding="utf-8")
    shown["report"] = {"of": "demo", "day": _DAY.findall(page)[0], "shows": sizes}
    return shown


def _show(width: int, height: int) -> dict[str, object]:
    """Return a screen of twice the pixels, as most people have."""
    return {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": False}


def list_headings(comment: str) -> list[str]:
    return re.findall(r"^#+ .*$", comment, re.MULTILINE)


def main(comments: Path, folder: Path) -> int:
    report = folder / "index.html"
    with tempfile.TemporaryDirectory() as scratch:
        driver = start(Path(scratch, "profile"))
        page = Path(scratch, "comment.html")
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", _show(1100, 1150))
        driver.get(report.absolute().as_uri())
        driver.save_screenshot(str(_IMAGES / "report.png"))
        for name, picture in _COMMENTS.items():
            body = cmarkgfm.github_flavored_markdown_to_html(
                Path(comments, f"{name}.md").read_text(encoding="utf-8"),
                options=cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE,
            )
            page.write_text(_PAGE.format(body), "utf-8")
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", _show(932, 2000))
            driver.get(page.as_uri())
            driver.find_element(By.TAG_NAME, "body").screenshot(str(_IMAGES / f"{picture}.png"))
        driver.quit()
    shown = json.dumps(read_shown(comments, folder), ensure_ascii=False, indent=1)
    (_IMAGES / "shown.json").write_text(f"{shown}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
