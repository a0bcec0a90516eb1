# SPDX-License-Identifier: MIT
"""What the programs promise on the command line, apart from what they show."""

import gzip
import os
import pty
import re
import stat

import pytest

import gecko_check
import pprof_check
from environment import CONVERTERS, DIFF, NOBODY, RECORD, TOP, missing
from golden import frozen
from recording import convert, info, read_terminal, run, succeed

PROGRAMS = {"record": RECORD, "top": TOP, **CONVERTERS}
pytestmark = pytest.mark.short
DEFAULT_SUFFIX = {"gecko": ".json.gz", "pprof": ".pb.gz", "otlp": ".otlp.gz", "speedscope": ".speedscope.json", "tachyon": ".bin"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A recording."""
    path = tmp_path_factory.mktemp("converters") / "a.pyreel"
    path.write_bytes(frozen("plain-3.11").read_bytes())
    return path


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_fits_a_terminal(name):
    for option in ("--help", "-h"):
        ended = succeed(PROGRAMS[name], option)
        assert ended.messages == ""
        assert ended.text.startswith(f"usage: pyreel-{name} ")
        assert max(map(len, ended.text.splitlines())) <= 80
        for word in ("--help", "--version", "--quiet", "--verbose", "--output"):
            assert word in ended.text


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_option_abbreviates_another(name):
    options = re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", succeed(PROGRAMS[name], "--help").text, re.MULTILINE)
    assert "help" in options and len(options) == len(set(options)) > 4
    alike = [(short, long) for short in options for long in options if short != long and long.startswith(short)]
    assert set(alike) <= {("serve", "server"), ("to", "top"), ("json", "jsonl"), ("spool", "spool-size")}  # a whole name is never taken for the beginning of another


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_refused_value_gets_an_example(name, tmp_path):
    """The message has a value that the option accepts: then the program misses something else, a recording or a command."""
    refused = []
    for option in re.findall(r" --([a-z-]+) [A-Za-z|]+ ", succeed(PROGRAMS[name], "--help").text):
        ended = run(PROGRAMS[name], f"--{option}=?!", cwd=tmp_path)
        assert (ended.code, ended.output) == (2, b"")
        if "invalid value" not in ended.messages:
            continue
        refused.append(option)
        assert f"invalid value '?!' for --{option}\n" in ended.messages and f"Try 'pyreel-{name} --help'" in ended.messages
        form, *more = ended.messages.splitlines()[1:-1]
        assert {re.match(" *", line).end() for line in more} <= {form.index(": ") + 2}, ended.messages
        examples = re.findall(r"[\w.%*:/>-]+", form.partition(option)[2])
        assert any("invalid value" not in run(PROGRAMS[name], f"--{option}={example}", cwd=tmp_path).messages
                   for example in examples), form
    assert len(refused) >= 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_version(name):
    ended = succeed(PROGRAMS[name], "--version")
    assert ended.messages == ""
    first, *more = ended.text.splitlines()
    words = first.split()
    assert words[0] == f"pyreel-{name}" and len(words) == 2 and words[1][0].isdigit()
    assert [line.split()[0] for line in more] == (["OTLP"] if name == "otlp" else [])


@pytest.mark.parametrize("name", PROGRAMS)
def test_messages_about_options_begin_with_the_name_of_the_program(name):
    """Those of getopt as well as ours."""
    for wrong in ("--no-such-option", "-o", "-@", "--force=yes"):
        ended = run(PROGRAMS[name], wrong)
        assert ended.code == 2 and ended.messages.startswith(f"pyreel-{name}: "), ended


@pytest.mark.parametrize("name", CONVERTERS)
@pytest.mark.parametrize("arguments", [["--no-such-option", "x"], [], ["a", "-", "-o", "b"], ["-o"]], ids=str)
def test_misuse(name, arguments, tmp_path):
    ended = run(CONVERTERS[name], *arguments, cwd=tmp_path)
    assert (ended.code, ended.output) == (2, b"")
    assert f"Try 'pyreel-{name} --help'" in ended.messages
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name, suffix", DEFAULT_SUFFIX.items())
def test_the_output_is_named_after_the_recording(path, tmp_path, name, suffix):
    copy = tmp_path / "b.pyreel"
    copy.write_bytes(path.read_bytes())
    ended = convert(name, "b.pyreel", cwd=tmp_path)
    assert (ended.code, ended.output, ended.messages) == (0, b"", "")
    assert sorted(os.listdir(tmp_path)) == ["b.pyreel", f"b.pyreel{suffix}"]


@pytest.mark.parametrize("name", ["collapsed", "info"])
def test_text_goes_to_standard_output(path, tmp_path, name):
    ended = convert(name, path, cwd=tmp_path)
    assert (ended.code, ended.messages) == (0, "")
    assert "work" in ended.text if name == "collapsed" else "CPython 3." in ended.text
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_pipe_gives_what_a_file_gives(path, tmp_path, name):
    convert(name, path, "-o", tmp_path / "out")
    piped = convert(name, "-", input=path.read_bytes())
    assert piped.code == 0
    assert piped.output == (tmp_path / "out").read_bytes() != b""


@pytest.mark.parametrize("name", CONVERTERS)
def test_the_same_recording_gives_the_same_bytes(path, tmp_path, name):
    first, second = (convert(name, path, "-o", tmp_path / out) for out in ("one", "two"))
    assert first.code == second.code == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() != b""


def test_the_name_says_whether_a_firefox_profile_is_packed(path, tmp_path):
    for name in ("a.json", "a.json.gz"):
        convert("gecko", path, "-o", tmp_path / name)
    plain, packed = ((tmp_path / name).read_bytes() for name in ("a.json", "a.json.gz"))
    assert (plain[:1], packed[:2]) == (b"{", b"\x1f\x8b")
    assert len(packed) < len(plain)
    assert gecko_check.load(tmp_path / "a.json") == gecko_check.load(tmp_path / "a.json.gz")


def written_at(path, source, seconds):
    path.write_bytes(source.read_bytes())
    os.utime(path, (seconds, seconds))
    return path


def test_the_newest_recording_of_the_folder_is_read_when_none_is_named(tmp_path):
    written_at(tmp_path / "old.pyreel", frozen("threads-3.11"), 1_000_000)
    new = written_at(tmp_path / "new.pyreel", frozen("plain-3.11"), 2_000_000)
    (tmp_path / "newer.txt").write_text("no recording\n")
    ended = succeed(CONVERTERS["collapsed"], cwd=tmp_path)
    assert ended.messages == "pyreel-collapsed: reading new.pyreel, the newest recording in this folder\n"
    assert ended.output == succeed(CONVERTERS["collapsed"], new).output
    assert succeed(CONVERTERS["collapsed"], "-q", cwd=tmp_path).messages == ""
    succeed(CONVERTERS["flame"], "-q", cwd=tmp_path)
    assert (tmp_path / "new.pyreel.html").exists()
    nothing = run(DIFF, cwd=tmp_path)
    assert nothing.code == 2 and "new.pyreel" not in nothing.messages  # nobody knows which the other side is


def test_the_newest_recording_has_all_of_its_files(tmp_path):
    parts = sorted(frozen("rotated-3.13").parent.glob("*.pyreel"))
    assert len(parts) > 1
    for number, part in enumerate(parts):
        written_at(tmp_path / part.name, part, 1_000_000 + number)
    written_at(tmp_path / "other.pyreel", frozen("plain-3.11"), 1_000_000)
    told = succeed(CONVERTERS["collapsed"], cwd=tmp_path)
    assert f"reading {parts[-1].name}, the newest" in told.messages
    assert told.output == succeed(CONVERTERS["collapsed"], *parts).output


def test_a_folder_without_a_recording_says_what_to_name(tmp_path):
    ended = run(CONVERTERS["report"], cwd=tmp_path)
    assert ended.code == 2 and "recording" in ended.messages and "Traceback" not in ended.messages


def test_the_last_second_is_the_end_of_the_recording(path):
    """--last is --from so long before the end."""
    length = info(path)["duration_s"]
    for last, start in (("0.2", length - 0.2), ("25%", length * 0.75), ("1h", 0)):
        part = succeed(CONVERTERS["collapsed"], "--weight", "samples", "--last", last, path).output
        assert part == succeed(CONVERTERS["collapsed"], "--weight", "samples", "--from", f"{start:.9f}", path).output and part
    until = succeed(CONVERTERS["collapsed"], "--weight", "samples", "--to", "0.4", "--last", "0.2", path).output
    assert until == succeed(CONVERTERS["collapsed"], "--weight", "samples", "--from", "0.2", "--to", "0.4", path).output
    assert sum(int(line.rpartition(" ")[2]) for line in part.decode().splitlines()) == info(path)["samples"]


@pytest.mark.parametrize("options, said", [
    (["--last", "0"], "--last"), (["--last", "-1s"], "--last"), (["--last", "110%"], "--last"),
    (["--last", "1s", "--from", "1s"], "--last says where the part begins, and so does --from"),
])
def test_a_last_part_that_is_none_is_refused(path, options, said):
    ended = run(CONVERTERS["collapsed"], *options, path)
    assert ended.code == 2 and said in ended.messages, ended


def test_the_last_part_of_a_pipe_is_not_known(path):
    ended = run(CONVERTERS["collapsed"], "--last", "1s", "-", input=path.read_bytes())
    assert ended.code != 0 and "read only once" in ended.messages


def test_collapsed_lines_are_sorted(path):
    lines = convert("collapsed", path).output.splitlines()
    stacks = [line.rpartition(b" ")[0].split(b";") for line in lines]
    assert stacks == sorted(stacks) and len(stacks) > 1


def test_functions_merge_the_lines_in_pprof(path, tmp_path):
    convert("pprof", path, "-o", tmp_path / "lines")
    convert("pprof", path, "--functions", "-o", tmp_path / "functions")
    lines, functions = (pprof_check.load(tmp_path / name) for name in ("lines", "functions"))
    assert pprof_check.check(functions) == []
    count, merged = (pprof_check.summary(profile) for profile in (lines, functions))
    assert count["totals"] == merged["totals"]
    assert count["functions"] == merged["functions"]
    assert len(functions["location"]) == len(functions["function"]) <= len(lines["location"])


@pytest.mark.parametrize("name", CONVERTERS)
def test_verbose_tells_what_was_written(path, tmp_path, name):
    out = tmp_path / "out"
    ended = convert(name, path, "-v", "-o", out)
    assert f"pyreel-{name}: wrote {out}: " in ended.messages
    assert f"{os.path.getsize(out)} bytes" in ended.messages


def on_terminal(*command, cwd):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execv(command[0], list(map(str, command)))
    said = read_terminal(terminal).decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), said


def test_binary_output_is_refused_on_a_terminal(path, tmp_path):
    code, said = on_terminal(CONVERTERS["pprof"], "-o", "-", path, cwd=tmp_path)
    assert code == 1
    assert "standard output is a terminal" in said and "-o" in said
    assert "\x1f" not in said


def test_text_is_welcome_on_a_terminal(path, tmp_path):
    code, said = on_terminal(CONVERTERS["collapsed"], path, cwd=tmp_path)
    assert code == 0
    assert "MainThread;" in said


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_terminal_is_no_recording(tmp_path, name):
    code, said = on_terminal(CONVERTERS[name], "-", cwd=tmp_path)
    assert code == 1
    assert "standard input is a terminal" in said


@pytest.mark.parametrize("name", CONVERTERS)
def test_what_is_no_recording_is_refused(tmp_path, name):
    (tmp_path / "text").write_text("this is not a recording\n" * 100)
    (tmp_path / "folder").mkdir()
    for file, cause in (("text", "text"), ("folder", "is a folder"), ("absent", "No such file")):
        ended = convert(name, tmp_path / file, "-o", tmp_path / "out")
        assert (ended.code, ended.output) == (1, b"")
        assert str(tmp_path / file) in ended.messages and cause in ended.messages
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", CONVERTERS)
def test_the_recording_is_never_overwritten(path, name):
    before = path.read_bytes()
    ended = convert(name, path, "-o", path)
    assert ended.code == 1
    assert "is the recording itself" in ended.messages
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_full_disk_is_an_error(path, name):
    if not os.path.exists("/dev/full"):
        missing("/dev/full")
    ended = convert(name, path, "-o", "/dev/full")
    assert ended.code == 1
    assert "No space left on device" in ended.messages


def test_strict_is_content_with_a_whole_recording(path, tmp_path):
    for name in CONVERTERS:
        assert convert(name, path, "--strict", "-o", tmp_path / name).code == 0


def test_a_full_disk_stops_the_recorder(python3, program):
    if not os.path.exists("/dev/full"):
        missing("/dev/full")
    ended = run(RECORD, "-o", "/dev/full", "--", python3, program("dies"), 0)
    assert ended.code == 125
    assert "No space left on device" in ended.messages


# ---- what is there already ----

FOREIGN = {"text": b"the only copy\nof something\n", "python": b"import os\n", "json": b'{"name": "package"}\n',
           "packed": gzip.compress(b"a tar file"), "binary": bytes(range(1, 200))}


def output_options(name, output, *more):
    return [CONVERTERS[name], *more, "-o", output]


@pytest.mark.parametrize("name", CONVERTERS)
def test_only_its_own_files_are_replaced(path, tmp_path, name):
    output = tmp_path / "out"
    succeed(*output_options(name, output), path)
    first = output.read_bytes()
    for content in (first, b""):
        output.write_bytes(content)
        succeed(*output_options(name, output), path)
        assert output.read_bytes() == first
    for content in FOREIGN.values():
        output.write_bytes(content)
        ended = run(*output_options(name, output), path)
        assert ended.code == 1 and output.read_bytes() == content
        assert (f"cannot write {output}: it exists and is not a file of pyreel-{name}; name another file, or replace it with "
                "--force") in ended.messages
        succeed(*output_options(name, output, "--force"), path)
        assert output.read_bytes() == first
    for other in {"gecko", "pprof", "tachyon"} - {name}:
        assert run(*output_options(other, output), path).code == 1 and output.read_bytes() == first


@pytest.mark.parametrize("name, options", [("gecko", ["-o", "out.json"]), ("info", ["--json"]), ("info", ["--threads", "MainThread"]),
                                           ("collapsed", ["--threads", "MainThread"]), ("pprof", ["--functions"])], ids=str)
def test_each_form_of_its_own_files_is_replaced(path, tmp_path, name, options):
    for _ in range(2):
        succeed(CONVERTERS[name], "-o", "out", *options, path, cwd=tmp_path)
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("listing", [[], ["--json"], ["--from", "1%"]], ids=str)
def test_a_list_of_recordings_is_replaced(path, tmp_path, listing):
    for _ in range(2):
        ended = convert("info", path, path, "-o", tmp_path / "list", *listing)
        assert ended.messages == "" and (tmp_path / "list").stat().st_size > 100


def test_the_default_output_is_guarded_too(path, tmp_path):
    (tmp_path / "a.pyreel").write_bytes(path.read_bytes())
    (tmp_path / "a.pyreel.pb.gz").write_text("notes")
    assert convert("pprof", "a.pyreel", cwd=tmp_path).code == 1
    assert (tmp_path / "a.pyreel.pb.gz").read_text() == "notes"


@pytest.mark.parametrize("name", CONVERTERS)
def test_what_is_replaced_keeps_its_mode(path, tmp_path, name):
    output = tmp_path / "out"
    for mode in (0o600, 0o644, 0o664, 0o755):
        output.write_bytes(b"")
        output.chmod(mode)
        succeed(*output_options(name, output), path)
        assert output.stat().st_size > 0 and stat.S_IMODE(output.stat().st_mode) == mode


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_read_only_file_needs_force(path, tmp_path, name):
    output = tmp_path / "out"
    output.write_bytes(b"")
    output.chmod(0o444)
    ended = run(*output_options(name, output), path)
    assert ended.code == 1 and output.read_bytes() == b""
    assert f"cannot write {output}: it is read-only; name another file, or replace it with --force" in ended.messages
    succeed(*output_options(name, output, "--force"), path)
    assert output.read_bytes() != b"" and stat.S_IMODE(output.stat().st_mode) == 0o444


def test_what_is_replaced_keeps_its_owner(path, tmp_path):
    if os.geteuid() != 0:
        missing("root, who may give files away")
    output = tmp_path / "out"
    output.write_bytes(b"")
    os.chown(output, NOBODY, NOBODY)
    output.chmod(0o640)
    succeed(*output_options("pprof", output), path)
    there = output.stat()
    assert (there.st_uid, there.st_gid, stat.S_IMODE(there.st_mode)) == (NOBODY, NOBODY, 0o640) and there.st_size > 0


def test_a_file_of_another_user_in_a_shared_folder_is_not_replaced(path, tmp_path):
    if os.geteuid() != 0:
        missing("root, who may give files away")
    output = tmp_path / "out"
    output.write_bytes(b"")
    os.chown(output, NOBODY, NOBODY)
    tmp_path.chmod(0o1777)
    for options in ([], ["--force"]):
        ended = run(*output_options("pprof", output, *options), path)
        assert ended.code == 1 and "another user owns it" in ended.messages and output.read_bytes() == b""


@pytest.mark.parametrize("name", CONVERTERS)
def test_devices_and_pipes_are_written(path, tmp_path, name):
    wanted = succeed(*output_options(name, "-"), path).output
    assert succeed(*output_options(name, "/dev/stdout"), path).output == wanted
    assert succeed("bash", "-c", f'{CONVERTERS[name]} -o >(cat) {path} | cat').output == wanted
    succeed(*output_options(name, "/dev/null"), path)
    appended = tmp_path / "log"
    appended.write_bytes(b"kept\n")
    succeed("bash", "-c", f"{CONVERTERS[name]} -o - {path} >> {appended}")
    assert appended.read_bytes() == b"kept\n" + wanted
