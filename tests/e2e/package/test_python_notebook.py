# SPDX-License-Identifier: MIT
"""%pyreel and %%pyreel, in the real IPython and in a notebook that Jupyter's own kernel runs."""

import base64
import gzip
import html
import json
import os
import re
import subprocess

import pytest

from environment import Python, need_notebook
from recording import PATIENCE
from test_python_package import environment_of

RUN = """
import json, nbformat, sys
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)])
NotebookClient(notebook, allow_errors=True, timeout=None).execute()
json.dump([cell.outputs for cell in notebook.cells], sys.stdout)
"""
WORK = """import time

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

%load_ext pyreel"""


def run(code, folder, *options, text=""):
    python = need_notebook()
    environment = environment_of(Python("notebook", "3", "3", (python,)), IPYTHONDIR=str(folder), JUPYTER_PATH=os.path.join(os.path.dirname(python), "..", "share", "jupyter"))
    done = subprocess.run([python, *options, "-c", code], input=text, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_cells(folder, *sources):
    """The outputs of each cell: {"text": all it printed, "html": ..., "value": ..., "error": ...}."""
    found = []
    for outputs in json.loads(run(RUN, folder, text=json.dumps(sources))):
        told = {"text": "".join(output["text"] for output in outputs if output["output_type"] == "stream")}
        for output in outputs:
            told |= {"html": output["data"]["text/html"]} if "text/html" in output.get("data", {}) else {}
            told |= {"value": output["data"]["text/plain"]} if output["output_type"] == "execute_result" else {}
            told |= {"error": output["ename"]} if output["output_type"] == "error" else {}
        found.append(told)
    return found


def data_of(output):
    """The data of the flame graph (schemas/flame.md) that is in a cell's output, in a frame that may not touch the notebook."""
    frame = re.fullmatch(r'<iframe sandbox="([^"]*)"[^>]* srcdoc="([^"]*)"></iframe>', output)
    assert "allow-scripts" in frame[1] and "allow-same-origin" not in frame[1]
    page = html.unescape(frame[2])
    return json.loads(gzip.decompress(base64.b64decode(re.search(r'id="data">(.*?)</script>', page, re.S)[1])))


@pytest.mark.short
def test_a_cell(tmp_path):
    _, cell = run_cells(tmp_path, WORK, "%%pyreel --disturb 100 --annotate spin -o kept.pyreel\nspin(0.5)\n\n6 * 7")
    assert cell["value"] == "42" and "error" not in cell
    # Cells have their names, and what started them is not shown.
    assert re.search(r" samples in [\d.]+ s\n\nHottest functions by ", cell["text"]) and "ipykernel" not in cell["text"].split("\nprogram ")[0]
    assert re.search(r"^ .*  spin +In \[1\]:3$", cell["text"], re.M) and re.search(r"^ .*  <module> +In \[2\]:1$", cell["text"], re.M)
    assert "Magics" not in cell["text"] and "run_forever" not in cell["text"]
    assert re.search(r"  6 +sum\(range\(1000\)\)$", cell["text"], re.M), cell["text"]
    data = data_of(cell["html"])
    assert data["title"] == "In [2]" and {"In [1]", "In [2]"} <= set(data["strings"])
    assert not any("ipykernel_" in text for text in data["strings"] if text.endswith(".py"))
    sources = {data["strings"][source["path"]]: source.get("text", "") for source in data["sources"]}
    assert "sum(range(1000))" in sources["In [1]"]
    assert [name for name in os.listdir(tmp_path) if name.endswith(".pyreel")] == ["kept.pyreel"]


def test_statements_and_options(tmp_path):
    _, plain, quoted, error, *misuse = run_cells(
        tmp_path, WORK, "%pyreel --disturb 100 --no-flame --top 1 spin(0.5)", "%pyreel --no-flame 'a  b' + \"c\"",
        "%%pyreel --disturb 100 --no-flame\nspin(0.3)\n1 / 0", "%pyreel", "%%pyreel spin(1)\n1", "%%pyreel --no-such\n1", "%%pyreel --rate often\n1", "%%pyreel\nawait x",
        "import pyreel\npyreel.start('a.pyreel')\n%pyreel 1\n_ = pyreel.stop()")
    assert "html" not in plain and re.search(r"  spin +In \[1\]:3\n", plain["text"]) and "value" not in plain
    assert quoted["value"] == "'a  bc'"
    assert error["error"] == "ZeroDivisionError" and re.search(r"  spin +In \[1\]:3\n", error["text"])
    words = ["needs a statement", "takes options only, not 'spin(1)'", "option --no-such not recognized", "invalid value 'often' for --rate",
             "cannot record 'await' at the top of a cell", "is being recorded into a.pyreel: end that recording"]
    for said, expected in zip(misuse, words, strict=True):
        assert "UsageError: " in said["text"] and expected in said["text"] and "html" not in said, said


def test_a_cell_without_samples(tmp_path):
    _, cell = run_cells(tmp_path, WORK, "%%pyreel --rate 0.01\npass")
    assert "no samples in" in cell["text"] and "html" not in cell


@pytest.mark.short
def test_ipython_in_a_terminal(tmp_path):
    code = f"from IPython.core.interactiveshell import InteractiveShell as Shell\nshell = Shell.instance()\n" \
           f"for cell in ({WORK!r}, '%pyreel --disturb 100 spin(0.5)'):\n    assert shell.run_cell(cell, store_history=True).success"
    said = run(code, tmp_path)
    assert re.search(r"  spin +In \[1\]:3\n", said) and "<iframe" not in said, said
