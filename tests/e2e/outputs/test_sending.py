# SPDX-License-Identifier: MIT
"""pyreel-otlp --every --to: what a receiver gets is the recording, whatever the receiver does meanwhile."""

import collections
import os
import re
import time

import pytest

import otlp_check
from collector import FOREVER, PATH, Answer
from environment import CONVERTERS, RECORD, need_command, need_root
from golden import frozen
from recording import Talk, run, succeed, wait_until, whole

OTLP = CONVERTERS["otlp"]
RECORDING = frozen("tree-3.13")  # of 15 s
QUICK = {"OTEL_EXPORTER_OTLP_TIMEOUT": "500"}


def send(base, *arguments, environment=(), recording=RECORDING, prefix=(), every=2, **more):
    settings = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **dict(environment)}
    to = ["--to", base] if base else []
    return run(*prefix, "env", *(f"{key}={value}" for key, value in settings.items()), OTLP, "--every", str(every), *to, *arguments,
               recording, **more)


def figures(ended):
    """What --stats prints."""
    rows = re.findall(r"^ +(\S.*?) {2,}([\d.]+)( ms| MiB)?$", ended.messages, re.M)
    return {name: float(number) for name, number, _ in rows}


def base_of(one):
    return one.url.removesuffix(PATH)


def added(requests):
    """{(pid, kind of value): {stack: sum}} of all requests."""
    sums = collections.defaultdict(collections.Counter)
    for request in requests:
        assert otlp_check.check(request) in ([], None)
        for resource in otlp_check.resources(request):
            for profile in resource.profiles:
                sums[resource.attributes["process.pid"], profile.type].update(profile.stacks)
    return {key: dict(value) for key, value in sums.items()}


def looks(requests):
    """How often each look came: its process, thread and time, which two looks may share, for times are rounded."""
    counts = collections.Counter()
    for request in requests:
        for resource in otlp_check.resources(request):
            for profile in resource.profiles:
                for sample in profile.samples if profile.type == "samples" else ():
                    counts.update((resource.attributes["process.pid"], sample.attributes.get("thread.id"), moment)
                                  for moment in sample.times)
    return counts


@pytest.fixture
def all_of_it(tmp_path):
    """The recording in one request."""
    path = tmp_path / "whole.otlp"
    succeed(OTLP, "-q", "-o", path, RECORDING)
    return otlp_check.load(path)


def test_the_collector_gets_the_recording(collector, all_of_it):
    ended = send(base_of(collector), "--stats")
    assert ended.code == 0, ended
    received = collector.received()
    assert len(received) >= 7 and added(received) == added([all_of_it])
    assert looks(received) == looks([all_of_it])
    assert figures(ended)["requests sent"] == len(received) and figures(ended)["requests lost"] == 0


@pytest.mark.parametrize("status, retry_after", [(503, 1), (429, None), (502, None), (504, None)])
def test_what_was_not_taken_comes_again(receiver, all_of_it, status, retry_after):
    receiver.answer(Answer(200), 2)
    receiver.answer(Answer(status, retry_after=retry_after), 2)
    ended = send(base_of(receiver))
    assert ended.code == 0 and f"answer {status}" in ended.messages and "answers again" in ended.messages, ended
    assert added(receiver.received()) == added([all_of_it])
    assert len(receiver.arrivals) == len(receiver.received()) + 2


def test_what_was_refused_is_counted_and_does_not_come_again(receiver):
    receiver.answer(Answer(200), 1)
    receiver.answer(Answer(400, body=b"no such thing\x1b[31m"), 1)
    ended = send(base_of(receiver), "-q")  # a warning comes all the same
    assert ended.code == 1 and "answer 400" in ended.messages and "1 refused" in ended.messages, ended
    assert "no such thing" in ended.messages and "\x1b" not in ended.messages
    assert len(receiver.arrivals) == len(receiver.received()) + 1


def test_a_part_that_was_refused_is_told(receiver):
    receiver.answer(Answer(200, rejected=3, message="too old"), 1)
    ended = send(base_of(receiver))
    assert ended.code == 1 and "too old" in ended.messages and "3 profiles" in ended.messages, ended


@pytest.mark.sanitized("answers of a receiver")
@pytest.mark.parametrize("answer", [Answer(200, body=b"\xff" * 100), Answer(200, body=b"x" * 1000000), Answer(200, body=b"")],
                         ids=["nonsense", "long", "empty"])
def test_an_answer_may_be_anything(receiver, all_of_it, answer):
    receiver.answer(answer)
    ended = send(base_of(receiver))
    assert ended.code == 0, ended
    assert added(receiver.received()) == added([all_of_it])


def test_a_file_is_read_no_faster_than_the_receiver_takes_it(receiver, all_of_it):
    """Also beyond the 10 seconds that an end waits: the receiver answers all the time."""
    receiver.answer(Answer(200, delay_s=1))
    ended = send(base_of(receiver), "--spool-size", "6k", "--stats", every=1)
    assert ended.code == 0 and figures(ended)["requests lost"] == 0 and len(receiver.received()) >= 14, ended
    assert added(receiver.received()) == added([all_of_it])


def test_a_request_on_its_way_does_not_hold_up_the_end(receiver):
    receiver.answer(Answer(200, delay_s=FOREVER))
    ended = send(base_of(receiver), environment={"OTEL_EXPORTER_OTLP_TIMEOUT": "2000000000"})
    assert ended.code == 1 and "the recording has ended" in ended.messages and " lost" in ended.messages, ended


@pytest.mark.parametrize("raw", [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
                                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"], ids=["shorter", "chunk"])
def test_what_was_taken_does_not_come_again_though_the_answer_breaks_off(receiver, all_of_it, raw):
    receiver.answer(Answer(raw=raw))
    ended = send(base_of(receiver), "--stats")
    assert ended.code == 0 and figures(ended)["requests sent"] == len(receiver.arrivals), ended
    assert added([arrival.request for arrival in receiver.arrivals]) == added([all_of_it])


@pytest.mark.parametrize("answer", [Answer(200, delay_s=FOREVER), Answer(raw=b"nonsense\r\n\r\n")], ids=["never", "no HTTP"])
def test_who_never_answers_does_not_hold_up_the_end(receiver, answer):
    receiver.answer(answer)
    began = time.monotonic()
    ended = send(base_of(receiver), environment=QUICK)
    assert ended.code == 1 and "no answer from" in ended.messages and " lost" in ended.messages, ended
    assert time.monotonic() - began < 60


def test_what_cannot_be_sent_waits_in_the_folder(receiver, all_of_it, tmp_path):
    spool = tmp_path / "spool"
    receiver.answer(Answer(503))
    ended = send(base_of(receiver), "--spool", spool)
    left = sorted(spool.iterdir())
    assert ended.code == 1 and f"{len(left)} left" in ended.messages and len(left) >= 7, ended
    receiver.answer(Answer(200))
    again = send(base_of(receiver), "--spool", spool, recording=frozen("plain-3.11"))
    assert again.code == 0 and list(spool.iterdir()) == [], again
    here = {key: value for key, value in added(receiver.received()).items() if key in added([all_of_it])}
    assert here == added([all_of_it])


def test_a_folder_is_that_of_one_sender(receiver, tmp_path):
    spool = tmp_path / "spool"
    receiver.answer(Answer(503))
    first = Talk(["env", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", OTLP, "--every", "2", "--to", base_of(receiver), "--spool", spool, RECORDING])
    try:
        first.wait_for_message("trying again")
        second = send(base_of(receiver), "--spool", spool)
        assert second.code == 1 and "another pyreel-otlp" in second.messages and "--spool" in second.messages, second
        receiver.answer(Answer(200))
        assert first.wait().code == 0 and list(spool.iterdir()) == []
    finally:
        first.close()


def test_a_damaged_folder(receiver, all_of_it, tmp_path):
    """What is no file is not read, and stays; an empty file is what a machine without power leaves."""
    spool = tmp_path / "spool"
    (spool / "pyreel-0-folder.otlp").mkdir(parents=True)
    os.mkfifo(spool / "pyreel-0-pipe.otlp")
    (spool / "pyreel-0-link.otlp").symlink_to(RECORDING)
    (spool / "pyreel-0-empty.otlp").touch()
    (spool / "pyreel-0-nonsense.otlp").write_bytes(b"\xff" * 1000)
    ended = send(base_of(receiver), "--spool", spool)
    assert ended.code == 1 and "1 refused" in ended.messages and "1 lost" in ended.messages and "it is empty" in ended.messages, ended
    assert added(receiver.received()) == added([all_of_it])
    assert sorted(path.name for path in spool.iterdir()) == ["pyreel-0-folder.otlp", "pyreel-0-link.otlp", "pyreel-0-pipe.otlp"]


def test_the_oldest_are_lost_beyond_the_limit(receiver, tmp_path):
    receiver.answer(Answer(503))
    ended = send(base_of(receiver), "--spool", tmp_path / "spool", "--spool-size", "6k", "--stats")
    kept = sorted((tmp_path / "spool").iterdir())
    size = sum(path.stat().st_size for path in kept)
    assert ended.code == 1 and 0 < len(kept) < 7 and size <= 6144 + max(path.stat().st_size for path in kept), (ended, kept)
    assert figures(ended)["requests made"] == figures(ended)["requests lost"] + len(kept)


def test_what_waits_in_memory_holds_no_files(receiver, all_of_it):
    receiver.answer(Answer(503), 1)
    ended = send(base_of(receiver), every=1, prefix=["sh", "-c", 'ulimit -n 20 && exec "$@"', "sh"])
    assert ended.code == 0 and len(receiver.received()) >= 14, ended
    assert added(receiver.received()) == added([all_of_it])


def test_a_folder_that_is_full_ends_nothing(receiver, all_of_it, tmp_path):
    script = 'mount -t tmpfs -o size=12k none "$0" && exec "$@"'
    receiver.answer(Answer(503), 1)
    ended = send(base_of(receiver), "--spool", tmp_path / "spool", prefix=[*need_root(), need_command("unshare"), "-m", "sh", "-c", script,
                                                                           tmp_path])
    assert ended.code == 0 and "wait in memory" in ended.messages and "No space left" in ended.messages, ended
    assert added(receiver.received()) == added([all_of_it])


def test_the_environment_says_where_and_how(receiver):
    ended = send(None, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": base_of(receiver) + "/",
                                    "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, x-none=,x-other=c", **QUICK})
    assert ended.code == 0, ended
    wanted = {"x-key": "a b", "x-none": "", "x-other": "c"}
    assert all(wanted.items() <= arrival.headers.items() for arrival in receiver.arrivals)
    count = len(receiver.arrivals)
    ended = send(None, environment={"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT": receiver.url, "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
                                    "OTEL_EXPORTER_OTLP_TIMEOUT": "1s"})
    assert ended.code == 0 and len(receiver.arrivals) == 2 * count, ended
    assert "Content-Encoding" not in receiver.arrivals[-1].headers


@pytest.mark.parametrize("arguments, words", [
    (["--to", "http://127.0.0.1:1"], "--to needs --every"),
    (["--every", "2", "--to", "http://127.0.0.1:1", "-o", "x.otlp"], "give one of both"),
    (["--every", "2", "--to", "http://127.0.0.1:1", "--json"], "sent as bytes"),
    (["--every", "2", "--spool", "x", "-o", "x-%s.otlp"], "--spool"),
    (["--every", "2", "--to", "ftp://127.0.0.1:1"], "--to"),
    (["--every", "2"], "-o"),
])
def test_what_does_not_go_together(arguments, words, tmp_path):
    ended = run(OTLP, *arguments, RECORDING, cwd=tmp_path)
    assert ended.code == 2 and words in ended.messages, ended


def test_files_of_windows_are_the_recording(all_of_it, tmp_path):
    succeed(OTLP, "-q", "--every", "2", "-o", tmp_path / "w-%Y%m%dT%H%M%S.otlp.gz", RECORDING)
    assert added([otlp_check.load(path) for path in tmp_path.glob("w-*")]) == added([all_of_it])


def test_a_collector_that_is_killed_meanwhile(collector, python3, tmp_path):
    """Nothing is lost. What was on its way when it was killed may come twice: the receiver behind it had it, and the answer was lost."""
    path = tmp_path / "live.pyreel"
    code = "import sys, select\nwhile not select.select([sys.stdin], [], [], 0)[0]: sum(range(1000))"
    command = (f"{RECORD} -q --disturb 20 -o - -- {python3} -c '{code}' | tee {path} | "
               f"env NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 {OTLP} --every 1 --to {base_of(collector)} --stats -")
    talk = Talk(["sh", "-c", command])
    try:
        wait_until(lambda: len(collector.received()) >= 2, "two windows")
        collector.kill()
        talk.wait_for_message("trying again")
        time.sleep(3)
        collector.start()
        before = len(collector.received())
        wait_until(lambda: len(collector.received()) >= before + 4, "what waited")
        talk.tell(b"\n")
        ended = talk.wait()
    finally:
        talk.close()
    assert ended.code == 0, ended
    succeed(OTLP, "-q", "-o", tmp_path / "live.otlp", path)
    received, wanted = collector.received(), looks([otlp_check.load(tmp_path / "live.otlp")])
    assert whole(path)["samples"] == sum(wanted.values())
    twice = looks(received) - wanted
    assert wanted - looks(received) == {} and (not twice or any(twice == looks([request]) for request in received))
