# SPDX-License-Identifier: MIT
"""Spans of OpenTelemetry on which threads worked: what each output shows of them, and --span. By a recording whose thread
works on two spans of one trace, on one of another, and on none (tests/streams/make.py)."""

import collections
import json

import pytest

import gecko_check
import otlp_check
import pprof_check
from environment import CONVERTERS, DIFF
from golden import frozen
from recording import COUNTS, convert, info, run, succeed

SPANS, NONE = frozen("spans"), frozen("threads-3.11")
A, B = "4bf92f3577b34da6a3ce929d0e0e4736", "80000000000000000000000000000001"
FIRST, SECOND, THIRD = "00f067aa0ba902b7", "b7ad6b7169203331", "f" * 16
SAMPLES = {(A, FIRST): 9, (A, SECOND): 3, (B, THIRD): 4}
ALL = 47
TAKING = ["collapsed", "flame", "gecko", "otlp", "pprof", "report", "speedscope", "tachyon"]


def collapsed(path, *options):
    """{stack: number}"""
    rows = succeed(CONVERTERS["collapsed"], *options, path).text.splitlines()
    return {stack: int(count) for stack, _, count in (row.rpartition(" ") for row in rows)}


def labelled(path, *options):
    """{(trace, span): the values of all samples}, None for none"""
    succeed(CONVERTERS["pprof"], "-o", path, *options, SPANS)
    profile, problems = pprof_check.examine(path)
    assert problems == []
    found = collections.Counter()
    for _, labels, values in pprof_check.summary(profile)["samples"]:
        key = labels.get("trace_id"), labels.get("span_id")
        found[key] = [a + b for a, b in zip(found[key] or [0] * len(values), values)]
    return dict(found)


@pytest.mark.parametrize(("wanted", "count"), [(A, 12), (A.upper(), 12), (B, 4), (FIRST, 9), (SECOND, 3), (THIRD.upper(), 4)])
def test_a_span_chooses_samples(wanted, count):
    assert sum(collapsed(SPANS, *COUNTS, "--span", wanted).values()) == count


@pytest.mark.parametrize("output", [*TAKING, "diff"])
def test_each_output_chooses(output, tmp_path):
    program, inputs = (DIFF, [SPANS, SPANS]) if output == "diff" else (CONVERTERS[output], [SPANS])
    ended = run(program, "--span", SECOND, "-o", tmp_path / "out", *inputs)
    assert (ended.code, ended.messages) == (0, ""), ended
    assert (tmp_path / "out").stat().st_size > 0


@pytest.mark.parametrize("options", [[], ["--mode", "cpu"], ["--from", "0"], ["--threads", "MainThread"]], ids=str)
def test_the_cpu_time_of_a_span_is_its_own(options, tmp_path):
    """What others used is not given to it, and the labels of pprof say the same."""
    labels = labelled(tmp_path / "out.pb.gz", *options)
    for (_, span), values in ((key, values) for key, values in labels.items() if key[1]):
        taken = sum(collapsed(SPANS, "--weight", "cpu", *options, "--span", span).values())
        assert abs(taken - values[2] / 1000) <= 2
    assert sum(values[2] for values in labels.values()) == pytest.approx(1.150e9, rel=0.01)


@pytest.mark.parametrize("wrong", ["", "4bf92f", "x" * 16, "0" * 16, "0" * 32, A + "0", f"00-{A}-{FIRST}-01"])
def test_what_is_no_id_is_refused(wrong):
    ended = convert("collapsed", SPANS, "--span", wrong)
    assert ended.code == 2 and "for --span" in ended.messages and "32 or 16" in ended.messages and not ended.text


def test_nothing_is_written_where_nothing_matches(tmp_path):
    ended = convert("pprof", SPANS, "--span", "1" * 32, "-o", tmp_path / "out.pb.gz")
    assert ended.code == 1 and f"matches --span {'1' * 32}" in ended.messages and not any(tmp_path.iterdir())
    ended = convert("pprof", NONE, "--span", A, "-o", tmp_path / "out.pb.gz")
    assert ended.code == 1 and "publishes its spans" in ended.messages and not any(tmp_path.iterdir())
    assert convert("collapsed", SPANS, "--span", A, "--threads", "python3.11").code == 1


def test_recordings_are_merged_with_their_spans():
    assert sum(collapsed(SPANS, *COUNTS, "--span", A, NONE).values()) == 12


def test_pprof_has_labels(tmp_path):
    counts = {key: values[0] for key, values in labelled(tmp_path / "out.pb.gz").items()}
    assert counts == {**SAMPLES, (None, None): ALL - 16}
    counts = labelled(tmp_path / "out.pb.gz", "--labels", "thread,thread_id,pid,interpreter,trace_id")
    assert {key: values[0] for key, values in counts.items()} == {(A, None): 12, (B, None): 4, (None, None): ALL - 16}


@pytest.mark.parametrize("options", [[], ["--aggregate"]], ids=str)
def test_otlp_has_links(options, tmp_path):
    path = tmp_path / "out.otlp.gz"
    succeed(CONVERTERS["otlp"], *options, "-o", path, SPANS)
    request = otlp_check.load(path)
    assert otlp_check.check(request) == []
    assert len(request.dictionary.link_table) == 1 + len(SAMPLES)
    found, reader = collections.Counter(), otlp_check.Reader(request)
    for profile in request.resource_profiles[0].scope_profiles[0].profiles:
        if reader.text(profile.sample_type.type_strindex) == "samples":
            for sample in profile.samples:
                found[reader.link(sample.link_index)] += sum(sample.values)
    assert found == {**SAMPLES, None: ALL - 16}


def test_gecko_has_markers(tmp_path):
    path = tmp_path / "out.json"
    succeed(CONVERTERS["gecko"], "-o", path, SPANS)
    profile = gecko_check.load(path)
    assert gecko_check.problems(profile) == []
    texts, found = profile["shared"]["stringArray"], []
    for thread in profile["threads"]:
        columns = thread["markers"]
        for i, data in enumerate(columns["data"]):
            if data and data["type"] == "Span":
                length = columns["endTime"][i] - columns["startTime"][i]
                found.append((thread["name"], texts[data["trace"]], texts[data["span"]], round(length, -1)))
    assert [row[:3] for row in found] == [("small.py", A, FIRST), ("small.py", A, SECOND), ("small.py", B, THIRD),
                                          ("small.py", A, FIRST)]
    assert [row[3] for row in found] == [250, 150, 200, 200]
    succeed(CONVERTERS["gecko"], "--force", "--markers", "none", "-o", path, SPANS)
    assert not any(data and data["type"] == "Span" for thread in gecko_check.load(path)["threads"]
                   for data in thread["markers"]["data"])


def test_info_counts(tmp_path):
    assert info(SPANS)["spans"] == {"samples": 16, "spans": 3, "traces": 2, "more": False}
    assert "spans       3 of 2 traces of OpenTelemetry, with 16 samples\n" in succeed(CONVERTERS["info"], SPANS).text
    assert "spans" not in info(NONE) and "\nspans " not in succeed(CONVERTERS["info"], NONE).text
    listed = json.loads(succeed(CONVERTERS["info"], "--json", SPANS, NONE).text)["recordings"]
    assert sorted("spans" in row for row in listed) == [False, True]
