# SPDX-License-Identifier: MIT
"""pyreel-record -o x.html and the like: another output, made of the recording at its end."""
import gzip
import json
import re
import signal
import subprocess

import pytest
from recording import run_record, whole

pytestmark = pytest.mark.pythons("newest")


@pytest.fixture
def made(spinning, start_recorder):
    """made(x.html): what pyreel-record said and how it ended; its recording is x.pyreel."""
    def make(path):
        recorder = start_recorder("-p", spinning.pid, "-o", path)
        recorder.wait_for_samples(path.with_name(path.name.split(".")[0] + ".pyreel"))
        recorder.signal(signal.SIGINT)
        return recorder.wait()

    return make


@pytest.mark.short
def test_a_page_beside_its_recording(made, tmp_path):
    ended = made(tmp_path / "x.html")
    assert ended.code == 0
    assert whole(tmp_path / "x.pyreel")["samples"] > 0
    assert "pyreel-flame" in (tmp_path / "x.html").read_text()
    assert f"{tmp_path / 'x.html'} is made of it, for a browser" in ended.messages
    assert f"next: pyreel report {tmp_path / 'x.pyreel'}" in ended.messages


@pytest.mark.parametrize("name, is_good", [
    ("x.svg", lambda path: re.search(rb"<svg .*<title>spin.*</svg>\n$", path.read_bytes(), re.DOTALL)),
    ("x.json", lambda path: json.loads(path.read_text())["meta"]["product"]),
    ("x.json.gz", lambda path: json.loads(gzip.decompress(path.read_bytes()))["meta"]["product"]),
    ("x.speedscope.json", lambda path: "speedscope" in json.loads(path.read_text())["$schema"]),
    ("x.pb.gz", lambda path: b"spin" in gzip.decompress(path.read_bytes())),
])
def test_each_kind(made, tmp_path, name, is_good):
    assert made(tmp_path / name).code == 0
    assert is_good(tmp_path / name)
    assert whole(tmp_path / (name.split(".")[0] + ".pyreel"))["complete"]


@pytest.mark.sanitized("none: a signal stops the recorder")
def test_the_page_is_made_when_a_key_stops_the_recording(spinning, start_recorder, tmp_path):
    """The whole group of the terminal gets the signal of the key, and so does the process that waits to make the page."""
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "x.html", start_new_session=True)
    recorder.wait_for_samples(tmp_path / "x.pyreel")
    subprocess.run(["kill", "-INT", "--", f"-{recorder.pid}"], check=True)
    assert recorder.wait().code == 0
    assert (tmp_path / "x.html").stat().st_size > 10000


def test_nothing_is_left_when_there_is_no_recording(tmp_path):
    ended = run_record("-o", "x.html", "--", "no-such-command-here", cwd=tmp_path)
    assert ended.code == 127 and list(tmp_path.iterdir()) == []


def test_a_file_of_others_is_kept(made, tmp_path):
    (tmp_path / "x.html").write_text("mine")
    ended = made(tmp_path / "x.html")
    assert ended.code == 125 and (tmp_path / "x.html").read_text() == "mine" and "pyreel-flame:" in ended.messages
    assert whole(tmp_path / "x.pyreel")["complete"]


@pytest.mark.sanitized("the command line")
@pytest.mark.parametrize("option", [("--rotate", "1s"), ("--flight-recorder", "5s")])
def test_several_recordings_have_no_page(spinning, tmp_path, option):
    ended = run_record("-p", spinning.pid, *option, "-o", tmp_path / "x.html")
    assert ended.code == 2 and "convert the recordings later" in ended.messages
    assert list(tmp_path.iterdir()) == []
