# SPDX-License-Identifier: MIT
"""pyreel-gecko --open and --serve: the profile reaches the viewer's page in a browser, and nobody else."""

import contextlib
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

import pytest

import gecko_check
from browser import Browser, Pages
from environment import BUILD, CONVERTERS, PROJECT, need_command, need_root
from recording import ENVIRONMENT, PATIENCE, SANITIZER, run, succeed, wait_until

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
RECORDING = STREAMS / "threads-3.11" / "recording.pyreel"
VIEWER = "https://profiler.firefox.com"


class Showing:
    """pyreel-gecko that shows a profile. Where it is: `link` (in the viewer), `page` (our own), `profile`."""

    def __init__(self, *arguments, environment=None, recording=RECORDING, as_user=None):
        command = [CONVERTERS["gecko"], *map(str, arguments), str(recording)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, user=as_user, env={**ENVIRONMENT, **(environment or {})})
        self.link = self.process.stdout.readline().rstrip("\n")
        assert self.link, self.process.communicate()[1]
        self.url = urllib.parse.unquote(re.search(r"/from-url/([^/]*)/", self.link)[1])
        self.page, _, name = self.url.rpartition("/")
        self.page += "/"
        assert name == "profile.json"
        self.port = urllib.parse.urlsplit(self.url).port

    def ended(self):
        """Its exit code, and its messages."""
        output, errors = self.process.communicate(timeout=PATIENCE)
        assert output == "", output
        assert not SANITIZER.search(errors.encode()), errors
        return self.process.returncode, errors

    @property
    def running(self):
        return self.process.poll() is None

    def close(self):
        if self.running:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def show():
    with contextlib.ExitStack() as stack:
        def start(*arguments, **more):
            return stack.enter_context(contextlib.closing(Showing(*arguments, **more)))
        yield start


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A recording whose profile, not packed, is larger than what sockets hold."""
    path = tmp_path_factory.mktemp("large") / "large.pyreel"
    succeed(os.path.join(BUILD, "tests", "bench", "make-recording"), "-n", "1M", path)
    return path


def curl(*arguments):
    return run(need_command("curl"), "-sS", "--noproxy", "*", "--max-time", PATIENCE, *arguments)


def status(*arguments):
    """The status that curl sees, and the heads of the answer."""
    ended = curl("-i", *arguments)
    assert ended.code == 0, ended
    heads = ended.output.split(b"\r\n\r\n")[0].decode()
    return int(heads.split()[1]), heads.lower()


def connect(showing):
    connection = socket.create_connection(("127.0.0.1", showing.port))
    connection.settimeout(PATIENCE)
    return connection


def ask(showing, path="profile.json"):
    """The bytes of a request as a browser's."""
    return (f"GET {urllib.parse.urlsplit(showing.page).path}{path} HTTP/1.1\r\nHost: 127.0.0.1:{showing.port}\r\n"
            f"Origin: {VIEWER}\r\n\r\n").encode()


def read_all(connection):
    pieces = []
    while piece := connection.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


# ---- what is served ----

@pytest.mark.short
def test_the_profile_is_fetched_and_the_server_ends(show, tmp_path):
    showing = show("--serve")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{48}/profile\.json", showing.url)
    fetched = curl("-H", f"Origin: {VIEWER}", showing.url)
    assert fetched.code == 0, fetched
    code, messages = showing.ended()
    assert code == 0 and "the profile was fetched" in messages and showing.page in messages
    (tmp_path / "converted.pyreel").write_bytes(RECORDING.read_bytes())
    succeed(CONVERTERS["gecko"], tmp_path / "converted.pyreel")
    assert fetched.output == (tmp_path / "converted.pyreel.json.gz").read_bytes()
    assert not os.path.exists(f"{RECORDING}.json.gz")
    profile = json.loads(gzip.decompress(fetched.output))
    assert gecko_check.problems(profile) == []


def test_a_named_file_is_written_and_served(show, tmp_path):
    for name in ("profile.json", "profile.json.gz"):
        path = tmp_path / name
        showing = show("--serve", "-q", "-o", path)
        code, heads = status("-o", tmp_path / "fetched", "-D", "-", showing.url)
        assert code == 200 and ("content-encoding: gzip" in heads) == name.endswith(".gz")
        assert (tmp_path / "fetched").read_bytes().partition(b"\r\n\r\n")[2] == path.read_bytes()
        assert showing.ended() == (0, "")


def test_several_recordings_are_served(show, tmp_path):
    (tmp_path / "second.pyreel").write_bytes((STREAMS / "plain-3.11" / "recording.pyreel").read_bytes())
    showing = show("--serve", tmp_path / "second.pyreel")
    assert len(json.loads(gzip.decompress(curl(showing.url).output))["threads"]) > 2
    assert showing.ended()[0] == 0


def own_code(profile):
    """The category of the functions of the program itself."""
    shared = profile["shared"]
    names = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
    return {category for category, function in zip(shared["frameTable"]["category"], shared["frameTable"]["func"])
            if names[function] == "spin"}.pop()


@pytest.mark.short
@pytest.mark.parametrize("stream, view, tab, query", [
    ("threads-3.11", "my-code", "flame-graph", {"thread": "0", "transforms": "fg-{}"}),
    ("threads-3.11", "flame", "flame-graph", {"thread": "0"}),
    ("threads-3.11", None, "calltree", {"thread": "0"}),
    ("gc-3.15", "gc", "calltree", {"thread": "0", "search": "<GC>", "invertCallstack": ""}),
    # from the first import to the end of the last one
    ("gil-thread-3.15", "imports", "flame-graph", {"thread": "0", "range": "4700u20100", "search": "importlib"}),
])
def test_the_link_opens_a_view(show, stream, view, tab, query):
    showing = show("--serve", *(["--view", view] if view else []), recording=STREAMS / stream / "recording.pyreel")
    link = urllib.parse.urlsplit(showing.link)
    profile = json.loads(gzip.decompress(curl(showing.url).output))
    expected = {key: value.format(own_code(profile)) for key, value in query.items()}
    assert link.path.split("/")[3] == tab
    assert dict(urllib.parse.parse_qsl(link.query, keep_blank_values=True)) == {**expected, "v": "10"}
    assert f"{link.scheme}://{link.netloc}" == VIEWER


@pytest.mark.short
def test_the_lock_is_shown_where_threads_wait_for_it(show, tmp_path):
    """The thread that waits longest is selected, and no thread that hardly waits."""
    recording = tmp_path / "statuses.pyreel"
    succeed(os.path.join(BUILD, "tests", "make-statuses"), recording)  # in which only "worker" waits
    showing = show("--serve", "--view", "gil", recording=recording)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(showing.link).query, keep_blank_values=True))
    profile = json.loads(gzip.decompress(curl(showing.url).output))
    assert [profile["threads"][int(digit, 32)]["name"] for digit in query["thread"]] == ["worker"]
    assert query["search"] == "[waiting for GIL]" and "invertCallstack" in query
    assert "[waiting for GIL]" in profile["shared"]["stringArray"]


def test_an_empty_view_is_not_shown(show):
    showing = show("--serve", "--view", "gc")
    assert urllib.parse.urlsplit(showing.link).path.endswith("/flame-graph/") and "search" not in showing.link
    assert curl("-o", "/dev/null", showing.url).code == 0
    assert "warning: the recording has no sample that collects garbage" in showing.ended()[1]


@pytest.mark.short
@pytest.mark.parametrize("arguments, said", [
    (["--view", "flame"], "--view chooses"),
    (["--profiler-url", "https://profiler.example.org"], "--profiler-url chooses"),
    (["--serve", "-o", "-"], "standard output"),
    (["--serve", "--view", "nothing"], "my-code|gil|gc|imports|flame"),
    (["--serve", "--profiler-url", "profiler.example.org"], "--profiler-url"),
    (["--serve", "--profiler-url", "javascript:alert(1)"], "--profiler-url"),
])
def test_options_that_make_no_sense_are_refused(arguments, said, tmp_path):
    ended = run(CONVERTERS["gecko"], *arguments, RECORDING, cwd=tmp_path)
    assert ended.code == 2 and said in ended.messages, ended
    assert list(tmp_path.iterdir()) == []


# ---- who gets nothing ----

@pytest.mark.short
def test_other_paths_methods_hosts_and_origins_are_refused(show):
    showing = show("--serve")
    root = f"http://127.0.0.1:{showing.port}"
    origin = ("-H", f"Origin: {VIEWER}")
    wrong_token = showing.url.replace("/profile.json", "0/profile.json")
    refused = [
        ([f"{root}/", *origin], 404),
        ([f"{root}/profile.json", *origin], 404),
        ([wrong_token, *origin], 404),
        ([showing.url[:-1], *origin], 404),
        ([f"{showing.page}%2e%2e/profile.json", *origin], 404),
        (["-X", "POST", "-d", "{}", showing.url, *origin], 405),
        (["-X", "PUT", "-d", "{}", showing.url, *origin], 405),
        (["-X", "DELETE", showing.url, *origin], 405),
        (["-X", "GET", "-d", "{}", showing.url, *origin], 400),
        (["-H", "Host: evil.example", showing.url, *origin], 421),
        (["-H", f"Host: evil.example:{showing.port}", showing.url, *origin], 421),
        (["-H", "Host: 127.0.0.1:1", showing.url, *origin], 421),
        (["-H", "Origin: https://evil.example", showing.url], 403),
        (["-H", "Origin: null", showing.url], 403),
        (["-H", "Origin: http://profiler.firefox.com", showing.url], 403),
        (["-H", "Sec-Fetch-Site: cross-site", showing.url], 403),
        (["-H", f"X: {'x' * 9000}", showing.url, *origin], 431),
        ([argument for number in range(80) for argument in ("-H", f"X-{number}: y")] + [showing.url, *origin], 431),
    ]
    for arguments, expected in refused:
        code, heads = status(*arguments)
        assert code == expected, arguments
        assert "access-control" not in heads and "mozilla" not in heads, heads
    code, heads = status("-X", "OPTIONS", "-H", "Access-Control-Request-Method: GET", *origin,
                         "-H", "Access-Control-Request-Private-Network: true", showing.url)
    assert code == 204 and f"access-control-allow-origin: {VIEWER}\r\n" in heads + "\r\n"
    assert "access-control-allow-private-network: true" in heads
    code, heads = status("-I", showing.url)
    assert code == 200 and "content-length" in heads
    assert showing.running  # none of these has fetched the profile
    code, heads = status("-o", "/dev/null", "-D", "-", showing.url, *origin)
    assert code == 200 and f"access-control-allow-origin: {VIEWER}\r\n" in heads + "\r\n"
    assert showing.ended()[0] == 0


@pytest.mark.short
def test_what_is_no_http_gets_an_answer_or_an_end(show):
    showing = show("--serve")
    for said in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"\0" * 9000, b"x" * 100_000):
        with contextlib.suppress(ConnectionError), connect(showing) as connection:
            connection.sendall(said)
            assert read_all(connection).startswith(b"HTTP/1.1 4")
    assert curl(showing.url).code == 0
    assert showing.ended()[0] == 0


def test_connections_that_say_nothing_keep_nobody_out(show):
    showing = show("--serve")
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(showing)) for _ in range(100)]
        for number, connection in enumerate(silent[::2]):
            with contextlib.suppress(ConnectionError):  # the oldest make room for the others
                connection.sendall(b"GET / HT" if number % 4 else b"\r")
        assert curl("-o", "/dev/null", showing.url).code == 0
        assert showing.ended()[0] == 0


@pytest.fixture
def public():
    """A copy of RECORDING in a folder for all users."""
    with tempfile.TemporaryDirectory(prefix="pyreel-e2e-", dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        path = pathlib.Path(folder) / "recording.pyreel"
        path.write_bytes(RECORDING.read_bytes())
        path.chmod(0o644)
        yield path


def test_other_users_are_refused(show, public):
    """Another user of the machine can read the address from the command line of the browser. Root's server asks nobody."""
    root, owner, other = need_root(), os.geteuid() or 12345, 12346
    showing = show("--serve", recording=public, environment={"TMPDIR": str(public.parent)}, as_user=owner if os.geteuid() == 0 else None)

    def curl_as(user):
        return run(*root, need_command("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups",
                   need_command("curl"), "-sS", "--noproxy", "*", "-o", "/dev/null", showing.url).code

    assert curl_as(other) != 0
    assert showing.running
    assert curl_as(owner) == 0
    assert showing.ended()[0] == 0


# ---- how it ends ----

@pytest.mark.short
def test_a_cut_connection_is_no_fetch(show, large):
    showing = show("--serve", "-o", large.with_suffix(".json"), "--force", recording=large)
    for _ in range(3):
        with connect(showing) as connection:
            connection.sendall(ask(showing))
            assert connection.recv(1000)
    assert curl("--max-filesize", 1000, "-o", "/dev/null", showing.url).code == 63
    assert showing.running
    fetched = curl(showing.url)
    assert fetched.code == 0 and len(fetched.output) == large.with_suffix(".json").stat().st_size
    assert showing.ended()[0] == 0


def test_a_slow_reader_gets_the_rest(show, large):
    showing = show("--serve", "-o", large.with_suffix(".json"), "--force", recording=large)
    with connect(showing) as slow:
        slow.sendall(ask(showing))
        begin = slow.recv(1000)
        assert curl("-o", "/dev/null", showing.url).code == 0
        time.sleep(2.5)  # longer than the server waits for a second visitor
        assert showing.running
        whole = begin + read_all(slow)
    assert whole.partition(b"\r\n\r\n")[2] == large.with_suffix(".json").read_bytes()
    assert showing.ended()[0] == 0


@pytest.mark.short
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(show, number):
    showing = show("--serve")
    with connect(showing) as connection:
        connection.sendall(b"GET / HTTP")
        showing.process.send_signal(number)
        code, messages = showing.ended()
    assert code == -number and "before the profile was fetched" in messages
    showing = show("--serve")
    assert curl("-o", "/dev/null", showing.url).code == 0
    showing.process.send_signal(number)
    code, messages = showing.ended()
    assert code in (0, -number)  # the signal may come before the last byte is acknowledged
    assert ("the profile was fetched" in messages) == (code == 0)


# ---- the browser ----

def browser_script(folder, body):
    """A command that stands in for a browser."""
    path = folder / "own browser"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    (folder / "bin").mkdir()
    (folder / "bin" / "own-browser").symlink_to(path)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


@pytest.mark.short
@pytest.mark.parametrize("command", ["own-browser", "not-there-1:not-there-2 x:own-browser --new %s:false"])
def test_open_starts_the_users_browser(show, command, tmp_path):
    environment = browser_script(tmp_path, f"for last; do :; done; echo \"$last\" >{tmp_path}/opened; cat >>{tmp_path}/opened\n"
                                 "echo noise; echo noise >&2")
    showing = show("--open", "--view", "flame", environment={**environment, "BROWSER": command})
    wait_until(lambda: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text().endswith("\n"), "the browser")
    assert (tmp_path / "opened").read_text() == showing.link + "\n"
    assert curl("-o", "/dev/null", showing.url).code == 0
    code, messages = showing.ended()
    assert code == 0 and "noise" not in messages and "no browser" not in messages


@pytest.mark.parametrize("environment", [{"BROWSER": "not-there"}, {"BROWSER": "false"}, {"BROWSER": " : "},
                                         {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", "WSL_DISTRO_NAME": ""}])
def test_without_a_browser_the_address_is_there(show, environment):
    showing = show("--open", environment=environment)
    said = ""
    while "no browser could be started" not in said:
        said = showing.process.stderr.readline()
        assert said
    assert curl("-o", "/dev/null", showing.url).code == 0
    assert showing.ended()[0] == 0


# ---- in a real browser ----

@pytest.fixture(scope="module")
def sites():
    """Stand-ins for the viewer's site and for one that wants the profile."""
    with contextlib.closing(Pages("viewer.html")) as viewer, contextlib.closing(Pages("hostile.html")) as hostile:
        yield viewer, hostile


@pytest.fixture(scope="module")
def browser(sites):
    with contextlib.closing(Browser()) as running:
        yield running


@pytest.fixture(scope="module")
def asking_browser(sites):
    """A browser for which the viewer's site is on the internet, so that it may not reach this machine unless the user
    allows it; there is no user here."""
    public = f"--ip-address-space-overrides=127.0.0.1:{sites[0].port}=public"
    with contextlib.closing(Browser(public)) as running:
        yield running


def assert_shown(told, source):
    assert "error" not in told, told
    assert (told["source"], told["tab"]) == (source, "flame-graph")
    query = dict(urllib.parse.parse_qsl(told["query"][1:]))
    assert told["categories"][int(query["transforms"].removeprefix("fg-"))]
    assert query["thread"] == "0" and len(told["threads"]) == 2


def hand_over(page):
    page.wait_for("document.readyState === 'complete' && document.getElementById('open') !== null")
    page.value("document.getElementById('open').click()", click=True)


def test_the_viewer_fetches_the_profile(show, browser, sites):
    viewer = sites[0]
    showing = show("--serve", "--view", "my-code", "--profiler-url", f"http://viewer.example:{viewer.port}/")
    browser.open(showing.link)
    assert_shown(viewer.next_told(), "from-url")
    assert showing.ended()[0] == 0


def test_our_page_hands_over_the_profile(show, browser, sites):
    viewer = sites[0]
    showing = show("--serve", "--view", "my-code", "--profiler-url", f"http://viewer.example:{viewer.port}")
    page = browser.open(showing.page)
    hand_over(page)
    assert_shown(viewer.next_told(), "from-post-message")
    page.wait_for("document.getElementById('state').value === 'The viewer has the profile.'")
    assert showing.ended()[0] == 0
    hand_over(page)  # once more, when the server is gone
    assert_shown(viewer.next_told(), "from-post-message")


def test_our_page_links_to_the_viewer(show, browser, sites):
    viewer = sites[0]
    showing = show("--serve", "--view", "my-code", "--profiler-url", f"http://viewer.example:{viewer.port}")
    page = browser.open(showing.page)
    page.wait_for("document.readyState === 'complete' && document.getElementById('link') !== null")
    page.value("document.getElementById('link').click()", click=True)
    assert_shown(viewer.next_told(), "from-url")
    assert showing.ended()[0] == 0


def test_our_page_works_where_the_browser_lets_no_site_reach_this_machine(show, asking_browser, sites):
    viewer = sites[0]
    showing = show("--serve", "--view", "my-code", "--profiler-url", f"http://127.0.0.1:{viewer.port}")
    asking_browser.open(showing.link)
    told = viewer.next_told()
    assert told.get("error") == "TypeError: Failed to fetch" or "threads" in told  # old browsers do not ask
    if "threads" in told:
        return
    assert showing.running
    hand_over(asking_browser.open(showing.page))
    assert_shown(viewer.next_told(), "from-post-message")
    assert showing.ended()[0] == 0


def test_a_hostile_page_gets_nothing(show, browser, sites):
    hostile = sites[1]
    showing = show("--serve")
    root = f"http://127.0.0.1:{showing.port}/"
    wrong_token = root + "0" * 48 + "/"
    for host, at in (("127.0.0.1", root), ("evil.example", wrong_token), ("localhost", showing.page),
                     ("evil.example", showing.page)):
        browser.open(f"http://{host}:{hostile.port}/?at={urllib.parse.quote(at, safe='')}")
        told = hostile.next_told()
        assert {how: seen for how, seen in told.items() if not seen.startswith("nothing: ")} == {}, (host, at)
    # a name that leads to this machine: the browser takes the server for a part of that site
    page = browser.open(showing.url.replace("127.0.0.1", "evil.example"))
    page.wait_for("document.readyState === 'complete' && location.host.startsWith('evil.example')")
    assert page.value("document.body.innerText").strip() == "Misdirected Request"
    assert page.value("fetch('profile.json').then(answer => answer.status)") == 421
    assert showing.running
    showing.process.send_signal(signal.SIGINT)
    assert showing.ended()[0] == -signal.SIGINT
