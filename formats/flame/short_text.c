/* SPDX-License-Identifier: MIT */
#include "formats/flame/short_text.h"

#define CUT_MARK TEXT("\xE2\x80\xA6")

struct text short_text(struct text text, struct bytes *room)
{
    const struct text mark = CUT_MARK;
    size_t size = SHORT_TEXT_MOST;
    if (text.size <= size)
        return text;
    while (size > 0 && ((unsigned char)text.bytes[size] & 0xC0) == 0x80)
        size--;
    room->size = 0;
    put_bytes(room, text.bytes, size);
    put_bytes(room, mark.bytes, mark.size);
    return bytes_text(room);
}
