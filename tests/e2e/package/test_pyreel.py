# SPDX-License-Identifier: MIT
"""pyreel VERB: which program runs, what it gets, what pyreel says of words that are no verbs, and pyreel help."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from environment import BUILD, PROJECT, PYREEL, built_programs, need_command
from recording import PATIENCE, SANITIZER, record_told

pytestmark = pytest.mark.short
VERBS = {name.removeprefix("pyreel-"): path for name, path in built_programs().items()}
TOPICS = [name.removesuffix(".txt") for name in sorted(os.listdir(os.path.join(PROJECT, "pyreel", "topics")))]
SHELL = "#!/bin/sh\n"


def pyreel(*arguments, program=PYREEL, path=os.environ["PATH"], **more):
    ended = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, "PATH": path}, **more)
    assert not SANITIZER.search(ended.stderr.encode()), ended.stderr
    return ended


def script(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(SHELL + text)
    os.chmod(path, 0o755)


@pytest.fixture
def installed(tmp_path):
    """Where pyreel lies alone, in a folder bin; shutil.copy keeps the mode."""
    os.mkdir(tmp_path / "bin")
    return shutil.copy(PYREEL, tmp_path / "bin")


# ---- which program runs ----

def test_each_program_is_a_verb_and_each_verb_a_program():
    """A program of the build folder that has no line in the help is unknown to users, and to the completions."""
    shown = re.findall(r"^  ([a-z-]+) +", pyreel("--help", path="").stdout.partition("\nTopics:\n")[0], re.M)
    assert sorted(shown) == sorted(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_program_of_this_build_runs(verb):
    first = pyreel(verb, "--version", path="").stdout.splitlines(keepends=True)[0]  # pyreel-otlp says more
    assert first == pyreel("--version").stdout.replace("pyreel", f"pyreel-{verb}")
    assert pyreel(verb, "--help", path="").stdout == subprocess.run([VERBS[verb], "--help"], capture_output=True, text=True).stdout
    refused = pyreel(verb, "--no-such-option")
    assert refused.returncode == 2 and refused.stderr.startswith(f"pyreel-{verb}: unrecognized option")


def test_verbs_say_what_the_man_pages_say():
    text = pyreel("--help").stdout
    for verb in VERBS:
        with open(os.path.join(PROJECT, "man", f"pyreel-{verb}.1")) as page:
            says = re.search(r"^\.SH NAME\npyreel-[a-z]+ \\- (.*)", page.read(), re.M)[1].replace("\\-", "-")
        assert re.search(rf"^  {verb} +{re.escape(says)}$", text, re.M), verb
        with open(os.path.join(PROJECT, "man", "pyreel.1")) as page:
            assert f".B {verb}\n{says[0].upper()}{says[1:]}. See\n" in page.read(), verb


def test_the_program_takes_the_place_of_pyreel(installed, tmp_path):
    """The same process with the arguments as they are, so exit codes, signals and standard input are those of the program."""
    script(tmp_path / "bin" / "pyreel-record", 'cat; for word; do echo "<$word>"; done; echo $$; exit 45\n')
    child = subprocess.Popen([installed, "record", "a b", "", "-q", "--help"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.communicate("input\n", timeout=PATIENCE)[0] == f"input\n<a b>\n<>\n<-q>\n<--help>\n{child.pid}\n"
    assert child.returncode == 45
    script(tmp_path / "bin" / "pyreel-record", "kill -USR1 $$\n")
    assert pyreel("record", program=installed).returncode == -signal.SIGUSR1


def test_a_recording_keeps_the_exit_code(python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    assert record_told(path, "-q", "--", python3, program("dies"), 3, "told", prefix=(PYREEL,), program="record").code == 3
    assert pyreel("info", "--verify", path).returncode == 0


def test_programs_of_others(installed, tmp_path):
    """The programs beside pyreel come first, then those in PATH; a folder or a file that is not executable is no program."""
    script(tmp_path / "bin" / "pyreel-record", "echo beside\n")
    script(tmp_path / "path" / "pyreel-record", "echo path\n")
    script(tmp_path / "path" / "pyreel-hello", "echo hello\n")
    script(tmp_path / "path" / "pyreel-bad name", "echo bad\n")
    script(tmp_path / "path" / "pyreel-text", "")
    os.chmod(tmp_path / "path" / "pyreel-text", 0o644)
    os.mkdir(tmp_path / "path" / "pyreel-folder")
    here = f"/nonexistent::{tmp_path}/path"
    run = lambda *words: pyreel(*words, program=installed, path=here, cwd="/")
    assert run("record").stdout == "beside\n" and run("hello").stdout == "hello\n"
    assert "that were found:\n  hello\n\nTopics:" in run("--help").stdout
    assert "did you mean 'pyreel hello'?" in run("hallo").stderr
    for word in ("text", "folder", "bad name"):
        assert run(word).returncode == 2, word


def test_a_link_leads_to_the_folder_of_pyreel(installed, tmp_path):
    script(tmp_path / "bin" / "pyreel-record", "echo beside\n")
    os.symlink(installed, tmp_path / "link")
    assert pyreel("record", program=tmp_path / "link", path="").stdout == "beside\n"


def test_a_missing_program(installed, tmp_path):
    ended = pyreel("record", program=installed, path="")
    assert ended.returncode == 125 and ended.stderr == f"pyreel: the program pyreel-record is missing: it is neither in {tmp_path}/bin nor in a folder of PATH\n"
    script(tmp_path / "bin" / "pyreel-record", "")
    (tmp_path / "bin" / "pyreel-record").write_text("#!/nonexistent\n")
    ended = pyreel("record", program=installed, path="")
    assert ended.returncode == 125 and ended.stderr == f"pyreel: cannot start {tmp_path}/bin/pyreel-record: No such file or directory\n"


# ---- words that are no verbs ----

@pytest.mark.parametrize("word, meant", [
    ("recrod", "record"), ("rec", "record"), ("Record", "record"), ("flamegraph", "flame"), ("ifno", "info"), ("dif", "diff"),
    ("pyreel-gecko", "gecko"), ("hlep", "help"), ("truth", "help truth"), ("exit-code", "help exit-codes"), ("app.pyreel", "report"),
    ("python3", "record"), ("zzz", None), ("x", None), ("../record", None), ("", None), ("a\x1b[2Jb", None), ("x" * 5000, None),
    ("r" * 47, None), ("pyreel-", None),
])
def test_unknown_verbs(word, meant):
    ended = pyreel(word, path="/usr/bin")
    assert ended.returncode == 2 and ended.stdout == "" and "\x1b" not in ended.stderr
    assert re.findall("did you mean 'pyreel (.*)'", ended.stderr) == [meant] * bool(meant)
    assert ended.stderr.endswith("Try 'pyreel --help'.\n")


@pytest.mark.parametrize("arguments", [(), ("help", "zzz"), ("help", "record", "gecko"), ("--no-such-option",), ("-x", "record")])
def test_misuse(arguments):
    ended = pyreel(*arguments)
    assert ended.returncode == 2 and ended.stdout == "" and ended.stderr.startswith("pyreel: ") and "Try 'pyreel --help'." in ended.stderr


# ---- help ----

def test_help_fits_a_terminal():
    for arguments in (("--help",), ("-h",), ("help",), ("help", "help")):
        ended = pyreel(*arguments)
        assert ended.returncode == 0 and ended.stderr == ""
        assert max(map(len, ended.stdout.splitlines())) <= 80 and ended.stdout == pyreel("--help").stdout
    assert pyreel("-V").stdout == pyreel("--version").stdout
    assert pyreel("--help", path="/nonexistent").returncode == 0


def words_of(text):
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture(scope="module")
def page():
    """pyreel(7), as a terminal shows it."""
    need_command("man")
    return subprocess.run(["man", "--no-hyphenation", "--no-justification", "-l", os.path.join(BUILD, "pyreel", "pyreel.7")], capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "200"}).stdout


@pytest.mark.parametrize("topic", TOPICS)
def test_topics(topic, page):
    """The help lists the topic, prints its text, and pyreel(7) has the same words."""
    assert topic not in VERBS
    about = re.search(rf"^  {topic} +(.*)$", pyreel("--help").stdout.partition("\nTopics:\n")[2], re.M)[1]
    with open(os.path.join(PROJECT, "pyreel", "topics", f"{topic}.txt")) as file:
        assert file.read() == f"{topic} - {about}\n\n{pyreel('help', topic).stdout}"
    section = re.search(rf"^{topic.upper().replace('-', ' ')}\n(.*?)^(?=\S)", page, re.M | re.S)[1]
    assert words_of(section) == words_of(f"{about[0].upper()}{about[1:]}. {pyreel('help', topic).stdout}")


def test_topics_stand_in_the_man_page():
    with open(os.path.join(PROJECT, "man", "pyreel.1")) as file:
        section = file.read().partition(".SS Help\n")[2].partition("has the same texts")[0]
    assert sorted(re.findall(r"^\.BR? ([a-z-]+)(?: [,.])?$", section, re.M)) == TOPICS


def test_help_of_a_verb_is_the_man_page_that_came_with_it(installed, tmp_path):
    """Where man does not know the page, and where there is no man, the program says its options itself."""
    need_command("man")
    script(tmp_path / "bin" / "pyreel-record", 'echo "options of $1"\n')
    os.makedirs(tmp_path / "share" / "man" / "man1")
    with open(tmp_path / "share" / "man" / "man1" / "pyreel-record.1", "w") as page:
        page.write('.TH PYREEL\\-RECORD 1\n.SH NAME\npyreel-record \\- of this folder\n')
    for word in ("record", "pyreel-record"):
        assert "pyreel-record - of this folder" in pyreel("help", word, program=installed).stdout
    assert pyreel("help", "record", program=installed, path=f"{tmp_path}/none").stdout == "options of --help\n"
    script(tmp_path / "none" / "man", "echo there are no man pages here\n")
    assert pyreel("help", "record", program=installed, path=f"{tmp_path}/none:/bin").stdout == "options of --help\n"


def test_help_of_a_program_of_others(tmp_path):
    script(tmp_path / "pyreel-hello", 'echo "options of $1"\n')
    assert pyreel("help", "hello", path=f"{tmp_path}:{os.environ['PATH']}").stdout == "options of --help\n"


def test_a_full_disk_is_an_error():
    with open("/dev/full", "w") as full:
        for arguments in (("--help",), ("help", "truth"), ("--version",)):
            ended = subprocess.run([PYREEL, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            assert ended.returncode == 125 and ended.stderr == "pyreel: cannot write to standard output: No space left on device\n"


def test_closed_descriptors():
    """Nothing that pyreel opens gets the number of a standard stream."""
    ended = subprocess.run(["/bin/sh", "-c", f"exec {PYREEL} recrod <&- >&- 2>&-"])
    assert ended.returncode == 2
