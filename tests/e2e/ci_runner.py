# SPDX-License-Identifier: MIT
"""Runs the steps of ci/ as CI runners do: each `run` of an action in a bash of its own, each list of GitLab's template in a
shell. Steps that use actions of GitHub itself (artifacts, the cache) copy files between folders here."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from environment import BUILD, PROJECT, missing
from recording import ENVIRONMENT, PATIENCE

try:
    import yaml
except ImportError:
    yaml = None

CI = pathlib.Path(PROJECT) / "ci"
PATH = os.pathsep.join([f"{BUILD}/record", f"{BUILD}/convert", os.environ["PATH"]])


def read_yaml(path):
    if yaml is None:
        missing("python3-yaml")
    return yaml.safe_load(path.read_text())


class Step:
    """A shell that the runner has started: the leader of its session, with SIGINT as the kernel starts programs."""

    def __init__(self, command, folder, environment):
        clean = {name: value for name, value in ENVIRONMENT.items() if not name.startswith(("PYREEL_", "GITHUB_"))}
        self.process = subprocess.Popen(command, cwd=folder, env={**clean, "PATH": PATH, **environment}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.said = b""

    def wait_for_output(self, words):
        for line in self.process.stdout:
            self.said += line
            if words in line:
                return
        raise AssertionError(f"it ended early: {self.said.decode()}")

    def signal(self, number):
        os.kill(self.process.pid, number)  # the runner knows of no other process

    def kill_tree(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def wait(self):
        try:
            rest, _ = self.process.communicate(timeout=PATIENCE)
        finally:
            self.kill_tree()
        self.said += rest
        return self.process.returncode

    @property
    def text(self):
        return self.said.decode()


class GitHub:
    """The jobs of a workflow run: a folder for each job, and artifacts and a cache that all jobs share."""

    def __init__(self, folder, event="push", cache=None):
        self.event, self.cache, self.artifacts = event, cache or folder / "cache", folder / "artifacts"
        self.folder, self.job, self.text = folder, None, ""
        self.new_job("first")

    def new_job(self, name):
        self.job = self.folder / name
        self.job.mkdir(parents=True)
        self.summary = self.folder / f"{name}.md"

    def value(self, text, inputs):
        """A text with its expressions. Those that our actions have are names, joined by ||."""
        names = {"github.base_ref": "main" if self.event == "pull_request" else "", "github.ref_name": "main", "github.run_id": "7",
                 "github.run_attempt": "1", **{f"inputs.{name}": value for name, value in inputs.items()}}
        return re.sub(r"\$\{\{(.*?)\}\}", lambda match: next(filter(None, (names[name.strip()] for name in match[1].split("||"))), ""), text)

    def wanted(self, step, failed):
        condition = step.get("if", "success()")
        pushes = self.event == "push"
        return {"success()": not failed, "always()": True, "always() && github.event_name == 'push'": pushes}[condition]

    def use(self, action, while_it_runs=None, **given):
        """The exit code of the action's first step that fails, or 0. `while_it_runs` gets each step that is a shell."""
        path = CI / "github" / action
        described, failed = read_yaml(path / "action.yml"), 0
        inputs = {name: row.get("default") for name, row in described["inputs"].items()}
        inputs.update({name.replace("_", "-"): value for name, value in given.items()})
        assert None not in inputs.values(), "an input is required"
        for step in described["runs"]["steps"]:
            if not self.wanted(step, failed):
                continue
            if "uses" in step:
                self.use_of_github(step["uses"].partition("@")[0], {name: self.value(str(value), inputs) for name, value in step["with"].items()})
            else:
                failed = self.run(step, path, inputs, while_it_runs) or failed
        return failed

    def run(self, step, path, inputs, while_it_runs):
        assert step["shell"] == "bash"
        with tempfile.NamedTemporaryFile("w", suffix=".sh", dir=self.folder, delete=False) as script:
            script.write(step["run"])
        environment = {"GITHUB_ACTION_PATH": str(path), "GITHUB_WORKSPACE": str(self.job), "GITHUB_STEP_SUMMARY": str(self.summary),
                       **{name: self.value(value, inputs) for name, value in step.get("env", {}).items()}}
        shell = Step(["bash", "--noprofile", "--norc", "-eo", "pipefail", script.name],
                     self.job / self.value(step.get("working-directory", "."), inputs), environment)
        if while_it_runs and "record" in step["run"]:
            while_it_runs(shell)
        code = shell.wait()
        self.text += shell.text
        return code

    def use_of_github(self, action, options):
        if action == "actions/upload-artifact":
            found = sorted(self.job.glob(options["path"]))
            for path in found:
                for file in [path] if path.is_file() else path.rglob("*"):
                    copy(file, self.artifacts / options["name"] / file.name)
        elif action == "actions/download-artifact":
            assert options["merge-multiple"] == "True"
            for artifact in self.artifacts.glob(options["pattern"]):
                for file in artifact.iterdir():
                    copy(file, self.job / options["path"] / file.name)
        elif action == "actions/cache/save":
            shutil.copytree(self.job / options["path"], self.cache / options["key"])
        elif action == "actions/cache/restore":
            rows = sorted(self.cache.glob(f"{options['restore-keys']}*"))
            if rows:
                shutil.copytree(rows[-1], self.job / options["path"])
        else:
            raise AssertionError(f"nobody knows {action} here")


def copy(file, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)


class GitLab:
    """Jobs that extend those of the template."""

    def __init__(self, folder, **variables):
        template = read_yaml(CI / "gitlab" / "pyreel.gitlab-ci.yml")
        self.template, self.folder = template, folder
        self.variables = {**{name: str(value) for name, value in template["variables"].items()}, "PYREEL_SOURCE": PROJECT,
                          "CI_PROJECT_ID": "42", "CI_DEFAULT_BRANCH": "main", "CI_JOB_TOKEN": "secret", **variables}

    def run(self, name, while_it_runs=None, **variables):
        """(exit code, paths that are kept) of the job."""
        job = {**self.template[".pyreel"], **self.template[name]}
        self.text, environment = "", {**self.variables, **variables}
        code = self.shell(job["before_script"] + job["script"], environment, while_it_runs)
        self.shell(job.get("after_script", []), environment, None)
        assert job["artifacts"]["when"] == "always"
        return code, [path for pattern in job["artifacts"]["paths"] for path in self.folder.glob(pattern)]

    def shell(self, lines, environment, while_it_runs):
        shell = Step(["sh", "-ec", "\n".join(lines)], self.folder, environment)
        if while_it_runs:
            while_it_runs(shell)
        code = shell.wait()
        self.text += shell.text
        return code
