/* SPDX-License-Identifier: MIT */
#include "formats/base/text.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool text_equal(struct text a, struct text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

struct text text_of(const char *string)
{
    return (struct text){ string, strlen(string) };
}

int text_compare(struct text a, struct text b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common ? memcmp(a.bytes, b.bytes, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

bool text_take_word(const char **list, struct text *word)
{
    if (!*list)
        return false;
    *word = (struct text){ *list, strcspn(*list, ",") };
    *list = word->bytes[word->size] ? *list + word->size + 1 : NULL;
    return true;
}

bool text_begins(struct text text, struct text start)
{
    return text.size >= start.size && memcmp(text.bytes, start.bytes, start.size) == 0;
}

bool text_ends(struct text text, struct text end)
{
    return text.size >= end.size && memcmp(text.bytes + (text.size - end.size), end.bytes, end.size) == 0;
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

struct text text_trimmed(struct text text)
{
    while (text.size > 0 && is_blank(text.bytes[0]))
        text = (struct text){ text.bytes + 1, text.size - 1 };
    while (text.size > 0 && is_blank(text.bytes[text.size - 1]))
        text.size--;
    return text;
}

struct text text_copy(struct text text)
{
    return (struct text){ alloc_copy(text.bytes, text.size), text.size };
}

void text_free(struct text text)
{
    free((char *)text.bytes);
}
