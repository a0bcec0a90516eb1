# SPDX-License-Identifier: MIT
"""OTLP profiles of recordings that are the same each time say what the other outputs say of them."""

import base64
import collections
import gzip
import json
import os

import pytest

import enough
import otlp_check
import pprof_check
import stacks
from collector import post
from environment import CONVERTERS
from golden import frozen
from recording import collapsed, info, succeed

ONE_PROCESS = ["plain-3.11", "native-3.12", "threads-3.11", "cpu-mode-3.13", "gil-mode-3.12", "titles-3.12", "interpreters-3.14",
               "free-threaded-3.14", "measures-3.15"]
CASES = [*ONE_PROCESS, "tree-3.13", "grouped-3.14", "async-all-3.15", "async-running-3.14", "cut", "killed", "weighted", "spans"]
UNITS = {"samples": "count", "wall": "nanoseconds", "cpu": "nanoseconds", "gil": "nanoseconds", "gil_wait": "nanoseconds"}


@pytest.fixture(params=CASES)
def case(request):
    return frozen(request.param)


@pytest.fixture
def otlp(tmp_path):
    """Converts a recording with options; the path of the request, which obeys the rules."""
    def convert(*arguments, name="out.otlp"):
        path = tmp_path / name
        succeed(CONVERTERS["otlp"], "-q", "-o", path, *arguments)
        assert otlp_check.check(otlp_check.load(path)) == []
        return path
    return convert


def resources(path):
    return otlp_check.resources(otlp_check.load(path))


def profiles(path):
    """{type: its profiles} of all processes."""
    found = collections.defaultdict(list)
    for resource in resources(path):
        for profile in resource.profiles:
            found[profile.type].append(profile)
    return dict(found)


# ---- sums ----

def known(path):
    """{stack: samples} as pyreel-collapsed has them: "name (file:line)", or the name alone where there is no file."""
    return stacks.of_collapsed(collapsed(path, "--full-paths"))


@pytest.mark.short
def test_stacks_are_those_of_collapsed(case, otlp):
    wanted, found = known(case), stacks.of_otlp(otlp("--aggregate", case))
    assert stacks.differences({"all": stacks.merged(wanted)}, {"all": stacks.merged(found)}) == ""
    assert stacks.total(found) == info(case)["samples"] > 0


@pytest.mark.short
@pytest.mark.parametrize("name", [*ONE_PROCESS, "tree-3.13", "grouped-3.14"])
def test_each_thread_has_its_stacks(name, otlp):
    assert stacks.differences(known(frozen(name)), stacks.of_otlp(otlp("--aggregate", frozen(name)))) == ""


@pytest.mark.short
def test_times_are_those_of_pprof(case, otlp, tmp_path):
    """Windows of days, because these have each look by itself, as OTLP has it: runs of looks may end an interval earlier or later."""
    succeed(CONVERTERS["pprof"], "-q", "--every", 86400, "-o", tmp_path / "out-%Y%m%d.pb.gz", case)
    summaries = [pprof_check.summary(pprof_check.examine(path)[0]) for path in tmp_path.glob("out-*.pb.gz")]
    found = profiles(otlp("--aggregate", case))
    for column, (name, unit) in enumerate(summaries[0]["sample_types"]):
        assert {each.unit for each in found.get(name, ())} <= {unit}
        wanted = by_stack((stack, values[column]) for summary in summaries for stack, _, values in summary["samples"])
        seen = by_stack(pair for each in found.get(name, ()) for pair in names_of(each))
        off = {stack: (wanted[stack], seen[stack]) for stack in wanted | seen if abs(wanted[stack] - seen[stack]) > 1}
        assert off == {}, name
        assert abs(sum(wanted.values()) - sum(seen.values())) <= 1, name


def by_stack(pairs):
    """{((function, line), ...) leaf first: sum}"""
    found = collections.Counter()
    for stack, value in pairs:
        found[tuple(stack)] += value
    return found


def names_of(profile):
    """Stacks as pprof_check has them."""
    for stack, value in profile.stacks.items():
        yield [(frame.function, frame.line) for frame in reversed(stack)], value


@pytest.mark.short
def test_each_weight_is_a_profile(case, otlp):
    for resource in resources(otlp("--aggregate", case)):
        names = [profile.type for profile in resource.profiles]
        assert names[0] == "samples" and len(set(names)) == len(names)
        for profile in resource.profiles:
            assert profile.unit == UNITS[profile.type] and profile.scope[0] == "pyreel"
            assert all(len(sample.values) == 1 and not sample.times for sample in profile.samples)
            assert profile.sum > 0  # one without a sum would say that there was none of it, which is not always known


@pytest.mark.short
def test_samples_have_times_unless_they_are_added_up(case, otlp):
    added, timed = (profiles(otlp(*options, case)) for options in (["--aggregate"], []))
    assert added.keys() == timed.keys()
    for name in added:
        one, other = (by_stack(pair for each in found[name] for pair in names_of(each)) for found in (added, timed))
        assert all(sample.times for each in timed[name] for sample in each.samples)
        assert max(abs(one[stack] - other[stack]) for stack in one | other) <= (0 if name == "samples" else 1), name
    assert sum(each.observations for each in timed["samples"]) == info(case)["samples"]


# ---- processes ----

@pytest.mark.short
def test_each_process_is_a_resource(case, otlp):
    """One that became another program by exec is two, as in the recording."""
    figures = info(case)
    wanted = [row for row in figures["processes"] if row["samples"]]
    found = resources(otlp("--aggregate", case))
    samples = [(each.attributes["process.pid"], profile.sum) for each in found for profile in each.profiles if profile.type == "samples"]
    assert sorted(samples) == sorted((row["pid"], row["samples"]) for row in wanted)
    executables = {row["pid"]: row["executable"] for row in wanted}
    for resource in found:
        facts = resource.attributes
        assert facts["service.name"] and facts["host.name"] == figures["host"]
        assert facts["process.executable.name"] == os.path.basename(executables[facts["process.pid"]])
        assert (facts["process.runtime.name"], facts["process.runtime.version"]) == ("cpython", figures["python"])


@pytest.mark.short
def test_what_names_a_process_names_its_resource(otlp, program, python3, tmp_path):
    """Of its environment, and of its cgroup where it has one."""
    command = ["env", "OTEL_SERVICE_NAME=shop", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=a%20b", python3, program("spin")]
    path = enough.record(tmp_path / "a.pyreel", *command, samples=50)
    (process,) = info(path)["processes"]
    (resource,) = resources(otlp("--aggregate", path))
    assert (resource.attributes["service.name"], resource.attributes["deployment.environment.name"]) == ("shop", "a b")
    assert process["attributes"].items() <= resource.attributes.items()


@pytest.mark.short
def test_profiles_lie_in_the_time_of_the_recording(case, otlp):
    figures = info(case)
    begin, end = figures["start_unix_ns"], figures["start_unix_ns"] + round(figures["duration_s"] * 1e9) + 1_000_000_000
    for profile in (profile for found in profiles(otlp("--aggregate", case)).values() for profile in found):
        assert begin <= profile.begin <= profile.begin + profile.duration <= end


# ---- frames ----

@pytest.mark.short
@pytest.mark.parametrize("name", ["plain-3.11", "threads-3.11", "native-3.12"])
def test_frames_of_python_say_so(name, otlp):
    frames = {frame for profile in profiles(otlp("--aggregate", frozen(name)))["samples"] for stack in profile.stacks for frame in stack}
    assert {frame.kind for frame in frames if frame.file} == {"cpython"}
    assert {frame.kind for frame in frames if frame.function == "<native>"} == ({"native"} if name == "native-3.12" else set())


# ---- files ----

@pytest.mark.short
def test_a_name_with_gz_is_compressed(otlp):
    plain, packed = (otlp("--aggregate", frozen("plain-3.11"), name=name) for name in ("out.otlp", "out.otlp.gz"))
    assert packed.read_bytes()[:2] == b"\x1f\x8b" != plain.read_bytes()[:2]
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


# ---- the Collector ----

@pytest.mark.parametrize("options", [["--aggregate"], []])
def test_the_collector_hands_on_what_was_recorded(case, options, otlp, collector):
    path = otlp(*options, case)
    request = otlp_check.load(path)
    assert post(collector.url, request).status == 200
    (arrived,) = collector.received()
    assert otlp_check.check(arrived) == [] and otlp_check.equal(arrived, request)


# ---- JSON ----

@pytest.mark.short
@pytest.mark.parametrize("options", [[], ["--aggregate"]], ids=["timed", "aggregate"])
def test_json_says_the_same(case, otlp, tmp_path, options):
    """Read by protobuf's own reader of JSON, which takes lowerCamelCase and 64-bit numbers as texts."""
    json_format = pytest.importorskip("google.protobuf.json_format")
    path = otlp(*options, case)
    text = succeed(CONVERTERS["otlp"], "-q", "--json", *options, "-o", "-", case).text
    told = json.loads(text)
    for link in told["dictionary"]["linkTable"]:  # ids are hexadecimal digits in OTLP, and base64 in protobuf
        assert (len(link["traceId"]), len(link["spanId"])) == (32, 16)
        link.update({key: base64.b64encode(bytes.fromhex(digits)).decode() for key, digits in link.items()})
    request = json_format.ParseDict(told, otlp_check.messages().ExportProfilesServiceRequest())
    assert request == otlp_check.load(path)
