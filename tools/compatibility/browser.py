"""Look at the HTML page in Chromium: is it accessible, self-contained, and no wider than a phone?

Needs Playwright and axe-playwright-python, and a Chromium that the machine has.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, sync_playwright

from tools.compatibility.pages import HTML
from tools.releases import UserError

_CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# WCAG 2.2 asks for it, and axe only does where it is told to.
_AXE = {"rules": {"target-size": {"enabled": True}}}
_WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def find_chromium() -> str:
    """Return the path of the machine's Chromium; raises UserError if it has none."""
    found = next(filter(None, map(shutil.which, _CHROMIUMS)), None)
    if found is None:
        raise UserError(f"the page is checked in Chromium, and there is no {_CHROMIUMS[0]} on PATH")
    return found


def findings(page: Page, requests: Sequence[str]) -> list[str]:
    """Say, in one line each, what is wrong with a page that has been opened.

    ``requests`` are the addresses that it asked for, its own first.
    """
    lines = [f"asks for {address}" for address in requests[1:]]
    wide, room = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    if wide > room:
        lines.append(f"is {wide} pixels wide, with room for {room}")
    # What a closed element holds is checked as well.
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    for violation in Axe().run(page, options=_AXE).response["violations"]:
        places = [" ".join(node["target"]) for node in violation["nodes"]]
        lines.append(f"{violation['id']}: {violation['help']}: {', '.join(places)}")
    return lines


@contextmanager
def opened(
    browser: Browser, file: Path, size: str, scheme: Literal["light", "dark"]
) -> Iterator[tuple[Page, list[str]]]:
    """Open a file in one of the sizes and colour schemes; give the page and what it asked for."""
    width, height = _WIDTHS[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True
    )
    try:
        page = context.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.resolve().as_uri())
        yield page, requests
    finally:
        context.close()


def check(file: Path, *, pictures: Path | None = None) -> list[str]:
    """Check a page in every size and scheme; return what is wrong, in one line each.

    ``pictures`` is a folder for screenshots, and for the page as it is printed.
    """
    lines: list[str] = []
    # Chromium refuses to run as root with its sandbox, as in a container; the page is our own.
    arguments = {"executable_path": find_chromium(), "args": ["--no-sandbox"]}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**arguments)  # type: ignore[arg-type]
        for size in _WIDTHS:
            for scheme in _SCHEMES:
                with opened(browser, file, size, scheme) as (page, requests):
                    if pictures is not None:
                        page.screenshot(path=pictures / f"{size}-{scheme}.png")
                        whole = pictures / f"{size}-{scheme}-whole.png"
                        page.screenshot(path=whole, full_page=True)
                        page.pdf(path=pictures / "printed.pdf", prefer_css_page_size=True)
                    found = findings(page, requests)
                    lines += [f"{size}, {scheme}: {line}" for line in found]
        browser.close()
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Check the page; return 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(prog="nox -s page --", description=__doc__)
    parser.add_argument("--pictures", type=Path, help="folder for screenshots and a PDF")
    options = parser.parse_args(arguments)
    try:
        if options.pictures is not None:
            options.pictures.mkdir(parents=True, exist_ok=True)
        lines = check(HTML, pictures=options.pictures)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for line in lines:
        print(line, file=sys.stderr)
    if not lines:
        print(f"{HTML.name}: nothing wrong on a phone or a desktop, light or dark")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
