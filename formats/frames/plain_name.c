/* SPDX-License-Identifier: MIT */
#include "formats/frames/plain_name.h"

#include <string.h>

static bool plain_name_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == ' ' || c == '#';
}

/* The size of a name without one separator and number at the end; `size` when there is none. */
static size_t without_number(const char *name, size_t size)
{
    size_t at = size;
    while (at > 0 && plain_name_is_digit(name[at - 1]))
        at--;
    return at > 1 && at < size && is_separator(name[at - 1]) ? at - 1 : size;
}

/* The size of a title without brackets at the end, and the blanks before them; `size` when nothing else would remain. A
 * title that was cut may lack the last bracket. */
static size_t without_brackets(const char *title, size_t size)
{
    for (size_t at = size; at-- > 1;) {
        if (title[at] != '[' && title[at] != '(')
            continue;
        const char *end = memchr(title + at, title[at] == '[' ? ']' : ')', size - at);
        if (title[at - 1] != ' ' || (end && end != title + size - 1))
            return size;
        while (at > 0 && title[at - 1] == ' ')
            at--;
        return at > 0 ? at : size;
    }
    return size;
}

/* The function of `Thread-3 (work)`, with the blank. Linux keeps 15 bytes of a name, so `)` may be missing. */
static struct text function_of(struct text name)
{
    const char *blank = name.size ? memmem(name.bytes, name.size, " (", 2) : NULL;
    const size_t before = blank ? (size_t)(blank - name.bytes) : name.size;
    return (struct text){ name.bytes + before, name.size - before };
}

void put_plain_name(struct bytes *to, struct text name)
{
    if (name.size == 0)
        return;
    const struct text function = function_of(name);
    size_t size = name.size - function.size;
    for (size_t before = 0; before != size;) {
        before = size;
        size = without_number(name.bytes, size);
    }
    put_bytes(to, name.bytes, size);
    put_bytes(to, function.bytes, function.size);
}

void put_plain_title(struct bytes *to, struct text title)
{
    size_t size = title.size;
    for (size_t before = 0; before != size;) {
        before = size;
        size = without_number(title.bytes, without_brackets(title.bytes, size));
    }
    put_bytes(to, title.bytes, size);
}
