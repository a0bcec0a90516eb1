# SPDX-License-Identifier: MIT
"""A parser by recursive descent: methods of a microsecond and less that call each other all the time."""
import os

TEXT = "(12 + x*3) * (7 - (2 + y)*4) / 5 + f(1, x + 2, (3)) - -8 * (z + 1)"


class Node:
    def __init__(self, kind, *parts):
        self.kind = kind
        self.parts = parts


class Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        self.skip()  # -> Parser.skip
        return self.text[self.at] if self.at < len(self.text) else ""

    def skip(self):
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def take(self, wanted):
        if self.peek() != wanted:  # -> Parser.peek
            return False
        self.at += 1
        return True

    def expect(self, wanted):
        if not self.take(wanted):  # -> Parser.take
            raise SyntaxError(wanted)

    def expression(self):
        node = self.term()  # -> Parser.term
        while (kind := self.peek()) and kind in "+-":  # -> Parser.peek
            self.take(kind)  # -> Parser.take
            node = Node(kind, node, self.term())  # -> Parser.term Node.__init__
        return node

    def term(self):
        node = self.factor()  # -> Parser.factor
        while (kind := self.peek()) and kind in "*/":  # -> Parser.peek
            self.take(kind)  # -> Parser.take
            node = Node(kind, node, self.factor())  # -> Parser.factor Node.__init__
        return node

    def factor(self):
        if self.take("-"):  # -> Parser.take
            return Node("negative", self.factor())  # -> Parser.factor Node.__init__
        if self.take("("):  # -> Parser.take
            node = self.expression()  # -> Parser.expression
            self.expect(")")  # -> Parser.expect
            return node
        return self.number() if self.peek().isdigit() else self.name()  # -> Parser.number Parser.name Parser.peek

    def word(self):
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isalnum():
            self.at += 1
        return self.text[start:self.at]

    def number(self):
        return Node("number", int(self.word()))  # -> Parser.word Node.__init__

    def name(self):
        name = self.word()  # -> Parser.word
        if not self.take("("):  # -> Parser.take
            return Node("name", name)  # -> Node.__init__
        arguments = [self.expression()]  # -> Parser.expression
        while self.take(","):  # -> Parser.take
            arguments.append(self.expression())  # -> Parser.expression
        self.expect(")")  # -> Parser.expect
        return Node("call", name, arguments)  # -> Node.__init__


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        Parser(TEXT).expression()  # -> Parser.__init__ Parser.expression


main()  # -> main
