# SPDX-License-Identifier: MIT
"""What a case needs beyond the marks in its program."""

import re


class Case:
    """A case whose marks say all."""

    def frame(self, rules, frame):
        """The frame as the rules know it, and why it can't be, if it can't."""
        return frame, None


class MadeCode(Case):
    """Code that was made of the body of a function of the program: its frames are put back there."""

    def frame(self, rules, frame):
        match = re.fullmatch(r"(gen|mod|fun|new)-(\d+)", frame.file)
        if not match:
            return frame, None
        kind, number = match[1], int(match[2])
        body = f"{kind}_body"
        known = {"<module>": body, "<lambda>": f"{body}.<locals>.<lambda>",
                 f"made_{number}": f"{body}.<locals>.made_NUMBER"}
        if kind == "new":
            known = {f"made_{number}": body}
        if frame.function not in known:
            return frame, f"{frame.function} in {frame.file}"
        (first,) = rules.files[rules.path][body].firsts
        line = frame.line - number % 100 + (first if kind != "new" else first - 1)
        if frame.function == "<module>" and frame.line <= 1:
            line = first  # where a module begins, wherever its first statement is
        return frame._replace(function=known[frame.function], file=rules.path, line=line), None


CASES = {"made_code": MadeCode, "new_code": MadeCode}

# Programs that run under several names, and do what their name says.
VARIANTS = {
    "frame_loop": ("frame_loop_1ms_spin", "frame_loop_1ms_sleep", "frame_loop_10ms", "frame_loop_10ms_spin"),
    "generator_steps": ("generator_steps_5us", "generator_steps_10us", "generator_steps_20us"),
}


def case_of(name):
    return CASES.get(name, Case)()
