# SPDX-License-Identifier: MIT
"""The page of pyreel-flame in a real browser, with data of ours: what a person sees after clicks and keys."""

import contextlib
import json
import re

import pytest

import flame_data
from browser import Browser
from environment import CONVERTERS
from recording import succeed, wait_until

MS = flame_data.MS
TROUBLE = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
LOCAL = ("file:", "data:", "blob:", "about:")


class Shown:
    """A flame page in a browser."""

    def __init__(self, browser, page, width=1280):
        self.browser, self.page, self.session = browser, page, page.session
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.ask(f"{domain}.enable", self.session)
        self.resize(width, 800)

    def resize(self, width, height):
        self.browser.ask("Emulation.setDeviceMetricsOverride", self.session, width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.page.wait_for(f"innerWidth === {width} && (!window.pyreelFlame || pyreelFlame.settled)")

    def go(self, url):
        self.browser.ask("Page.navigate", self.session, url=url)
        self.page.wait_for(f"location.href.startsWith({json.dumps(url.partition('#')[0])}) && !!window.pyreelFlame && pyreelFlame.settled")

    def value(self, expression):
        return self.page.value(expression)

    def settle(self):
        self.page.wait_for("pyreelFlame.settled")

    def boxes(self):
        self.settle()
        return self.value("pyreelFlame.boxes")

    def names(self):
        return [box["name"] for box in self.boxes()]

    def box(self, name):
        return next(box for box in self.boxes() if box["name"] == name)

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)")

    def rows(self, selector):
        """The cells of rows of a table."""
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((row) => [...row.children].map((cell) => cell.textContent))")

    def mouse(self, x, y, *kinds):
        for kind in kinds:
            pressed = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
            self.browser.ask("Input.dispatchMouseEvent", self.session, type=kind, x=x, y=y, **pressed)

    def click(self, selector):
        """A click of the mouse in the middle of an element."""
        x, y = self.value("(() => { const one = document.querySelector(%s); one.scrollIntoView({block: 'nearest'});"
                          " const at = one.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; })()"
                          % json.dumps(selector))
        self.mouse(x, y, "mouseMoved", "mousePressed", "mouseReleased")
        self.settle()

    def at(self, name):
        """The middle of a box on the screen."""
        box, (left, top) = self.box(name), self.value(
            "(() => { const at = document.getElementById('graph').getBoundingClientRect(); return [at.x, at.y]; })()")
        return left + box["x"] + box["width"] / 2, top + box["y"] + 10

    def click_box(self, name):
        self.mouse(*self.at(name), "mouseMoved", "mousePressed", "mouseReleased")
        self.settle()

    def keys(self, *keys):
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
            self.browser.ask("Input.dispatchKeyEvent", self.session, type="keyDown", key=key, **({"text": text} if text else {}))
            self.browser.ask("Input.dispatchKeyEvent", self.session, type="keyUp", key=key)
            self.settle()

    def write(self, text):
        self.browser.ask("Input.insertText", self.session, text=text)

    def trouble(self):
        """What the console said, and each request that leaves the page."""
        self.value("1")
        said = [event["params"] for event in self.browser.events if event.get("method") in TROUBLE]
        asked = [event["params"]["request"]["url"] for event in self.browser.events if event.get("method") == "Network.requestWillBeSent"]
        self.browser.events.clear()
        return said, [url for url in asked if not url.startswith(LOCAL)]


@pytest.fixture(scope="module")
def chromium():
    with contextlib.closing(Browser()) as browser:
        yield Shown(browser, browser.open("about:blank"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The pages, by name."""
    folder, pages = tmp_path_factory.mktemp("pages"), {}

    def page(name, made):
        if name not in pages:
            pages[name] = folder / f"{name}.html"
            pages[name].write_text(flame_data.page_of(made().data()), encoding="utf-8")
        return pages[name].as_uri()
    return page


@pytest.fixture
def opened(chromium, files):
    """opened(name, made, fragment): the page, afresh. At the end of each test the console was silent, and nothing was asked of
    the network."""
    def go(name, made, fragment=""):
        chromium.browser.ask("Page.navigate", chromium.session, url="about:blank")
        chromium.page.wait_for("location.href === 'about:blank'")
        chromium.go(files(name, made) + fragment)
        return chromium
    yield go
    assert chromium.trouble() == ([], [])


@pytest.fixture
def small(opened):
    return opened("small", flame_data.small)


@pytest.fixture
def compared(opened):
    return opened("compared", lambda: flame_data.small(True))


# ---- the graph ----

def test_boxes_are_as_wide_as_their_cpu_time(small):
    boxes = {box["name"]: box for box in small.boxes()}
    assert boxes["made.py"]["total"] == 2420 * MS and boxes["main"]["total"] == 2120 * MS
    assert abs(boxes["work"]["width"] / boxes["made.py"]["width"] - 1080 / 2420) < 0.002
    assert boxes["main"]["y"] > boxes["MainThread"]["y"] > boxes["made.py"]["y"]
    assert "Idler" not in boxes  # it has no CPU time
    assert small.text("#weight").startswith("CPU time · 2.42")


def test_a_box_has_its_text_and_a_narrow_one_an_ellipsis(small):
    small.resize(420, 800)
    small.page.wait_for("document.getElementById('canvas').clientWidth < 420")
    texts = [box["text"] for box in small.boxes()]
    small.resize(1280, 800)
    assert any(text.endswith("…") for text in texts) and "main" in texts


def test_a_narrow_module_has_its_file(opened):
    def modules():
        made = flame_data.Made()
        for count, file in ((820, "start.py"), (120, "somewhere/quite/deep/shop/a.py"), (60, "mail/__init__.py")):
            made.add(flame_data.MAIN, [made.frame("<module>", file, 1)], {"cpu": count * flame_data.MS}, 0)
        return made
    page = opened("modules", modules)
    page.resize(1280, 800)
    texts = [box["text"] for box in page.boxes() if box["name"] == "<module>"]
    assert texts == ["<module>", "deep/shop/a.py", "mail"]


def test_flame_has_its_root_at_the_bottom(small):
    small.click("#flame")
    boxes = {box["name"]: box for box in small.boxes()}
    assert boxes["made.py"]["y"] > boxes["MainThread"]["y"] > boxes["main"]["y"] > boxes["work"]["y"]
    small.keys("f")
    assert small.box("made.py")["y"] < small.box("main")["y"]


def test_a_click_zooms_and_escape_goes_back(small):
    small.click_box("load")
    widths = {box["name"]: round(box["width"], 3) for box in small.boxes()}
    assert widths["load"] == widths["made.py"] == widths["main"] > widths["loads"]
    assert "work" not in small.names() and "fib" not in small.names()
    assert small.texts("#crumbs li") == ["made.py", "MainThread", "main", "load"]
    assert small.text("#crumbs .share") == "620\u202fms · 25.6%"
    small.keys("Escape")
    assert small.value("pyreelFlame.zoomed") == "made.py" and "work" in small.names()


def test_an_ancestor_or_a_crumb_zooms_out(small):
    small.click_box("decode")
    small.click_box("main")
    assert small.value("pyreelFlame.zoomed") == "main"
    small.click("#crumbs li:first-child button")
    assert small.value("pyreelFlame.zoomed") == "made.py"


def test_arrow_keys_move_and_enter_zooms(small):
    small.value("document.getElementById('graph').focus()")
    selected = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp"):
        small.keys(key)
        selected.append(small.value("pyreelFlame.selected"))
    assert selected == ["MainThread", "main", "work", "load", "multiply", "load", "main"]
    small.keys("ArrowDown", "Enter")
    assert small.value("pyreelFlame.zoomed") == "work"
    assert small.text("#spoken").startswith("work; app.py:8; Your code; 1.08\u202fs, 44.6%; self 1.00\u202fs")


def test_in_a_flame_arrow_up_goes_away_from_the_root(small):
    small.keys("f")
    small.value("document.getElementById('graph').focus()")
    small.keys("ArrowUp", "ArrowUp", "ArrowDown")
    assert small.value("pyreelFlame.selected") == "MainThread"


def test_the_pointer_shows_a_tip(small):
    small.mouse(*small.at("decode"), "mouseMoved")
    small.page.wait_for("!document.getElementById('tip').hidden")
    said = small.text("#tip")
    assert "decode" in said and "json/decoder.py:337 · Standard library" in said
    assert "600\u202fms · 24.8%" in said and "250\u202fms · 10.3%" in said


def test_inverted_has_callees_first(small):
    small.keys("i")
    first = [box for box in small.boxes() if box["depth"] == 1]
    assert [box["name"] for box in first] == ["work", "<native>", "fib", "decode", "<GC>"]
    assert [box["total"] // MS for box in first] == [1000, 790, 300, 250, 80]
    under = [box["name"] for box in small.boxes() if box["depth"] == 2 and first[1]["x"] <= box["x"] < first[1]["x"] + first[1]["width"]]
    assert under == ["multiply", "decode", "load"]
    small.click("#callers")
    assert small.box("main")["depth"] == 2


def test_lines_are_boxes(small):
    small.click("#lines")
    assert {"main:5", "main:6", "work:10", "work:11"} <= set(small.names())
    assert small.box("work:11")["total"] == 780 * MS


# ---- whose samples, and which weight ----

def test_threads_are_chosen(small):
    small.click("#groups")
    assert [row.split()[0] for row in small.texts("#groups-list li")] == ["MainThread", "Worker", "Idler"]
    small.click("#groups-list li:nth-child(2) .only")
    assert small.text("#groups") == "Worker" and set(small.names()) == {"Worker", "_bootstrap", "fib"}
    small.click("#groups-list li:nth-child(1) input")
    assert small.text("#groups") == "2 of 3 threads" and {"MainThread", "Worker"} <= set(small.names())
    small.click("#groups-list .row button:nth-child(2)")
    assert small.value("pyreelFlame.whole") == 0 and small.text("#nothing") == "No thread is chosen."
    small.click("#groups-list .row button:nth-child(1)")
    small.click("#apart")
    assert "MainThread" not in small.names() and small.box("_bootstrap")["depth"] == 1
    small.keys("Escape")
    assert small.value("document.activeElement.id") == "groups"


def test_weights_are_switched_and_an_unknown_one_says_why(small):
    small.keys("w", "w")
    assert small.text("#weight").startswith("Samples")
    small.click("#weight")
    assert small.value("document.querySelector('#weight-list [value=gil_wait]').disabled")
    assert "CPython before 3.15" in small.text("#weight-list")
    small.click("#weight-list [value=wall]")
    assert small.box("[idle]")["total"] == 2500 * MS and small.value("pyreelFlame.whole") == 5070 * MS


# ---- what is left out ----

def test_the_legend_leaves_kinds_out(small):
    small.click("#legend [data-kind=library]")
    assert "decode" not in small.names() and small.value("pyreelFlame.whole") == 2420 * MS
    assert small.box("load")["self"] == 250 * MS
    small.click("#legend [data-kind=library]")
    assert "decode" in small.names()


def test_time_of_waiting_is_left_out(small):
    small.keys("w", "w", "w")
    assert small.text("#weight").startswith("Wall time")
    small.click("#legend [data-kind=idle]")
    small.click("#legend [data-kind=waiting]")
    assert small.value("pyreelFlame.whole") == (5070 - 2500 - 150) * MS
    assert not {"[idle]", "[waiting for the GIL]"} & set(small.names())


def test_a_function_is_hidden_and_shown_again(small):
    small.click_box("load")
    small.keys("h")
    assert "load" not in small.names() and small.box("loads")["depth"] == small.box("main")["depth"] + 1
    small.click("#crumbs .chip")
    assert "load" in small.names()


# ---- search ----

def test_search_counts_each_stack_once(small):
    small.keys("/")
    small.write("fib")
    small.page.wait_for("document.getElementById('found').innerText !== ''")
    assert small.text("#found") == "12.4% matched" and small.value("document.getElementById('found').title") == "1 function"
    assert {box["name"] for box in small.boxes() if box["matched"]} == {"fib"}
    small.keys("Escape")
    assert small.text("#found") == "" and not any(box["matched"] for box in small.boxes())


def test_search_by_expression_and_a_wrong_one(small):
    small.keys("/")
    small.write("^(work|decode)$")
    small.click("#regular")
    assert small.text("#found") == "69.4% matched"
    small.write("(")
    small.page.wait_for("document.getElementById('found').className === 'wrong'")
    assert small.text("#found") == "no expression" and "Invalid" in small.value("document.getElementById('found').title")


def test_enter_goes_from_match_to_match(small):
    small.keys("/")
    small.write("json")
    small.keys("Enter")
    assert small.value("pyreelFlame.selected") == "loads"
    small.keys("n")
    assert small.value("pyreelFlame.selected") == "decode"
    small.keys("N")
    assert small.value("pyreelFlame.selected") == "loads"


# ---- the panel, functions, files ----

def test_the_panel_has_lines_callers_and_callees(small):
    small.click_box("work")
    panel = small.text("#panel")
    assert "1.00\u202fs" in panel and "1.08\u202fs" in panel and "app.py:8" in panel
    assert small.rows("#panel .lines tbody tr") == [["10", "for i in range(n):", "300\u202fms", "300\u202fms"],
                                                    ["11", "total += i * i", "700\u202fms", "780\u202fms"]]
    assert [row.split()[0] for row in small.texts("#panel .jumps tr")] == ["main", "<GC>"]
    small.click("#panel .jumps button")
    assert small.text("#panel h2") == "main"


def test_recursion_counts_once(small):
    small.keys("2")
    rows = {row[2]: row for row in small.rows("#view-table tbody tr")}
    assert rows["fib"][:2] == ["300\u202fms12.4%", "300\u202fms12.4%"]
    assert rows["main"][:2] == ["0\u202fs0%", "2.12\u202fs87.6%"]


def deep():
    """A function that calls itself 40,000 times, and calls another one at each level. A third one is once between."""
    made = flame_data.Made("deep.py")
    down, leaf, other = (made.frame(name, "deep.py", 5) for name in ("down", "leaf", "other"))
    above = -1
    for depth in range(40_000):
        above = made.nodes.setdefault((made.group(flame_data.MAIN), above, other if depth == 20_000 else down), len(made.nodes))
        made.leaf(made.nodes.setdefault((made.group(flame_data.MAIN), above, leaf), len(made.nodes)), {"cpu": MS, "wall": MS, "samples": 1})
    return made


def test_a_deep_recursion(opened):
    shown = opened("deep", deep)
    shown.click_box("down")
    shown.keys("i", "i", "2", "1")
    panel = dict(zip(shown.texts("#panel .jumps .who"), shown.texts("#panel .jumps td.number:nth-of-type(2)")))
    assert panel["leaf"] == panel["other"] == "20.0\u202fs"


def test_functions_are_sorted(small):
    names = "#view-table tbody th button"
    small.click("#tab-table")
    assert small.texts(names)[:3] == ["work", "<native>", "fib"]
    small.click("#view-table [data-sort=total]")
    assert small.texts(names)[:2] == ["main", "work"]
    small.click("#view-table [data-sort=name]")
    assert small.texts(names) == sorted(small.texts(names), reverse=False)
    assert small.value("document.querySelector('[data-sort=name]').parentElement.ariaSort") == "ascending"


def test_a_file_has_time_beside_each_line(small):
    small.click("#tab-sources")
    assert [name.split("\n")[0] for name in small.texts("#view-sources .files button")] == [
        "app.py", "decoder.py", "__init__.py", "core.py", "threading.py"]
    lines = small.rows("#view-sources .source tbody tr")
    assert lines[10] == ["700\u202fms", "780\u202fms", "11", "\ttotal += i * i→ <GC>"] and lines[1] == ["", "", "2", ""]
    assert lines[4] == ["", "1.50\u202fs", "5", "        work(9)→ work→ multiply"]


def test_a_jump_leads_from_a_line_to_the_callee_and_the_caller(small):
    small.keys("3")
    small.click("[data-line='15'] .jump")
    assert small.text("#panel h2") == "loads" and small.text(".file h2") == "/home/me/json/__init__.py"
    small.click("[data-file] .name")
    small.click("[data-line='14'] .jump")
    assert small.text("#panel h2") == "main"


def test_a_file_without_text_says_why(small):
    small.keys("3")
    small.click("#view-sources .files li:nth-child(2) button")
    assert small.text(".file .note") == ("The text of this file is not in this page: not what was recorded: changed since then. "
                                         "Lines with time:")
    assert small.rows(".source tbody tr")[-1][:3] == ["250\u202fms", "600\u202fms", "345"]


# ---- the address, the theme, saving ----

def test_a_link_leads_to_the_view(opened, small):
    small.keys("w", "i", "l")
    small.click_box("work:11")
    small.keys("/")
    small.write("fib")
    small.page.wait_for("location.hash.includes('s=fib')")
    seen, address = small.boxes(), small.value("location.hash")
    again = opened("small", flame_data.small, address)
    assert again.boxes() == seen and again.value("pyreelFlame.zoomed") == "work:11"
    assert again.value("document.getElementById('search').value") == "fib"


def test_the_browser_goes_back(small):
    small.click_box("load")
    small.click_box("decode")
    small.value("history.back()")
    small.page.wait_for("pyreelFlame.zoomed === 'load' && pyreelFlame.settled")


@pytest.mark.parametrize("fragment", ["#z=999999&g=77&w=nothing&fn=-1&out=99", "#g=&z=x&s=%F0%9F&file=1e9", "#%%%"])
def test_a_wrong_address_shows_the_graph(opened, fragment):
    shown = opened("small", flame_data.small, fragment)
    assert shown.value("pyreelFlame.zoomed") == "made.py"


def test_light_and_dark(small):
    colour = "getComputedStyle(document.body).backgroundColor"
    before = small.value(colour)
    small.keys("t")
    assert small.value(colour) != before and small.value("document.documentElement.dataset.theme") == "dark"
    small.click("#theme")
    assert small.value(colour) == before


def test_the_keys_are_told(small):
    small.keys("?")
    assert small.value("document.getElementById('help').open") and "next match" in small.text("#help")
    small.browser.ask("Input.dispatchKeyEvent", small.session, type="keyDown", key="Enter", text="\r")
    small.page.wait_for("!document.getElementById('help').open")


@pytest.fixture
def saved(chromium, tmp_path):
    def save(entry, name):
        chromium.browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        chromium.click("#save")
        chromium.click(entry)
        wait_until((tmp_path / name).exists, "the file is saved")  # under this name when it is whole
        return tmp_path / name
    return save


def test_svg_is_saved(small, saved):
    import xml.etree.ElementTree as tree
    names = {box["text"] for box in small.boxes() if box["text"]}
    svg = tree.fromstring(saved("#save-svg", "made.py.svg").read_text(encoding="utf-8"))
    texts = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert names <= texts
    assert not [one for one in svg.iter() if one.get("style") or one.tag.endswith("script")]


def test_png_is_saved(small, saved):
    assert saved("#save-png", "made.py.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_print_has_the_whole_graph(small):
    small.value("window.dispatchEvent(new Event('beforeprint'))")
    texts = small.value("[...document.querySelectorAll('#print svg text')].map((one) => one.textContent)")
    assert {"main", "work", "loads", "multiply"} <= set(texts)
    small.value("window.dispatchEvent(new Event('afterprint'))")
    assert small.value("document.getElementById('print').childElementCount") == 0


# ---- two sides ----

def test_a_comparison_says_what_grew(compared):
    verdicts = {(box["name"], box["depth"]): box["verdict"] for box in compared.boxes()}
    assert verdicts[("work", 3)] == "grew" and verdicts[("load", 3)] == "shrank"
    assert verdicts[("multiply", 3)] == "not distinguishable" and verdicts[("fib", 4)] == "not distinguishable"
    assert compared.box("work")["text"] == "+ work" and compared.box("load")["text"] == "− load"


def test_a_box_of_a_whole_function_has_its_verdict(compared):
    assert compared.box("decode")["verdict"] == "not distinguishable" and compared.box("loads")["verdict"] == "shrank"
    compared.click("#legend [data-kind=program]")  # now the model judges
    assert compared.box("decode")["verdict"] == "shrank"


def test_a_verdict_without_bounds_has_those_of_the_model(compared):
    assert compared.box("_bootstrap")["verdict"] == "grew"
    compared.mouse(*compared.at("_bootstrap"), "mouseMoved")
    compared.page.wait_for("!document.getElementById('tip').hidden")
    said = compared.text("#tip")
    assert re.search("interval\\s+0\\b.* … \\+", said) and "grew" in said, said


def test_a_lost_stack_has_its_width_before(compared):
    gone = next(box for box in compared.boxes() if box["verdict"] == "gone")
    whole = compared.box("made.py")
    assert gone["name"] == "<native>" and gone["total"] == 0
    assert abs(gone["width"] / whole["width"] - 220 / (2400 + 220)) < 0.002
    compared.click("#before")
    assert abs(compared.box("load")["width"] / compared.box("made.py")["width"] - 1320 / 2830) < 0.002


def test_a_tip_of_a_comparison(compared):
    compared.mouse(*compared.at("load"), "mouseMoved")
    compared.page.wait_for("!document.getElementById('tip').hidden")
    said = compared.text("#tip")
    assert "1.32\u202fs" in said and "600\u202fms" in said and "−720\u202fms" in said and "−832\u202fms … −608\u202fms" in said and "shrank" in said


def test_functions_of_a_comparison(compared):
    compared.keys("2")
    rows = {row[2]: row for row in compared.rows("#view-table tbody tr")}
    assert rows["work"][:2] == ["+300\u202fms", "+ grew"]
    assert rows["work"][3:5] == ["700\u202fms → 1.00\u202fs", "+190\u202fms … +410\u202fms"]
    assert rows["fib"][1] == "not distinguishable"


def test_other_weights_of_a_comparison_are_off(compared):
    compared.click("#weight")
    assert compared.value("document.querySelectorAll('#weight-list input:disabled').length") == 4
    assert "The comparison is by CPU time." in compared.text("#weight-list")


# ---- hostile names ----

HOSTILE = ["<img src=x onerror=window.broken=1>", "</script><script>window.broken=1</script>", "<!--<script>", "\u202egnp.exe\u2066",
           "a\0b\x1b[31mred\n\r\t", "' onmouseover='window.broken=1", "{{data}}${window.broken=1}", "x" * 5000, "\ud800lone",
           "javascript:window.broken=1", "\uffff\ufdd0", "__proto__", "constructor", "&lt;b&gt;&amp;", "\u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627"]


def hostile():
    made = flame_data.Made(HOSTILE[1])
    made.facts += [[name[:5000], name[:5000]] for name in HOSTILE]
    for i, name in enumerate(HOSTILE):
        group = (name[:5000], i, name[:5000], HOSTILE[-i - 1][:5000])
        stack = [made.frame(name, HOSTILE[(i + 1) % len(HOSTILE)], line) for line in (0, 2**32 - 1)]
        made.add(group, stack, {"cpu": (20 + i) * MS, "wall": (20 + i) * MS, "samples": 20 + i})
        made.sources.append({"path": made.string("/home/me/" + name), "text": name + "\n" + name, })
    made.sources[0] = {"path": made.sources[0]["path"], "reason": HOSTILE[1]}
    made.unknown = {"gil": HOSTILE[1]}
    made.weights.remove("gil")
    return made


def test_hostile_names_stay_text(opened):
    shown = opened("hostile", hostile)
    elements = shown.value("document.querySelectorAll('script, img, style, iframe').length")
    for keys in (["2"], ["3"], ["1", "l"], ["i"], ["g"], ["Escape"], ["w", "w"]):
        shown.keys(*keys)
        shown.value("document.body.innerText.length")
    for i in range(len(HOSTILE)):
        shown.value(f"document.querySelectorAll('#panel [data-fn]')[{i} % document.querySelectorAll('#panel [data-fn]').length].click()")
        shown.keys("3", "1")
        if shown.value("!!document.querySelector('#panel .top .icon')"):
            shown.value("document.querySelector('#panel .top .icon').click()")
    assert shown.value("window.broken") is None
    assert shown.value("document.querySelectorAll('script, img, style, iframe').length") == elements
    names = set(shown.names()) | set(shown.value("[...document.querySelectorAll('#panel .link')].map((one) => one.textContent)"))
    assert any("\\u{202e}gnp.exe\\u{2066}" in name for name in names) and any("a\\u{0}b\\u{1b}[31mred\\u{a}" in name for name in names)
    everything = shown.value("document.documentElement.outerHTML + document.body.innerText")
    assert not set("\u202e\u2066\x1b") & set(everything)


def test_hostile_names_are_saved_as_svg(opened, saved):
    import xml.etree.ElementTree as tree
    opened("hostile", hostile)
    svg = tree.fromstring(saved("#save-svg", "script-script-window.broken-1-script.svg").read_text(encoding="utf-8"))
    elements = {one.tag.rpartition("}")[2] for one in svg.iter()}
    assert elements <= {"svg", "title", "rect", "text", "pattern", "g"}
    titles = "".join(one.text for one in svg.iter("{http://www.w3.org/2000/svg}title"))
    assert "\\u{ffff}\\u{fdd0}" in titles and HOSTILE[0] in titles


def test_the_policy_stops_what_is_not_the_page(chromium, files):
    """The content policy holds: neither a script nor a style nor a request of a stranger works."""
    chromium.go(files("small", flame_data.small))
    chromium.value("(() => { const one = document.createElement('div'); one.setAttribute('style', 'color: rgb(1, 2, 3)'); one.id = 'stranger';"
                   " document.body.append(one); })()")
    assert chromium.value("getComputedStyle(document.getElementById('stranger')).color") != "rgb(1, 2, 3)"
    for attempt in ("document.body.innerHTML = '<p>'", "document.createElement('script').textContent = '1'"):
        assert chromium.value(f"(() => {{ try {{ {attempt}; return 'done'; }} catch (error) {{ return error.name; }} }})()") == "TypeError"
    assert chromium.value("fetch('http://127.0.0.1:9/').then(() => 'done', (error) => error.name)") == "TypeError"
    said, asked = chromium.trouble()
    assert said and asked == []


# ---- a real recording ----

@pytest.mark.pythons("newest")
def test_a_real_recording(recorded, chromium, tmp_path):
    """Sums are those of pyreel-info, whatever is shown; the program's own text stands in the page."""
    path = tmp_path / "known.html"
    succeed(CONVERTERS["flame"], "--sources", "-o", path, recorded.path)
    chromium.go(path.as_uri())
    threads = recorded.info["threads"]
    for weight, key, unit in (("cpu", "cpu_s", 1e9), ("wall", "wall_s", 1e9), ("samples", "samples", 1)):
        chromium.click("#weight")
        chromium.click(f"#weight-list [value={weight}]")
        chromium.keys("Escape")
        for key_of_view in ("i", "i", "l", "l"):
            chromium.keys(key_of_view)
            of_threads, nobodys = sum(thread[key] for thread in threads), recorded.info["cpu_not_sampled_s"] if key == "cpu_s" else 0
            assert of_threads - 1e-5 <= chromium.value("pyreelFlame.whole") / unit <= of_threads + nobodys + 1e-5
    chromium.click("#tab-sources")
    assert "def " in chromium.text("#view-sources .source") and len(chromium.rows("#view-sources .source tr.hot")) > 3
    hottest = chromium.value("(({top, bottom}) => [top, bottom, innerHeight])(document.querySelector('.source .hottest').getBoundingClientRect())")
    assert chromium.value("getComputedStyle(document.querySelector('.source thead th.number')).backgroundColor") != "rgba(0, 0, 0, 0)"
    assert 0 < hottest[0] < hottest[1] < hottest[2]  # the file does not begin at its first line, but where the time is
    assert chromium.trouble() == ([], [])


# ---- damage and size ----

def test_damaged_data_is_told(chromium, tmp_path):
    data = flame_data.small().data()
    data["nodes"]["frame"][3] = 10**6
    path = tmp_path / "damaged.html"
    path.write_text(flame_data.page_of(data))
    chromium.browser.ask("Page.navigate", chromium.session, url=path.as_uri())
    chromium.page.wait_for("document.getElementById('loading').className === 'wrong'")
    assert chromium.text("#loading") == "This profile cannot be shown. The data is damaged: a number leads nowhere."
    chromium.trouble()


def test_the_page_is_small():
    head, tail = flame_data.embed.page()
    assert len((head + tail).encode()) <= 150_000


def test_a_hundred_thousand_stacks(opened):
    shown = opened("large", lambda: flame_data.large(100_000))
    assert shown.value("pyreelFlame.rows") > 90_000
    sums = {box["depth"]: 0 for box in shown.boxes()}
    for box in shown.boxes():
        sums[box["depth"]] += box["total"]
    assert sums[0] == shown.value("pyreelFlame.whole") and sums[1] <= sums[0]
    shown.keys("i", "f", "2", "3", "1", "/")
    shown.write("parse")
    shown.page.wait_for("document.getElementById('found').innerText.includes('matched')")
    shown.keys("Enter", "n", "Enter")
    assert "parse" in shown.value("pyreelFlame.zoomed")
