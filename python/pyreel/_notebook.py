# SPDX-License-Identifier: MIT
"""%pyreel and %%pyreel of IPython and Jupyter: the report of a statement or a cell, and in a notebook its flame graph.

A cell's file has a name that says nobody anything, such as /tmp/ipykernel_670/625900335.py, and is not there. So the outputs get
the text of cells from IPython (--path-map), and what they show is renamed: In [3].
"""

import ast
import base64
import gzip
import html
import inspect
import json
import linecache
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics as Base
from IPython.core.magic import line_cell_magic, magics_class
from IPython.display import display

from ._error import Error
from ._programs import find
from ._recording import record

COLUMNS = 120  # of the report: so wide, no name of a cell's file is shortened, which would then not be found
HEIGHT = 480  # pixels of the flame graph
PACKED = re.compile(r'(<script type="application/octet-stream" id="data">)(.*?)(</script>)', re.S)  # schemas/flame.md


def _run(name: str, *arguments: str) -> str:
    done = subprocess.run([find(name), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**os.environ, "COLUMNS": str(COLUMNS), "LC_ALL": "C.UTF-8"})
    if done.returncode != 0:
        raise Error(f"{name} failed: {done.stderr.strip()}")
    return done.stdout


class _Cells:
    """The cells that IPython has run, by their files."""

    def __init__(self, shell: Any) -> None:
        self._numbers: dict[str, int] = getattr(shell.compile, "_filename_map", {})
        self._names = {path: f"In [{number}]" for path, number in self._numbers.items()}
        # A shown path may lack its beginning.
        ends = {os.path.basename(path): name for path, name in self._names.items()}
        self._shown = re.compile(r'[^"\s;]*(' + "|".join(map(re.escape, ends)) + ")") if ends else re.compile(r"(?!)()")
        self._ends = ends

    def running(self) -> int | None:
        """The number of the cell that runs, if there is one."""
        frame = inspect.currentframe()
        while frame and frame.f_code.co_filename not in self._numbers:
            frame = frame.f_back
        return self._numbers[frame.f_code.co_filename] if frame else None

    def rename(self, text: str) -> str:
        return self._shown.sub(lambda found: self._ends[found[1]], text)

    def rename_page(self, page: str) -> str:
        def repack(found: re.Match[str]) -> str:
            data = json.loads(gzip.decompress(base64.b64decode(found[2])))
            data["facts"] = [fact for fact in data["facts"] if fact[0] != "Command"]  # that of the kernel
            told = self.rename(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
            return found[1] + base64.b64encode(gzip.compress(told.encode(), mtime=0)).decode() + found[3]
        return PACKED.sub(repack, page)

    def write(self, folder: str) -> list[str]:
        """Writes the text of cells into a folder; returns the options that lead there."""
        maps: dict[str, str] = {}
        for path in self._names:
            if os.path.isabs(path):
                inside = maps.setdefault(os.path.dirname(path), os.path.join(folder, str(len(maps))))
                os.makedirs(inside, exist_ok=True)
                with open(os.path.join(inside, os.path.basename(path)), "w", encoding="utf-8") as file:
                    file.writelines(linecache.getlines(path))
                os.utime(file.name, (0, 0))  # a file that is newer than the recording would be taken for another text
        return [f"--path-map={path}={inside}" for path, inside in maps.items()]


def _callers() -> str:
    """A regular expression of the functions that called this one's caller, which are above each sample of the cell."""
    found: dict[str, None] = {}
    frame = inspect.currentframe()
    while (frame := frame.f_back if frame else None) is not None:
        code = frame.f_code
        found[rf"{re.escape(code.co_qualname)} \(([^ ]*/)?{re.escape(os.path.basename(code.co_filename))}[:)]"] = None
    return f"^({'|'.join(found)})"


def _pieces(code: str, path: str) -> tuple[Any, Any]:
    """What to execute, and the expression at the end whose value the cell has, or None."""
    tree = ast.parse(code, path)
    last: Any = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    try:
        return compile(tree, path, "exec"), last and compile(ast.Expression(last.value), path, "eval")
    except SyntaxError as error:
        if "await" in str(error):
            raise UsageError("%%pyreel cannot record 'await' at the top of a cell: use `with pyreel.record(...)` in the cell") from None
        raise


@magics_class
class Magics(Base):
    """%pyreel and %%pyreel, for %load_ext pyreel."""

    shell: Any

    @line_cell_magic
    def pyreel(self, line: str, cell: str | None = None) -> Any:
        """Shows where a statement or a cell spends its time.

            %pyreel [OPTIONS] statement
            %%pyreel [OPTIONS]
            cell

        --rate R        samples per second (1000)
        --disturb P     take at most P percent of a processor from the cell (1)
        --native        C functions, too
        --top N         rows of each table (10)
        --weight W      samples, wall, cpu, gil or gil_wait
        --annotate F    also the source of a function or a cell's file, with the time beside each line
        --no-flame      no flame graph
        -o FILE         keep the recording
        """
        options, statement = self.parse_options(line, "o:", "rate=", "disturb=", "native", "top=", "weight=", "annotate=", "no-flame",
                                                posix=False, strict=False, preserve_non_opts=True)
        if cell is None and not statement.strip():
            raise UsageError("%pyreel needs a statement: %pyreel work(), or %%pyreel as the first line of a cell")
        if cell is not None and statement.strip():
            raise UsageError(f"%%pyreel takes options only, not '{statement}': the code begins in the next line")
        # The first line of a cell is the magic's, and counts.
        code = self.shell.transform_cell(statement) if cell is None else "\n" + self.shell.transform_cell(cell)
        number = _Cells(self.shell).running() or self.shell.execution_count
        path = self.shell.compile.cache(code, number)
        with tempfile.TemporaryDirectory(prefix="pyreel-") as folder:
            return self._record(options, _pieces(code, path), number, folder)

    def _record(self, options: dict[str, Any], pieces: tuple[Any, Any], number: int, folder: str) -> Any:
        flags = [f"--{name}" for name in ("native",) if name in options]
        values: dict[str, Any] = {name: options.get(name) for name in ("rate", "disturb")}
        recording = record(options.get("o") or os.path.join(folder, "cell.pyreel"), options=flags, **values)
        body, last = pieces
        names, hidden = self.shell.user_ns, _callers()
        before = {thread.native_id for thread in threading.enumerate()} - {threading.get_native_id()}
        try:
            recording.start()
        except Error as error:
            raise UsageError(str(error)) from None
        try:
            exec(body, names)
            return eval(last, names) if last else None
        finally:
            recording.stop()
            self._show(options, recording.path, number, hidden, before, folder)

    def _show(self, options: dict[str, Any], path: str, number: int, hidden: str, before: set[int | None], folder: str) -> None:
        cells = _Cells(self.shell)
        sources = cells.write(folder)
        told = json.loads(_run("pyreel-info", "--json", path))
        kept = [thread for thread in told["threads"] if thread["tid"] not in before]  # not those of the kernel
        threads = [str(thread["tid"]) for thread in kept]
        if not threads:
            print(f"pyreel: no samples in {told['duration_s']:.3f} s: a cell that takes longer, --rate or --disturb has some")
            return
        common = [f"--threads={','.join(threads)}", f"--hide={hidden}"]
        common += [f"--weight={options['weight']}"] if "weight" in options else []
        top = [f"--top={options['top']}"] if "top" in options else []
        print(f"{sum(thread['samples'] for thread in kept)} samples in {told['duration_s']:.2f} s\n")
        print("\n".join(_tables(cells.rename(_run("pyreel-report", *common, *top, path)))))
        if "annotate" in options:
            print(cells.rename(_run("pyreel-report", *common, *sources, "--annotate", options["annotate"], path)))
        if "no-flame" not in options and hasattr(self.shell, "kernel"):
            page = os.path.join(folder, "cell.html")
            title = f"In [{number}]"
            _run("pyreel-flame", "-q", *common, *sources, "--sources", f"--title={title}", "-o", page, path)
            with open(page, encoding="utf-8") as file:
                page = _frame(cells.rename_page(file.read()), title)
            display({"text/html": page, "text/plain": f"<flame graph of {title}>"}, raw=True)  # type: ignore[no-untyped-call]


def _tables(report: str) -> Iterator[str]:
    """The report without what it says of the process, which is that of the kernel."""
    lines = iter(report.splitlines())
    for line in lines:
        if line.startswith("Hottest "):
            yield line
            break
    yield from lines


def _frame(page: str, title: str) -> str:
    """The page, whole, in the output of the cell: it needs no server and no network, and may not touch the notebook."""
    return (f'<iframe sandbox="allow-scripts allow-downloads" style="width: 100%; height: {HEIGHT}px; border: 1px solid #8884" '
            f'title="flame graph of {html.escape(title)}" srcdoc="{html.escape(page)}"></iframe>')
