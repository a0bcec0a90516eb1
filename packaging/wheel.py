# SPDX-License-Identifier: MIT
"""wheel.py PROGRAMS PROCESSOR FOLDER: writes a wheel into FOLDER, from the package in python/, and from the folder PROGRAMS, into
which static programs were installed. make-wheel runs this.

A wheel is a zip file with three files about itself; this is less than a build backend would have to be told. Its bytes depend on
nothing but what is in it and SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import pathlib
import re
import stat
import sys
import time
import zipfile

PROJECT = pathlib.Path(__file__).parent.parent
# Static programs ask for nothing but a kernel. These are the oldest systems of each kind that pip knows by such a tag.
SYSTEMS = ("manylinux_2_17", "musllinux_1_1")
# Of what meson installs. Shells look for completions elsewhere than in an environment of Python.
SHARED = ("man", "terminfo")

METADATA = """\
Metadata-Version: 2.4
Name: pyreel
Version: {version}
Summary: Sampling profiler for CPython: exact samples from outside the program, flame graphs, reports, comparisons
Keywords: profiler,sampling,flame graph,performance,asyncio,pytest,jupyter
License-Expression: MIT AND LGPL-2.1-or-later AND (LGPL-3.0-or-later OR GPL-2.0-or-later) AND BSD-2-Clause AND BSD-3-Clause AND Zlib
{licences}Classifier: Development Status :: 5 - Production/Stable
Classifier: Framework :: IPython
Classifier: Framework :: Pytest
Classifier: Intended Audience :: Developers
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
{versions}Classifier: Topic :: Software Development :: Debuggers
Classifier: Topic :: System :: Benchmark
Classifier: Typing :: Typed
Requires-Python: >=3.11
Description-Content-Type: text/markdown

{readme}"""


def read(path):
    return (PROJECT / path).read_text(encoding="utf-8")


def files_of(folder, prefix):
    """What is in a folder, by its names in the wheel. A link becomes the file that it leads to."""
    return {prefix + str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def contents(installed, processor, version):
    """{name in the wheel: bytes}, in order, without RECORD."""
    data, about = f"pyreel-{version}.data", f"pyreel-{version}.dist-info"
    files = files_of(PROJECT / "python" / "pyreel", "pyreel/")
    files |= files_of(installed / "bin", f"{data}/scripts/")
    for folder in SHARED:
        files |= files_of(installed / "share" / folder, f"{data}/data/share/{folder}/")
    licences = {"LICENSE": (PROJECT / "LICENSE").read_bytes(), **files_of(installed / "licences", "libraries/")}
    named = "".join(f"License-File: {name}\n" for name in sorted(licences))
    versions = "".join(f"Classifier: Programming Language :: Python :: 3.{minor}\n" for minor in range(11, 16))
    tags = [f"py3-none-{system}_{processor}" for system in SYSTEMS]
    files = dict(sorted(files.items()))
    files |= {f"{about}/licenses/{name}": text for name, text in sorted(licences.items())}
    files[f"{about}/METADATA"] = METADATA.format(version=version, licences=named, versions=versions, readme=read("README.md")).encode()
    files[f"{about}/WHEEL"] = "".join(
        ["Wheel-Version: 1.0\n", "Generator: pyreel packaging/wheel.py\n", "Root-Is-Purelib: false\n", *(f"Tag: {tag}\n" for tag in tags)]).encode()
    files[f"{about}/entry_points.txt"] = b"[pytest11]\npyreel = pyreel.pytest_plugin\n"
    return files, f"{about}/RECORD"


def row_of(name, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(text)}\n"


def write(path, files, record):
    when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    rows = "".join(row_of(name, text) for name, text in files.items()) + f"{record},,\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, text in {**files, record: rows.encode()}.items():
            entry = zipfile.ZipInfo(name, when)
            entry.create_system = 3  # the next line has modes of Unix
            entry.external_attr = (stat.S_IFREG | (0o755 if ".data/scripts/" in name else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, text)


def main():
    installed, processor, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    version = re.search(r"^ *version: '(.*)',$", read("meson.build"), re.M)[1]
    systems = ".".join(f"{system}_{processor}" for system in SYSTEMS)
    path = folder / f"pyreel-{version}-py3-none-{systems}.whl"
    write(path, *contents(installed, processor, version))
    print(path)


main()
