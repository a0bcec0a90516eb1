# SPDX-License-Identifier: MIT
"""packaging/fleet: what those who run fleets start. Its commands are run, and its files read by the programs that read them."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess

import yaml

import otlp_check
from collector import PATH, free_port
from environment import CONVERTERS, PROJECT, RECORD, need_collector, need_command, need_root
from recording import ENVIRONMENT, PATIENCE, Target, run, wait_until

FLEET = pathlib.Path(PROJECT) / "packaging" / "fleet"
WORK = "import sys\nprint('ready', __import__('os').getpid(), flush=True)\nimport select\nwhile not select.select([sys.stdin], [], [], 0)[0]: sum(range(1000))"


def settings(name):
    """[(key, value)] of a unit, in order."""
    lines = [line for line in (FLEET / name).read_text().splitlines() if line and line[0] not in "#["]
    return [tuple(line.split("=", 1)) for line in lines]


def pids(receiver):
    return {resource.attributes["process.pid"] for request in receiver.received() for resource in otlp_check.resources(request)}


def command_of_unit():
    (command,) = [value for key, value in settings("pyreel.service") if key == "ExecStart"]
    return shlex.split(command)


def test_the_command_of_the_unit_sends_and_is_reloaded(tmp_path, receiver):
    """SIGHUP would end the two other processes of the unit: it has to reach the recorder alone."""
    need_root()
    (reload,) = [shlex.split(value) for key, value in settings("pyreel.service") if key == "ExecReload"]
    need_command(os.path.basename(reload[0]))
    first, second = (Target("/usr/bin/python3", "-c", WORK, f"fleet{os.getpid()}{word}") for word in ("first", "second"))
    expressions = tmp_path / "expressions"
    expressions.write_text(f"[f]leet{os.getpid()}first\n")
    folders = dict.fromkeys(map(os.path.dirname, (RECORD, CONVERTERS["otlp"])))
    environment = {**ENVIRONMENT, "PATH": os.pathsep.join([*folders, ENVIRONMENT["PATH"]]), "STATE_DIRECTORY": str(tmp_path),
                   "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url.removesuffix(PATH),
                   "PYREEL_RECORD": f"--match @{expressions}"}
    command = [word.replace("--every 10", "--every 1") for word in command_of_unit()]
    unit = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(lambda: pids(receiver) == {first.pid}, "the first program")
        expressions.write_text(f"[f]leet{os.getpid()}(first|second)\n")
        subprocess.run([word.replace("$MAINPID", str(unit.pid)) for word in reload], check=True)
        wait_until(lambda: pids(receiver) == {first.pid, second.pid}, "the second program")
        before = len(receiver.received())
        unit.send_signal(signal.SIGTERM)  # as the shell of a container gets it
        unit.wait(PATIENCE)
        assert len(receiver.received()) > before  # the rest
        assert subprocess.run(["pgrep", "-g", str(unit.pid)], capture_output=True).returncode == 1
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(unit.pid, signal.SIGKILL)
        first.close()
        second.close()


def test_systemd_takes_the_unit():
    need_command("systemd-analyze")
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", FLEET / "pyreel.service"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")


def test_the_image_and_the_manifests_run_the_same():
    (command,) = re.findall(r"^CMD (\[.*\])$", (FLEET / "Containerfile").read_text(), re.M)
    assert yaml.safe_load(command) == command_of_unit()
    environment = re.findall(r"(\w+)=", re.search(r"^ENV (.*)$", (FLEET / "Containerfile").read_text(), re.M)[1])
    assert set(environment) == {"OTEL_EXPORTER_OTLP_ENDPOINT", "PYREEL_RECORD", "STATE_DIRECTORY"}


def test_manifests_have_the_rights_of_the_unit():
    (bounding,) = [value for key, value in settings("pyreel.service") if key == "CapabilityBoundingSet"]
    daemon = yaml.safe_load((FLEET / "daemonset.yaml").read_text())
    pod = daemon["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["hostPID"] and container["securityContext"]["capabilities"]["drop"] == ["ALL"]
    assert [f"CAP_{name}" for name in container["securityContext"]["capabilities"]["add"]] == bounding.split()
    assert daemon["spec"]["selector"]["matchLabels"].items() <= daemon["spec"]["template"]["metadata"]["labels"].items()
    beside = yaml.safe_load((FLEET / "sidecar.yaml").read_text())["spec"]
    assert beside["shareProcessNamespace"] and beside["containers"][1]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    for spec in (pod, beside):
        mounts = {mount["name"] for mount in spec["containers"][-1]["volumeMounts"]}
        assert mounts == {volume["name"] for volume in spec["volumes"]}


def test_the_collector_takes_its_configuration(tmp_path):
    path = need_collector()
    text = (FLEET / "collector.yaml").read_text()
    assert "endpoint: 127.0.0.1:4318" in text
    (tmp_path / "collector.yaml").write_text(text.replace("127.0.0.1:4318", f"127.0.0.1:{free_port()}"))
    ended = run(path, "validate", "--config", tmp_path / "collector.yaml", "--feature-gates=service.profilesSupport")
    assert ended.code == 0, ended
