# SPDX-License-Identifier: MIT
"""Reads and works out sums: nearly all of its functions are methods of a tenth of a microsecond, as in many programs."""
import dataclasses
import os


@dataclasses.dataclass
class Token:
    kind: str
    text: str


class Node:
    def __init__(self, op, left, right):
        self.op = op
        self.left = left
        self.right = right


class Number:
    def __init__(self, value):
        self.value = value


class Lexer:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def advance(self):
        self.at += 1

    def tokens(self):
        out = []
        while self.peek():
            ch = self.peek()
            if ch.isspace():
                self.advance()
            elif ch.isdigit():
                out.append(self.number())
            else:
                out.append(Token("op", ch))
                self.advance()
        return out

    def number(self):
        start = self.at
        while self.peek().isdigit():
            self.advance()
        return Token("num", self.text[start:self.at])


class Parser:
    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0

    @property
    def current(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", "")

    def take(self):
        token = self.current
        self.at += 1
        return token

    def expression(self):
        left = self.term()
        while self.current.text in "+-" and self.current.text:
            op = self.take()
            left = Node(op.text, left, self.term())
        return left

    def term(self):
        left = self.factor()
        while self.current.text in "*/" and self.current.text:
            op = self.take()
            left = Node(op.text, left, self.factor())
        return left

    def factor(self):
        token = self.take()
        if token.text == "(":
            inside = self.expression()
            self.take()
            return inside
        return Number(int(token.text))


class Evaluator:
    def visit(self, node):
        return getattr(self, "visit_" + type(node).__name__)(node)

    def visit_Number(self, node):
        return node.value

    def visit_Node(self, node):
        left, right = self.visit(node.left), self.visit(node.right)
        return OPS[node.op](left, right)


OPS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // (b or 1)}


def run(text):
    tree = Parser(Lexer(text).tokens()).expression()
    return Evaluator().visit(tree)


TEXTS = [" + ".join(f"{i} * ({i + n} - {n})" for i in range(20)) for n in range(10)]
print("ready", os.getpid(), flush=True)
while True:
    for text in TEXTS:
        run(text)
