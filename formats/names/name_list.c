/* SPDX-License-Identifier: MIT */
#include "formats/names/name_list.h"

#include "formats/base/alloc.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Whether a name matches a word: the word is the name, or a pattern such as `worker*`. */
static bool matches_name(struct text word, struct text name)
{
    if (text_equal(word, name))
        return true;
    char *pattern = alloc_copy(word.bytes, word.size), *subject = alloc_copy(name.bytes, name.size);
    const bool matches = fnmatch(pattern, subject, 0) == 0;
    free(pattern);
    free(subject);
    return matches;
}

static bool is_meant(struct text word, struct text name, uint64_t number)
{
    while (word.size > 0 && *word.bytes == ' ')
        word = (struct text){ word.bytes + 1, word.size - 1 };
    while (word.size > 0 && word.bytes[word.size - 1] == ' ')
        word.size--;
    if (word.size > 0 && matches_name(word, name))
        return true;
    char digits[16] = "", *end;
    if (word.size == 0 || word.size >= sizeof(digits) || *word.bytes < '0' || *word.bytes > '9')
        return false;
    memcpy(digits, word.bytes, word.size);
    return strtoul(digits, &end, 10) == number && *end == '\0';
}

bool name_list_has(const char *list, struct text name, uint64_t number)
{
    for (struct text word; text_take_word(&list, &word);)
        if (is_meant(word, name, number))
            return true;
    return false;
}
