# SPDX-License-Identifier: MIT
"""pyreel-gecko --upload, --delete, --link-for, --sanitize: against a store of profiles that runs here, over http and https."""

import gzip
import json
import os
import pathlib
import pty
import random
import re
import socket
import stat
import subprocess

import pytest

import gecko_check
import made_stream
import recording
import store as stores
from environment import CONVERTERS, PROJECT, RECORD, need_command, python_of_this_machine
from recording import ENVIRONMENT, PATIENCE, Ended

RECORDING = pathlib.Path(PROJECT) / "tests" / "streams" / "threads-3.11" / "recording.pyreel"
DAMAGED = pathlib.Path(PROJECT) / "tests" / "streams" / "damaged" / "recording.pyreel"
LATER = pathlib.Path(PROJECT) / "tests" / "streams" / "gc-3.15" / "recording.pyreel"  # began after DAMAGED
LINK = re.compile(r"https://profiler\.firefox\.com/public/([a-z2-7]{39})/[^\n]*\n")
OF_NETWORK = re.compile(r"(http|https|all|no)_proxy|CURL_CA_BUNDLE|SSL_CERT_(FILE|DIR)", re.I)  # variables of this machine


def surroundings(state, **variables):
    kept = {name: value for name, value in ENVIRONMENT.items() if not OF_NETWORK.fullmatch(name)}
    return kept | {"XDG_STATE_HOME": str(state), **variables}


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def gecko(state):
    def run(*arguments, **variables):
        command = [CONVERTERS["gecko"], *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              env=surroundings(state, **variables))
        return Ended(command, done.returncode, done.stdout, done.stderr)
    return run


@pytest.fixture
def open_store():
    opened = []

    def make(*arguments, **answers):
        opened.append(stores.Store(*arguments, **answers))
        return opened[-1]
    yield make
    for store in opened:
        store.close()


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A recording whose profile has several hundred kilobytes."""
    path, choose = tmp_path_factory.mktemp("large") / "large.pyreel", random.Random(5)
    samples = made_stream.Samples([[("main", "/srv/app/app.py", choose.randrange(1, 60000))] for _ in range(30000)])
    made_stream.write(path, samples, pid=7, start_unix_ns=1_700_000_000_000_000_000)
    return path


def uploads(state):
    return sorted((state / "pyreel" / "uploads").glob("*"))


def assert_refused(ended, store, state, *words):
    """The upload failed with these words, and nothing of it remains: no profile, no link, no receipt."""
    assert ended.code == 1, ended
    assert ended.output == b"", ended
    last = ended.messages.splitlines()[-1]
    assert all(word in last for word in words), ended
    assert last.startswith("pyreel-gecko: cannot upload to http"), ended
    assert uploads(state) == []
    assert store is None or store.profiles == {}


# ---- what works ----

@pytest.mark.short
def test_upload_and_delete(gecko, open_store, state):
    store = open_store()
    ended = gecko("--upload", "--server", store.url, RECORDING)
    assert ended.code == 0, ended
    link = LINK.fullmatch(ended.text)
    assert link, ended
    token = link[1]
    assert [method for method, *_ in store.seen] == ["POST"]
    profile = store.profile(token)
    assert profile["meta"]["preprocessedProfileVersion"] == 64
    # exactly what would have been written to a file
    written = state.parent / "profile.json.gz"
    assert gecko("-o", written, RECORDING).code == 0
    assert written.read_bytes() == store.profiles[token][0]

    proof = store.profiles[token][1]
    file, = uploads(state)
    assert json.loads(file.read_text())["proof"] == proof
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert proof not in ended.messages and proof.split(".")[1] not in ended.messages

    command = re.search(r"to take the profile back: pyreel-gecko (--delete \S+)\n", ended.messages)
    assert command[1] == f"--delete https://profiler.firefox.com/public/{token}"
    deleted = gecko(*command[1].split())
    assert deleted.code == 0, deleted
    assert deleted.messages == f"pyreel-gecko: deleted https://profiler.firefox.com/public/{token}\n"
    assert store.profiles == {} and uploads(state) == []
    again = gecko(*command[1].split())
    assert again.code == 1 and "has no proof that you uploaded this profile" in again.messages, again


@pytest.mark.short
def test_what_is_shown_is_said_before_anything_is_sent(gecko, open_store):
    store = open_store(early=(503,))
    ended = gecko("--upload", "--server", store.url, RECORDING)
    lines = ended.messages.splitlines()
    assert lines[0] == f"pyreel-gecko: uploading to {store.url}; everybody who has the link will see"
    said = dict(re.fullmatch(r" {4}(\d+ [a-z' ]+[a-z])  +(.*)", line).groups() for line in lines[1:6])
    assert said["1 host"] == "box"
    assert said["2 command lines"] == "such as /usr/bin/python3.11 /srv/app/doing.py two"
    assert said["2 file names"] == "such as /srv/app/doing.py"
    assert said["1 executable"] == "/usr/bin/python3.11"
    assert "2 thread names" in said
    assert "--sanitize" in lines[6]
    assert "(answer 503)" in lines[-1]
    quiet = gecko("--upload", "--quiet", "--server", store.url, RECORDING)
    assert len(quiet.messages.splitlines()) == 1, quiet


def test_a_file_too(gecko, open_store, tmp_path):
    store, path = open_store(), tmp_path / "profile.json.gz"
    ended = gecko("--upload", "--server", store.url, "-o", path, RECORDING)
    assert ended.code == 0, ended
    assert path.read_bytes() == store.profiles[LINK.fullmatch(ended.text)[1]][0]
    assert gecko("--upload", "--server", store.url, "-o", tmp_path / "profile.json", RECORDING).code == 2
    refused = gecko("--upload", "--server", store.url, "--max-upload", "1000", "-o", path, RECORDING)
    assert refused.code == 1 and "is not uploaded: it has" in refused.messages, refused
    assert len(store.seen) == 1
    assert gzip.decompress(path.read_bytes())


def test_no_file_is_written_unless_named(gecko, open_store, tmp_path):
    copy = tmp_path / "app.pyreel"
    copy.write_bytes(RECORDING.read_bytes())
    assert gecko("--upload", "--server", open_store().url, copy).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"app.pyreel", "state"}


def test_the_view_is_in_the_link(gecko, open_store):
    ended = gecko("--upload", "--view", "flame", "--profiler-url", "https://viewer.example/", "--server", open_store().url,
                  RECORDING)
    assert re.fullmatch(r"https://viewer\.example/public/[a-z2-7]{39}/flame-graph/\?\S+\n", ended.text), ended
    assert "warning" not in ended.messages


def test_several_recordings_need_no_name(gecko, open_store, large):
    store = open_store()
    ended = gecko("--upload", "--server", store.url, RECORDING, large)
    assert ended.code == 0, ended
    assert len({thread["pid"] for thread in store.profile(LINK.fullmatch(ended.text)[1])["threads"]}) >= 2


@pytest.mark.short
def test_over_tls(gecko, open_store, state, tmp_path):
    need_command("openssl")
    certificate = stores.make_certificate(tmp_path)
    store = open_store(certificate)
    assert_refused(gecko("--upload", "--server", store.url, RECORDING), store, state, "the certificate of the store", "SSL_CERT_FILE")
    assert store.seen == []
    for variable in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
        trusted = {variable: certificate[0]}
        ended = gecko("--upload", "--server", store.url, RECORDING, **trusted)
        assert ended.code == 0, ended
        link = ended.text.strip()
        assert gecko("--delete", link).code == 1
        assert gecko("--delete", link, **trusted).code == 0
    # a certificate that is trusted, and of another host
    other = store.url.replace("localhost", "127.0.0.1")
    assert_refused(gecko("--upload", "--server", other, RECORDING, **trusted), store, state, "the certificate of the store")


def test_two_uploads_at_once(gecko, open_store, state):
    store = open_store()
    command = [CONVERTERS["gecko"], "--upload", "--server", store.url, str(RECORDING)]
    running = [subprocess.Popen(command, env=surroundings(state), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    links = [process.communicate(timeout=PATIENCE)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert len(set(links)) == 4 and len(uploads(state)) == 4
    assert all(gecko("--delete", link).code == 0 for link in links)
    assert store.profiles == {} and uploads(state) == []


def test_stores_do_not_mix(gecko, open_store):
    one, other = open_store(), open_store()
    link = gecko("--upload", "--server", one.url, RECORDING).text.strip()
    ended = gecko("--delete", link, "--server", other.url)
    assert ended.code == 1 and f"to {other.url}" in ended.messages, ended
    assert other.seen == []
    assert gecko("--delete", link, "--server", one.url + "/").code == 0


def test_the_proxy_of_the_environment(gecko, open_store):
    proxy = open_store()
    ended = gecko("--upload", "--server", "http://store.invalid", RECORDING, http_proxy=proxy.url)
    assert ended.code == 1 and "(answer 404)" in ended.messages, ended
    assert [path for _, path, _ in proxy.seen] == ["http://store.invalid/compressed-store"]
    assert "http: everybody on the way can read" in ended.messages


# ---- deleting ----

def test_a_profile_that_is_gone(gecko, open_store, state):
    store = open_store()
    link = gecko("--upload", "--server", store.url, RECORDING).text.strip()
    store.profiles.clear()
    ended = gecko("--delete", link)
    assert ended.code == 1 and "has no such profile any more" in ended.messages, ended
    assert len(uploads(state)) == 1


def test_a_profile_of_another_store_now(gecko, open_store, state):
    store = open_store()
    link = gecko("--upload", "--server", store.url, RECORDING).text.strip()
    token, = store.profiles
    store.profiles[token] = store.profiles[token][0], "another.proof.x"
    ended = gecko("--delete", link)
    assert ended.code == 1 and "refuses the proof that the profile is yours (answer 401)" in ended.messages, ended
    assert json.loads(uploads(state)[0].read_text())["proof"] not in ended.messages


@pytest.mark.parametrize("link, code, words", [
    ("https://profiler.firefox.com/public/" + "a" * 39, 1, "has no proof that you uploaded this profile"),
    ("https://share.firefox.dev/3xYzAbC", 2, "takes the link that --upload printed"),
    ("../../etc/passwd", 2, "takes the link that --upload printed"),
])
def test_the_link_of_somebody_else(gecko, link, code, words):
    ended = gecko("--delete", link)
    assert ended.code == code and words in ended.messages, ended


@pytest.mark.sanitized("files of the state folder")
def test_damaged_receipts_are_no_receipts(gecko, open_store, state):
    store = open_store()
    link = gecko("--upload", "--server", store.url, RECORDING).text.strip()
    file, = uploads(state)
    whole = json.loads(file.read_text())
    for damaged in ("", "[]", "{}", "null", json.dumps(whole)[:-40], json.dumps(whole | {"proof": "a.b\r\nX: y.c"}),
                    json.dumps(whole | {"token": "b" * 39}), json.dumps(whole | {"server": 7}), "[" * 60000):
        file.write_text(damaged)
        ended = gecko("--delete", link)
        assert ended.code == 1 and "has no proof" in ended.messages, ended
    file.write_text(json.dumps(whole | {"server": "file:///etc"}))
    assert "is damaged" in gecko("--delete", link).messages
    assert len(store.seen) == 1


# ---- what fails ----

def test_nobody_there(gecko, state):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert_refused(gecko("--upload", "--server", f"http://127.0.0.1:{port}", RECORDING), None, state, "no connection")
    assert_refused(gecko("--upload", "--server", "http://store.invalid", RECORDING), None, state, "the name of the host is not known")


@pytest.mark.short
@pytest.mark.parametrize("status, words", [
    (400, "takes this for no profile"), (401, "refuses the proof"), (403, "does not let you"), (404, "nothing at this address"),
    (413, "too large for the store"), (429, "too many requests"), (500, "a problem of its own"), (503, "a problem of its own"),
    (418, "does not do that"),
])
def test_refusals(gecko, open_store, state, status, words):
    for answers in ({"status": status}, {"early": (status,)}):
        store = open_store(**answers)
        ended = gecko("--upload", "--server", store.url, RECORDING)
        assert_refused(ended, store, state, words, f"(answer {status})")


@pytest.mark.short
def test_no_redirection_is_followed(gecko, open_store, state):
    trap = open_store()
    for answers in ({"early": (307, {"Location": f"{trap.url}/compressed-store"})},
                    {"status": 302, "headers": {"Location": f"{trap.url}/compressed-store"}}):
        store = open_store(**answers)
        ended = gecko("--upload", "--server", store.url, RECORDING)
        assert_refused(ended, store, state, "nothing is sent there", f"{trap.url}/compressed-store")
    assert trap.seen == []


def test_too_large_for_the_store(gecko, open_store, state, large):
    store = open_store(limit=150_000)
    assert_refused(gecko("--upload", "--server", store.url, large), store, state, "too large for the store", "--from")


@pytest.mark.short
def test_too_large_while_sending(gecko, open_store, state, large):
    store = open_store()
    ended = gecko("--upload", "--server", store.url, "--max-upload", "150k", large)
    assert_refused(ended, store, state, "the profile is larger than 0.143", "--from")
    recording.wait_until(lambda: store.cut == 1, "the store sees that the body is cut")


@pytest.mark.parametrize("answers, words", [
    ({"text": "not a token"}, "is not the token"),
    ({"text": ""}, "is not the token"),
    ({"text": stores.web_token({"profileToken": "../../x"})}, "is not the token"),
    ({"text": stores.web_token({"profileToken": 7})}, "is not the token"),
    ({"text": stores.web_token({"profileToken": "x" * 200})}, "is not the token"),
    ({"text": stores.web_token({})}, "is not the token"),
    ({"text": "\x1b[31m" + "x" * 100}, "is not the token"),
    ({"text": "x" * 100_000}, "the answer is too large"),
    ({"closes": True}, "without an answer"),
    ({"resets": True}, "the connection"),
    ({"silent": True}, "nothing has moved for 1 s"),
    ({"hangs": True}, "nothing has moved for 1 s"),
])
def test_answers_of_no_store(gecko, open_store, state, answers, words, large):
    store = open_store(**answers)
    waits = ("--timeout", "1") if {"silent", "hangs"} & set(answers) else ()
    ended = gecko("--upload", *waits, "--server", store.url, large)
    store.profiles.clear()
    assert_refused(ended, store, state, words)
    assert "\x1b" not in ended.messages and "xxx" not in ended.messages


def test_no_http_at_all(gecko, state):
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [CONVERTERS["gecko"], "--upload", "--server", f"http://127.0.0.1:{server.getsockname()[1]}", str(RECORDING)]
        process = subprocess.Popen(command, env=surroundings(state), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        server.settimeout(PATIENCE)
        connection, _ = server.accept()
        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)
        connection.shutdown(socket.SHUT_WR)
        output, errors = process.communicate(timeout=PATIENCE)
        connection.close()
    assert_refused(Ended(command, process.returncode, output, errors), None, state, "is --server a store of profiles?")


@pytest.mark.short
def test_an_upload_that_is_killed_has_no_end(open_store, state, large):
    store = open_store(hangs=True)
    command = [CONVERTERS["gecko"], "--upload", "--server", store.url, str(large)]
    process = subprocess.Popen(command, env=surroundings(state), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert store.arrived.wait(PATIENCE)
    process.kill()
    process.communicate()
    store.released.set()
    recording.wait_until(lambda: store.cut == 1, "the store sees that the body is cut")
    assert uploads(state) == [] and store.profiles == {}


def test_progress_on_a_terminal(open_store, state):
    store = open_store(silent=True)
    terminal, other = pty.openpty()
    command = [CONVERTERS["gecko"], "--upload", "--server", store.url, str(RECORDING)]
    process = subprocess.Popen(command, env=surroundings(state), stdout=subprocess.PIPE, stderr=other, stdin=other)
    os.close(other)
    said = recording.read_terminal(terminal, until=b"waiting for the answer")
    assert b"pyreel-gecko: 0.0 MB sent, waiting for the answer" in said
    store.released.set()
    said = recording.read_terminal(terminal)
    os.close(terminal)
    assert process.wait(PATIENCE) == 1 and process.stdout.read() == b""
    process.stdout.close()
    assert b"\r\x1b[K" in said and b"without an answer" in said


def test_a_damaged_recording(gecko, open_store):
    store = open_store()
    ended = gecko("--upload", "--strict", "--server", store.url, DAMAGED)
    assert ended.code == 1 and "so --strict uploads nothing" in ended.messages, ended
    ended = gecko("--upload", "--strict", "--server", store.url, DAMAGED, LATER)
    assert ended.code == 1 and "so --strict uploads nothing" in ended.messages, ended
    assert store.seen == []
    ended = gecko("--upload", "--server", store.url, DAMAGED)
    assert ended.code == 0 and "is damaged" in ended.messages, ended
    ended = gecko("--upload", "--server", store.url, "--threads", "nobody", RECORDING)
    assert ended.code == 1 and len(store.seen) == 1, ended


def test_no_place_for_the_proof(gecko, open_store, tmp_path):
    store, file = open_store(), tmp_path / "file"
    file.write_text("")
    ended = gecko("--upload", "--server", store.url, RECORDING, XDG_STATE_HOME=str(file))
    assert ended.code == 1 and "cannot make the folder" in ended.messages, ended
    assert store.seen == []


def test_a_link_that_cannot_be_printed(open_store, state):
    with open("/dev/full", "w") as full:
        done = subprocess.run([CONVERTERS["gecko"], "--upload", "--server", open_store().url, str(RECORDING)], stdout=full,
                              stderr=subprocess.PIPE, env=surroundings(state), timeout=PATIENCE)
    assert done.returncode == 1 and b"The link is https://" in done.stderr


@pytest.mark.parametrize("arguments, words", [
    (["--upload", "--open"], "name one of them"),
    (["--upload", "--delete", "x"], "name one of them"),
    (["--delete", "x", "--link-for", "https://x.example/"], "name one of them"),
    (["--server", "https://x.example"], "are for --upload and --delete"),
    (["--upload", "-o", "-"], "name a FILE.gz"),
    (["--upload", "--server", "ftp://x.example"], "must begin with https://"),
    (["--upload", "--server", "https://u:secret@x.example"], "must not hold a user name or a password"),
    (["--upload", "--server", "https://x.example/?a"], "without ? and #"),
    (["--upload", "--server", "https://x.example:99999"], "names no host, or a port that is none"),
    (["--upload", "--server", "https://x y"], "a character that no URL has"),
    (["--upload", "--max-upload", "0"], "--max-upload"),
    (["--upload", "--timeout", "soon"], "--timeout"),
])
def test_misuse(gecko, arguments, words):
    given = [] if "--delete" in arguments else [RECORDING]
    ended = gecko(*arguments, *given)
    assert ended.code == 2 and words in ended.messages and "secret" not in ended.messages, ended


# ---- links ----

@pytest.mark.short
def test_link_for(gecko):
    ended = gecko("--link-for", "https://ci.example/job 7/p.json.gz".replace(" ", "%20"), "--view", "flame")
    assert ended.code == 0 and ended.messages == "", ended
    assert ended.text == ("https://profiler.firefox.com/from-url/https%3A%2F%2Fci.example%2Fjob%25207%2Fp.json.gz/flame-graph/?"
                          + ended.text.partition("?")[2])
    assert "warning" not in gecko("--link-for", "http://127.0.0.1:8000/p.json.gz").messages
    assert "serve the profile with https" in gecko("--link-for", "http://ci.example/p.json.gz").messages
    assert gecko("--link-for", "file:///srv/p.json.gz").code == 2
    assert gecko("--link-for", "https://ci.example/p.json.gz", RECORDING).code == 2


# ---- private names ----

MARK = "zanzibar"
PRIVATE = {
    "app/main.py": """
import sys, time
sys.path[1:1] = [sys.argv[1]]
import tools.make, pack.mod, threading, json
def generated(name):
    space = {}
    exec(compile("def spin(until):\\n while time.thread_time() < until: sum(range(500))\\nimport time", name, "exec"), space)
    return space["spin"]
def main(rounds):
    works = [tools.make.spin, pack.mod.spin, *map(generated, sys.argv[2:-1])]
    for _ in range(rounds):
        for work in works:
            work(time.thread_time() + 0.01)
        json.loads(json.dumps(list(range(30000))))
thread = threading.Thread(target=main, args=(8,), name="worker-1")
thread.start()
thread.join()
""",
    "app/tools/make.py": "import time\ndef spin(until):\n while time.thread_time() < until: sum(range(500))\n",
    "venv/lib/python3.99/site-packages/pack/mod.py": "import time\ndef spin(until):\n while time.thread_time() < until: sum(range(500))\n",
}


def record_private(folder, working_folder):
    """A recording with MARK as the user, a folder, an argument, a host, and in names of files that are none. The working folder
    is the program's, that of the packages, or one above all."""
    python = python_of_this_machine()
    home = folder / MARK
    for name, text in PRIVATE.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    made = [f"/home/{MARK}/gen.py", f"<template /home/{MARK}/page.html>", f"../{MARK}/up.py", f"/{MARK}.d/root.py"]
    where = {"of the program": home / "app", "of the shell": home / "venv", "above": folder}[working_folder]
    command = [RECORD, "-o", home / "out.pyreel", *recording.ALL_TICKS, "--", *python.command, home / "app" / "main.py",
               home / "venv/lib/python3.99/site-packages", *made, f"--token={MARK}"]
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode == 0:  # a host of that name
        command = ["unshare", "--uts", "sh", "-c", f'hostname {MARK}; exec "$@"', "sh", *command]
    subprocess.run(list(map(str, command)), check=True, cwd=where, timeout=PATIENCE, capture_output=True,
                   env={**ENVIRONMENT, "USER": MARK, "LOGNAME": MARK, "HOME": str(home)})
    return home / "out.pyreel"


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    return record_private(tmp_path_factory.mktemp("private"), "of the program")


def strings_of(value):
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings_of(one)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("working_folder", [pytest.param("of the program", marks=pytest.mark.short), "of the shell", "above"])
def test_sanitize(gecko, open_store, private, tmp_path, working_folder):
    private = private if working_folder == "of the program" else record_private(tmp_path, working_folder)
    whole, clean = tmp_path / "whole.json", tmp_path / "clean.json"
    assert gecko("-o", whole, private).code == 0
    marked = [text for text in strings_of(json.loads(whole.read_text())) if MARK in text]
    assert len(marked) > 5
    assert gecko("--sanitize", "-o", clean, private).code == 0
    text = clean.read_text()
    assert MARK not in text.lower()
    profile = json.loads(text)
    assert gecko_check.problems(profile) == []
    assert not [one for one in strings_of(profile) if one.startswith("/")]
    names = [profile["shared"]["stringArray"][name] for name in profile["shared"]["sources"]["filename"]]
    assert {"site-packages/pack/mod.py", "gen.py", "page.html", "up.py", "root.py"} <= set(names), names
    assert "tools/make.py" in names and "main.py" in names
    library = r"(lib/python3\.\d+t?/|git:github\.com/python/cpython:Lib/)[a-z_/]+\.py(:v.*)?"
    assert any(re.fullmatch(library, name) for name in names), names
    assert profile["meta"]["arguments"] == "main.py"
    assert profile["threads"][0]["processName"] == "main.py"
    assert len(profile["threads"]) == len(json.loads(whole.read_text())["threads"])

    store = open_store()
    ended = gecko("--sanitize", "--upload", "--server", store.url, private)
    assert ended.code == 0, ended
    said = ended.messages.replace(store.url, "")
    assert "host" not in said and "--sanitize" not in said and MARK not in said, ended
    assert store.profile(LINK.fullmatch(ended.text)[1]) == profile


def test_sanitize_and_sources(gecko, private, tmp_path):
    path = tmp_path / "clean.json"
    assert gecko("--sanitize", "--embed-sources", "-o", path, private).code == 2
    repository = f"github.com/me/app@v1={private.parent / 'app'}"
    assert gecko("--sanitize", "--source-repo", repository, "-o", path, private).code == 0
    assert MARK not in path.read_text()
    assert "git:github.com/me/app:tools/make.py:v1" in json.loads(path.read_text())["shared"]["stringArray"]


def test_sanitize_several(gecko, private, large, tmp_path):
    copy, path = tmp_path / f"{MARK}.pyreel", tmp_path / "clean.json"
    copy.write_bytes(large.read_bytes())
    assert gecko("--sanitize", "-o", path, private, copy).code == 0
    text = path.read_text()
    assert MARK not in text and not [one for one in strings_of(json.loads(text)) if one.startswith("/")]
    assert "recording 1" in text and "recording 2" in text


def test_texts_of_files_are_said(gecko, open_store, private, tmp_path):
    store, path = open_store(), tmp_path / "profile.json.gz"
    for options, words in (((), r"up to \d+ texts of files +such as /"), (("-o", path), r" \d+ texts of files +such as /")):
        ended = gecko("--upload", "--embed-sources", *options, "--server", store.url, private)
        assert ended.code == 0 and re.search(words, ended.messages), ended


@pytest.mark.short
def test_sanitized_origins_are_the_same(gecko, private, tmp_path):
    """What is the program's own, a package's or the standard library's stays so: the categories of all frames."""
    frames = []
    for options in ((), ("--sanitize",)):
        path = tmp_path / f"{len(options)}.json"
        assert gecko(*options, "-o", path, private).code == 0
        table = json.loads(path.read_text())["shared"]["frameTable"]
        frames.append(list(zip(table["category"], table["subcategory"], table["line"])))
    assert frames[0] == frames[1]
