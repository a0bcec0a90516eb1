# SPDX-License-Identifier: MIT
"""What the tests find on this machine: our programs, Pythons, viewers, and what we may do.

PYREEL_BUILD names the build folder whose programs are tested; PYREEL_TEST_CACHE is where tests/tools keep what they make.
PYREEL_PYTHONS, paths with a colon between, adds builds of one's own: free-threaded, debug, of a later version.
What is missing is said by missing(): on a user's machine and in the short tests a skip with the reason, else a failure with CI=true.
"""

import dataclasses
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

import pytest

# What comes first in the user's PATH, such as a version manager's python3 or another Go, is not what apt installed for the
# tests: the folder of the Python that runs them comes first here, then the system's. exec says EACCES in place of ENOENT if a
# folder in PATH may not be searched.
os.environ["PATH"] = os.pathsep.join(dict.fromkeys(
    folder for folder in [os.path.dirname(sys.executable), "/usr/sbin", "/usr/bin", "/sbin", "/bin", *os.environ.get("PATH", "").split(os.pathsep)]
    if os.access(folder, os.X_OK)))

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOLS = os.path.join(PROJECT, "tests", "tools")
BUILD = os.path.abspath(os.environ.get("PYREEL_BUILD", os.path.join(PROJECT, "build")))
CACHE = os.environ.get("PYREEL_TEST_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pyreel")

RECORD = os.path.join(BUILD, "record", "pyreel-record")
CONVERTERS = {name: os.path.join(BUILD, "convert", f"pyreel-{name}") for name in ("gecko", "pprof", "collapsed", "flame", "info", "otlp", "report", "speedscope", "tachyon")}
DUMP = os.path.join(BUILD, "record", "pyreel-dump")
TOP = os.path.join(BUILD, "convert", "pyreel-top")  # makes no output
DIFF = os.path.join(BUILD, "convert", "pyreel-diff")  # no converter of one recording
PYREEL = os.path.join(BUILD, "pyreel", "pyreel")  # becomes the others: pyreel record


def built_programs():
    """{name: path} of each program pyreel-VERB in the build folder."""
    paths = [path for path in glob.glob(os.path.join(BUILD, "*", "pyreel-*")) if os.path.isfile(path) and os.access(path, os.X_OK)]
    return {os.path.basename(path): path for path in sorted(paths) if re.fullmatch("pyreel-[a-z]+", os.path.basename(path))}


SANITIZED = "ASAN_OPTIONS" in os.environ  # our programs were built with sanitizers, which make them several times as slow
SHORT = False  # only the short tests run, for which no browser and no viewer is installed; set with the option --short
SOAK = int(os.environ.get("PYREEL_SOAK", 1))  # tests of random inputs make so many times the rounds, see tests/soak/run

REQUIRED_VERSIONS = ["3.11", "3.13", "3.14", "3.15"]
OPTIONAL_VERSIONS = ["3.12", "3.16"]
NOBODY = 65534


def missing(reason):
    if os.environ.get("CI") == "true" and not SHORT:
        pytest.fail(f"needed here, and missing: {reason}", pytrace=False)
    pytest.skip(reason)


# ---- Pythons ----

@dataclasses.dataclass(frozen=True)
class Python:
    name: str
    version: str  # 3.13
    full_version: str  # 3.13.18
    command: tuple  # what starts it
    root: str = ""  # of the folder it lives in, when that is not /
    own: bool = False  # from PYREEL_PYTHONS

    @property
    def prefix(self):
        """What its recorder, and its command where that is not recorded, need in front of them."""
        return as_root() if self.root else ()

    @property
    def minor(self):
        return int(self.version.split(".")[1])

    @property
    def has_lock(self):
        """A free-threaded build has none: 3.15t-own."""
        return not re.search(r"\dt", self.name)

    @property
    def at_once(self):
        """How many threads of it run Python at the same time, at most."""
        return 1 if self.has_lock else os.cpu_count()


def version_of(command):
    """Its own words, or None when it does not start: a version manager may have names for nothing."""
    try:
        answer = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    match = re.match(r"Python (3\.\d+\.\d+[^\s+]*)", answer.stdout)  # behind "+": of no release
    return match[1] if answer.returncode == 0 and match else None


def real_path(command):
    """The program behind a name, which may be a script of a version manager."""
    answer = subprocess.run([command, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
    return answer.stdout.strip()


def own_candidates(version):
    names = [f"/usr/bin/python{version}", shutil.which(f"python{version}")]
    names += sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")), reverse=True)
    names += ["/usr/bin/python3", shutil.which("python3")]
    return [name for name in names if name]


def own_python(version):
    for candidate in own_candidates(version):
        full = version_of([candidate])
        if full and full.startswith(f"{version}."):
            return Python(version, version, full, (real_path(candidate),))
    return None


def rooted_python(version):
    for root in sorted(glob.glob(os.path.join(CACHE, "debian-*"))):
        if not os.path.exists(f"{root}/usr/bin/python{version}") or as_root() is None:
            continue
        command = ("chroot", root, f"/usr/bin/python{version}")
        full = version_of([*as_root(), *command])
        if full:
            return Python(f"{version}-root", version, full, command, root)
    return None


def debug_python():
    for name in ("python3.11-dbg", "python3.11d"):
        full = shutil.which(name) and version_of([name])
        if full:
            return Python("3.11-debug", "3.11", full, (shutil.which(name),))
    return None


def builds_of_ones_own():
    """Those that PYREEL_PYTHONS names; a path that is no Python is an error of whoever wrote it."""
    paths, counts = [path for path in os.environ.get("PYREEL_PYTHONS", "").split(":") if path], {}
    for path in paths:
        full = version_of([path])
        if not full:
            raise pytest.UsageError(f"PYREEL_PYTHONS names {path}, which does not start as a Python 3")
        flags = subprocess.run([path, "-c", "import sys, sysconfig; print('t' * bool(sysconfig.get_config_var('Py_GIL_DISABLED')) "
                                "+ 'd' * hasattr(sys, 'gettotalrefcount'))"], capture_output=True, text=True).stdout.strip()
        version = ".".join(full.split(".")[:2])
        name = f"{version}{flags}-own"
        counts[name] = counts.get(name, 0) + 1
        yield Python(name if counts[name] == 1 else f"{name}{counts[name]}", version, full, (os.path.abspath(path),), own=True)


@functools.lru_cache(maxsize=None)
def pythons():
    """One of this machine and one of the root folders per version, the debug build, and builds of one's own."""
    found = []
    for version in sorted(REQUIRED_VERSIONS + OPTIONAL_VERSIONS):
        found += [python for python in (own_python(version), rooted_python(version)) if python]
    debug = debug_python()
    return [*found, *([debug] if debug else []), *builds_of_ones_own()]


def missing_versions():
    return [version for version in REQUIRED_VERSIONS if not any(p.version == version and not p.own for p in pythons())]


def python_of(version):
    """Any Python of a version, rather one of this machine; skips when there is none."""
    for python in pythons():
        if python.version == version and not python.own:
            return python
    return missing(f"no Python {version}: tests/tools/make-pythons makes one in {CACHE}")


def python_of_this_machine():
    """Any Python that we can start by its path alone."""
    for python in pythons():
        if not python.root and not python.own:
            return python
    return missing(f"no Python of {', '.join(REQUIRED_VERSIONS)} on this machine itself")


@functools.lru_cache(maxsize=None)
def old_python():
    """A CPython before those we read, or None."""
    for minor in (10, 9, 8):
        for name in own_candidates(f"3.{minor}"):
            full = version_of([name])
            if full and full.startswith(f"3.{minor}."):
                return Python(f"3.{minor}", f"3.{minor}", full, (real_path(name),))
    return None


# ---- rights ----

@functools.lru_cache(maxsize=None)
def as_root():
    """What to put before a command that needs root; None when we can't be root."""
    if os.geteuid() == 0:
        return ()
    can = shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0
    return ("sudo", "-n") if can else None


def need_root():
    prefix = as_root()
    return missing("needs root: run the tests as root, or let sudo work without a password") if prefix is None else prefix


def need_command(name):
    return shutil.which(name) or missing(f"no command {name}")


# ---- viewers ----

PPROFS = ("machine", "newest")  # the machine's own Go has one, and tests/tools/make-pprof builds the newest
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"  # of Debian's libdevel-nytprof-perl


@functools.lru_cache(maxsize=None)
def machine_go():
    """Debian's Go, whichever comes first on PATH; else that."""
    return "/usr/bin/go" if os.access("/usr/bin/go", os.X_OK) else shutil.which("go")


def need_go():
    return [machine_go() or missing("no command go"), "tool", "pprof"]


@functools.lru_cache(maxsize=None)
def pprof_program(name):
    """The program of one of PPROFS itself, not what starts it; None when it is not here."""
    if name == "newest":
        path = os.path.join(CACHE, "pprof", "pprof")
        return path if os.access(path, os.X_OK) else None
    if not machine_go():
        return None
    return subprocess.run([machine_go(), "tool", "-n", "pprof"], capture_output=True, text=True).stdout.strip() or None


def pprof_version(name):
    """Of which Go it is: go1.27.3; None when it is not here."""
    program = pprof_program(name)
    if program and name == "newest":
        with open(os.path.join(CACHE, "pprof", "version")) as file:
            return file.read().strip()
    return program and subprocess.run([machine_go(), "env", "GOVERSION"], capture_output=True, text=True).stdout.strip()


def need_pprof(name):
    how = {"machine": "no go tool pprof", "newest": f"no newest pprof: tests/tools/make-pprof builds it in {CACHE}"}
    return pprof_program(name) or missing(how[name])


def need_flamegraph():
    return shutil.which("flamegraph.pl") or (FLAMEGRAPH if os.path.exists(FLAMEGRAPH) else missing(f"no {FLAMEGRAPH}"))


def need_viewer(tool):
    if not os.path.exists(os.path.join(CACHE, "viewers", ".complete")):
        missing(f"no {tool}: tests/tools/make-viewers installs it in {CACHE}")
    return os.path.join(TOOLS, tool)


def need_notebook():
    """A Python with IPython and Jupyter's kernel."""
    if not os.path.exists(os.path.join(CACHE, "notebook", ".complete")):
        missing(f"no IPython: tests/tools/make-notebook installs it in {CACHE}")
    return os.path.join(CACHE, "notebook", "bin", "python")


# ---- OpenTelemetry ----

@functools.lru_cache(maxsize=None)
def otlp_folder():
    """Where tests/tools/make-otlp put the messages of OTLP for Python; None when it did not."""
    found = glob.glob(os.path.join(CACHE, "otlp", "lib", "python3*", "site-packages"))
    return found[0] if found and os.path.exists(os.path.join(CACHE, "otlp", ".complete")) else None


def need_otlp():
    """They can be imported afterwards."""
    folder = otlp_folder() or missing(f"no opentelemetry-proto: tests/tools/make-otlp installs it in {CACHE}")
    if folder not in sys.path:
        sys.path.append(folder)


def need_collector():
    need_otlp()
    path = os.path.join(CACHE, "collector", "collector")
    return path if os.access(path, os.X_OK) else missing(f"no OpenTelemetry Collector: tests/tools/make-collector builds it in {CACHE}")
