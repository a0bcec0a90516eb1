# SPDX-License-Identifier: MIT
"""Which stacks a program can have: read from the marks in its source, so that nothing is said twice.

A comment at the end of a line marks the line:

    -> f g       it may call these functions; * is any function of another file. A line without this calls nothing.
                 x/f is f when called by x, for lines that have code of several functions
    = x y        its labels
    <- f x       a frame stands here only when its caller is one of these functions or stands at one of these labels
    <<- f x      the same of any frame below it in the stack

On the first line of a function (or above its decorators):

    root         a stack may begin with it, as it may with the module
    anywhere     it may be called from any line, as a trace function is
    most 300     so many frames of it are in a stack at most

A line of its own that begins with "#:" tells of functions in other files. These may call each other as their names on
the line allow; what more they may do must be said:

    #: f -> g h          it may call these, too; f may be * for all, g for all of other files
    #: root f            a stack may begin with it
    #: root nothing      a thread may have no frames at all
    #: root frozen       a stack may begin in a frozen module
    #: one root          of a thread: what its stacks begin with never changes
    #: slow 5            it stays in one place for so many milliseconds: looks that are closer tell the same

Of the run:

    #: distance 5000     the reference looks at it so many microseconds apart on average (2000)
    #: spinners 2        so many other processes keep the processors busy
    #: one processor     is all it has: with two it is another program
    #: since 3.12        with older versions there is no reference

A function is named by its qualified name or the end of it. Every frame must stand at a line of its function, and a
function that has just been entered is at its first line.
"""

import collections
import dataclasses
import re

Frame = collections.namedtuple("Frame", "function file line")
NOTHING = ("<no Python frames>",)
COLLECTING = ("<GC>",)  # its leaf, or further up while a destructor runs
GONE = ("<code that was gone>",)  # it could not be read any more: what it is and calls is not known
OPERATORS = {"->", "=", "<-", "<<-", "root", "anywhere", "most"}
DUNDER = re.compile(r"__\w+__")


@dataclasses.dataclass
class Mark:
    """What is said of a line; None: nothing."""
    calls: tuple = ()
    labels: tuple = ()
    callers: tuple = None
    below: tuple = None
    root: bool = False
    anywhere: bool = False
    most: int = None


def mark_of(comment):
    """The marks in a comment; None when it is one for people."""
    words = comment.split()
    if not words or words[0] not in OPERATORS:
        return None
    said = collections.defaultdict(list)
    for word in words:
        if word in OPERATORS:
            operator = word
            said[operator]  # even when nothing follows
        else:
            said[operator].append(word)
    given = {key: tuple(said[operator]) if operator in said else None
             for key, operator in (("callers", "<-"), ("below", "<<-"))}
    return Mark(calls=tuple(said["->"]), labels=tuple(said["="]), **given, root="root" in words,
                anywhere="anywhere" in words, most=int(said["most"][0]) if said["most"] else None)


def is_named(function, names):
    return any(function == name or function.endswith("." + name) for name in names)


def is_between(row):
    """CPython's own frame between a call of a class and its __init__, since 3.12: it has no line."""
    return row[0] == "__init__" and row[-1] == 0


class Code:
    """All code objects of one name in a file."""

    def __init__(self, parts):
        self.name = parts[0]["name"]
        self.firsts = {part["first"] for part in parts}
        self.lines = self.firsts.union(*(part["lines"] for part in parts))
        self.names = collections.defaultdict(set)
        for part in parts:
            for line, names in part["names"].items():
                self.names[int(line)].update(names)
        if self.name == "<module>":
            self.lines.add(0)  # its first instruction has no line


def codes_by_name(parts):
    grouped = collections.defaultdict(list)
    for part in parts:
        grouped[part["name"]].append(part)
    return {name: Code(same) for name, same in grouped.items()}


class Rules:
    """The rules of one program under one Python. `look_up` gives the code objects of files, see codes.py."""

    def __init__(self, path, source, look_up, case):
        self.path, self.case, self.look_up = path, case, look_up
        self.files = {path: codes_by_name(look_up([path])[path])}
        self.marks = {}
        self.others = collections.defaultdict(set)
        self.roots, self.one_root, self.one_processor = set(), False, False
        self.stay_ms, self.distance_us, self.spinners, self.since = 0, 2000, 0, 0
        for number, line in enumerate(source.splitlines(), 1):
            if line.startswith("#:"):
                self.read_order(line[2:].split())
            elif "#" in line and (mark := mark_of(line.rpartition("#")[2])):
                self.marks[number] = mark
        self.check_names()

    def read_order(self, words):
        if words == ["one", "root"]:
            self.one_root = True
        elif words == ["one", "processor"]:
            self.one_processor = True
        elif words[0] == "slow":
            self.stay_ms = float(words[1])
        elif words[0] == "distance":
            self.distance_us = int(words[1])
        elif words[0] == "since":
            self.since = int(words[1].rpartition(".")[2])
        elif words[0] == "spinners":
            self.spinners = int(words[1])
        elif words[0] == "root":
            self.roots.update(words[1:])
        else:
            assert words[1] == "->", words
            self.others[words[0]].update(words[2:])

    def check_names(self):
        """A mark that names nothing is a mistake. Comprehensions are no functions since CPython 3.12."""
        known = set(self.files[self.path])
        labels = {label for mark in self.marks.values() for label in mark.labels}
        for number, mark in self.marks.items():
            for name in mark.calls + (mark.callers or ()) + (mark.below or ()):
                name = name.rpartition("/")[2]
                assert (name in labels or name == "*" or name.startswith("<") or name in self.others
                        or any(is_named(function, [name]) for function in known)), f"line {number} names {name}"

    # ---- what is said of a frame ----

    def code_of(self, frame):
        if frame.file not in self.files:
            self.files[frame.file] = codes_by_name(self.look_up([frame.file]).get(frame.file, []))
        return self.files[frame.file].get(frame.function)

    def is_own(self, frame):
        return frame.file == self.path

    def mark(self, frame):
        return self.marks.get(frame.line, Mark()) if self.is_own(frame) else Mark()

    def head(self, frame):
        """What is said at the head of its function."""
        code = self.code_of(frame)
        firsts = code.firsts if code and self.is_own(frame) else ()
        return next((self.marks[first] for first in firsts if first in self.marks), Mark())

    def is_at(self, frame, names):
        """Whether a frame is of one of these functions or stands at one of these labels."""
        return is_named(frame.function, names) or bool(set(self.mark(frame).labels) & set(names))

    # ---- judging ----

    def impossible(self, stack):
        """Why the program can't have had this stack, in words; None when it can."""
        frames = []
        for row in stack:
            if row == GONE:
                break
            if row == NOTHING or row == COLLECTING or is_between(row):
                continue
            if len(row) != 3:
                return f"a frame without a source: {row}"
            frame, why = self.case.frame(self, Frame(*row))
            if why:
                return why
            frames.append(frame)
        if not frames:
            return None if "nothing" in self.roots or stack[0] == GONE else "no frames"
        return (self.bad_root(frames[0])
                or next((why for i in range(len(frames)) if (why := self.bad_frame(frames, i))), None)
                or next((why for pair in zip(frames, frames[1:]) if (why := self.bad_call(*pair))), None)
                or self.bad_depth(frames))

    def bad_root(self, frame):
        own = self.is_own(frame) and (frame.function == "<module>" or self.head(frame).root)
        frozen = "frozen" in self.roots and frame.file.startswith("<frozen ")
        return None if own or frozen or is_named(frame.function, self.roots) else f"begins in {where(frame)}"

    def bad_frame(self, frames, i):
        frame = frames[i]
        code = self.code_of(frame)
        if code is None:
            # Not in a source that we have: of a file that was made up on the way.
            return f"there is no {where(frame)}" if self.files[frame.file] else None
        if frame.line not in code.lines:
            return f"line {frame.line} is not in {where(frame)}"
        mark = self.mark(frame)
        if frame.line in code.firsts and len(code.lines) > 1:
            return None
        if mark.callers is not None and not (i > 0 and self.is_at(frames[i - 1], mark.callers)):
            return f"{where(frame)} under {where(frames[i - 1])}"
        if mark.below is not None and not any(self.is_at(other, mark.below) for other in frames[:i]):
            return f"{where(frame)} not under any of {' '.join(mark.below)}"
        return None

    def bad_call(self, caller, callee):
        may = self.own_may_call if self.is_own(caller) else self.other_may_call
        return None if may(caller, callee) else f"{where(caller)} does not call {where(callee)}"

    def own_may_call(self, caller, callee):
        code = self.code_of(caller)
        if self.head(callee).anywhere and self.is_own(callee) and caller.function != callee.function:
            return True
        calls = self.mark(caller).calls
        pairs = [name.split("/") for name in calls if "/" in name]
        if any(is_named(callee.function, [g]) and is_named(caller.function, [f]) for f, g in pairs):
            return True
        if caller.line in code.firsts and len(code.lines) > 1 and caller.function != "<module>":
            return False
        return is_named(callee.function, calls) or ("*" in calls and not self.is_own(callee))

    def other_may_call(self, caller, callee):
        for name in ("*", caller.function):
            calls = self.others.get(name, ())
            if is_named(callee.function, calls) or ("*" in calls and not self.is_own(callee)):
                return True
        code = self.code_of(caller)
        if code is None or self.is_own(callee):
            return not self.is_own(callee)
        bare = callee.function.rpartition(".")[2]
        return bare in code.names[caller.line] or bool(DUNDER.fullmatch(bare)) or bare.startswith("<")

    def bad_depth(self, frames):
        counts = collections.Counter(frame.function for frame in frames)
        for frame in {frame.function: frame for frame in frames}.values():
            most = self.head(frame).most
            if most is not None and counts[frame.function] > most:
                return f"{counts[frame.function]} frames of {frame.function}"
        return None


def where(frame):
    file = f" in {frame.file}" if frame.file.startswith("<") else ""
    return f"{frame.function}{file}:{frame.line}"
