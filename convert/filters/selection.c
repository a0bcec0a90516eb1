/* SPDX-License-Identifier: MIT */
#include "convert/filters/selection.h"

#include "formats/base/alloc.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_LIMIT 1e9

bool selection_is_partial(const struct selection *selection)
{
    return selection->threads || selection->from_ns || selection->to_ns;
}

bool selection_has_time(const struct selection *selection, uint64_t time_ns)
{
    return time_ns >= selection->from_ns && (selection->to_ns == 0 || time_ns < selection->to_ns);
}

/* Whether a thread's name matches a word: the word is the name, or a pattern such as `worker*`. */
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

/* Whether a word of --threads means this thread, by number or by name. Blanks around the word are ignored. */
static bool is_meant(struct text word, const struct thread *thread, struct text name)
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
    return strtoul(digits, &end, 10) == thread->tid && *end == '\0';
}

bool selection_has_thread(const struct selection *selection, const struct tables *tables, uint32_t number)
{
    if (!selection->threads)
        return true;
    const struct thread *thread = &tables->threads[number].thread;
    const struct text name = tables_thread_name(tables, number);
    for (const char *word = selection->threads; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (is_meant((struct text){ word, strcspn(word, ",") }, thread, name))
            return true;
    }
    return false;
}

bool selection_parse_seconds(const char *text, uint64_t *time_ns)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= SECONDS_LIMIT))
        return false;
    *time_ns = (uint64_t)(seconds * 1e9 + 0.5);
    return true;
}
