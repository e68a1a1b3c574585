"""A real browser for the tests that need one: Chromium of the system, driven by Playwright."""

import importlib.util
import os
import shutil
from contextlib import contextmanager

import pytest
from patience import PATIENCE

PAGE_PATIENCE = 240  # seconds for what must appear on a page: a page that hangs says where
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def require_browser() -> str:
    """The path of a browser. Without one, or without Playwright, the test is skipped; where the environment
    variable GDL_MATCH_BROWSER is `required`, it fails."""
    if importlib.util.find_spec("playwright") is None:
        _give_up("the browser tests need Playwright")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        _give_up(f"no browser is installed (looked for {', '.join(NAMES)})")
    return found


def _give_up(reason):
    if os.environ.get("GDL_MATCH_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def browser_page(**context):
    """A page of a new browser context (colour scheme, viewport, ...); its `complaints` are what the console
    or an uncaught error said."""
    path = require_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # no sandbox: it can't be had for root in a container, and these pages are ours
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=1000 * PATIENCE
        )
        try:
            page = browser.new_context(**context).new_page()
            page.complaints = []
            page.on("console", lambda m: m.type in ("error", "warning") and page.complaints.append(m.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.set_default_timeout(1000 * PAGE_PATIENCE)
            yield page
        finally:
            browser.close()
