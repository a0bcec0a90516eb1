# SPDX-License-Identifier: MIT
"""What a built program says of itself in its ELF headers: how the kernel and the loader protect it. 64 bits, little endian."""

import struct

TYPE_DYNAMIC = 3
SEGMENT_DYNAMIC, SEGMENT_INTERPRETER, SEGMENT_STACK, SEGMENT_RELRO, SEGMENT_PROPERTY = 2, 3, 0x6474E551, 0x6474E552, 0x6474E553
EXECUTABLE = 1  # flag of a segment
DT_NULL, DT_FLAGS, DT_FLAGS_1 = 0, 30, 0x6FFFFFFB
FLAGS_BIND_NOW, FLAGS_1_NOW, FLAGS_1_PIE = 8, 1, 0x08000000
SECTION_DYNSYM = 11


class ElfFile:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", f"{path}: no ELF file of 64 bits, little endian"
        self.type = struct.unpack_from("<H", self.bytes, 16)[0]
        self.segments = list(self.table("<IIQQQQQQ", *self.place(32, 54)))
        self.sections = list(self.table("<IIQQQQIIQQ", *self.place(40, 58)))

    def place(self, offset_at, size_at):
        offset, (size, count) = struct.unpack_from("<Q", self.bytes, offset_at)[0], struct.unpack_from("<HH", self.bytes, size_at)
        return offset, size, count

    def table(self, form, offset, size, count):
        for i in range(count):
            yield struct.unpack_from(form, self.bytes, offset + i * size)

    def segment(self, kind):
        """(flags, bytes) of the first segment of that kind, or None."""
        for type_, flags, offset, _, _, size, _, _ in self.segments:
            if type_ == kind:
                return flags, self.bytes[offset:offset + size]
        return None

    def dynamic(self):
        """The value of each tag of the dynamic section."""
        values = {}
        for tag, value in struct.iter_unpack("<QQ", self.segment(SEGMENT_DYNAMIC)[1]):
            if tag == DT_NULL:
                break
            values[tag] = value
        return values

    def code(self):
        """The bytes of all segments that can be executed."""
        return b"".join(self.bytes[offset:offset + size] for type_, flags, offset, _, _, size, _, _ in self.segments
                        if type_ == 1 and flags & EXECUTABLE)

    def imports(self):
        """Names of dynamic symbols that the program takes from libraries."""
        names = set()
        for _, type_, _, _, offset, size, link, _, _, entry in self.sections:
            if type_ == SECTION_DYNSYM:
                strings = self.sections[link][4]
                for name, _, _, section, _, _ in self.table("<IBBHQQ", offset, entry, size // entry):
                    if section == 0 and name:
                        names.add(self.bytes[strings + name:self.bytes.index(b"\0", strings + name)].decode())
        return names

    def properties(self):
        """The bits of each property of the note GNU_PROPERTY, by type of the property."""
        found = self.segment(SEGMENT_PROPERTY)
        bits, at = {}, 16  # behind the note's own header and its name "GNU"
        while found and at + 12 <= len(found[1]):
            type_, size, value = struct.unpack_from("<III", found[1], at)
            bits[type_] = value
            at += 8 + (size + 7) // 8 * 8
        return bits
