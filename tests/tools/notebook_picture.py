# SPDX-License-Identifier: MIT
"""notebook_picture.py PAGE WIDTH HEIGHT FILE: a picture of an exported notebook, once the flame graph in its frame is drawn:
make-notebook-picture runs this. A screenshot of Chromium's own option does not wait for frames."""

import base64
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
from browser import PATIENCE, Browser  # noqa: E402

page, width, height, picture = sys.argv[1:]
browser = Browser("--hide-scrollbars", "--force-device-scale-factor=1.5", f"--window-size={width},{height}", "--disable-features=IsolateSandboxedIframes")
try:
    shown = browser.open(f"file://{page}")
    shown.wait_for("document.querySelector('iframe[srcdoc]') !== null")
    give_up, ready = time.monotonic() + PATIENCE, False
    while not ready:
        assert time.monotonic() < give_up, "the flame graph was not drawn"
        time.sleep(0.2)
        for frame in browser.ask("Page.getFrameTree", shown.session)["frameTree"].get("childFrames", []):
            world = browser.ask("Page.createIsolatedWorld", shown.session, frameId=frame["frame"]["id"])["executionContextId"]
            found = browser.ask("Runtime.evaluate", shown.session, contextId=world, returnByValue=True,
                                expression="document.body.classList.contains('ready') && !document.getElementById('loading')")
            ready = ready or found["result"].get("value") is True
    time.sleep(1)  # for what is drawn by then
    pathlib.Path(picture).write_bytes(base64.b64decode(browser.ask("Page.captureScreenshot", shown.session)["data"]))
finally:
    browser.close()
