/* SPDX-License-Identifier: MIT */
/* Finds the function that a user names. */
#include "formats/report/report_internal.h"

#include "formats/base/alloc.h"
#include "formats/base/output.h"
#include "formats/terminal/printable.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES_MOST 8 /* that a message names */

struct report_find_search {
    const struct entries *entries;
    const char *wanted;
    struct text name; /* what is wanted, or its part before the line */
    uint32_t line;    /* 0: no line is wanted */
    regex_t expression;
    bool is_expression;
};

/* ---- ways to name a function ---- */

static bool has_name(struct report_find_search *search, uint32_t entry)
{
    return text_equal(entries_code(search->entries, entry)->name, text_of(search->wanted));
}

/* The end of a name: run names Worker.run and main.<locals>.run. */
static bool has_end_of_name(struct report_find_search *search, uint32_t entry)
{
    const struct text name = entries_code(search->entries, entry)->name, wanted = text_of(search->wanted);
    return name.size > wanted.size && text_ends(name, wanted) && name.bytes[name.size - wanted.size - 1] == '.';
}

/* Whether the path is the wanted one, or ends in it: tools/make.py names /srv/tools/make.py. */
static bool path_is_file(struct text path, struct text wanted)
{
    return wanted.size && (text_equal(path, wanted) || (path.size > wanted.size && text_ends(path, wanted) &&
                                                        path.bytes[path.size - wanted.size - 1] == '/'));
}

/* The last function of the file that begins at the wanted line or above: app.py:12 names work, which begins at 9. */
static bool has_line(struct report_find_search *search, uint32_t entry)
{
    const struct entries *entries = search->entries;
    const struct shown_code *code = entries_code(entries, entry);
    if (!search->line || !path_is_file(code->path, search->name) || code->line > search->line)
        return false;
    for (uint32_t i = 1; i < entries->count; i++) {
        const struct shown_code *other = entries_code(entries, i);
        if (other->line > code->line && other->line <= search->line && text_equal(other->path, code->path))
            return false;
    }
    return true;
}

static bool matches(struct report_find_search *search, uint32_t entry)
{
    return search->is_expression && frame_filter_matches(&search->expression, search->entries->texts.texts[entry]);
}

static bool (*const ways[])(struct report_find_search *search, uint32_t entry) = { has_name, has_line, has_end_of_name,
                                                                                   matches };

/* ---- the search ---- */

/* Of functions of one name, the one of the user's own code is meant, if there is one. Returns the number of functions
 * that remain, the first ones. */
static size_t prefer_own(const struct entries *entries, uint32_t *found, size_t count)
{
    size_t own = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        if (entries_code(entries, found[i])->kind == CODE_PROGRAM) {
            own++;
            at = i;
        }
    if (own != 1)
        return count;
    found[0] = found[at];
    return 1;
}

static void search_begin(struct report_find_search *search, const struct entries *entries, const char *wanted)
{
    const char *colon = strrchr(wanted, ':');
    *search = (struct report_find_search){ .entries = entries, .wanted = wanted, .name = text_of(wanted) };
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        const unsigned long line = strtoul(colon + 1, NULL, 10);
        search->line = line < UINT32_MAX ? (uint32_t)line : UINT32_MAX;
        search->name.size = (size_t)(colon - wanted);
    }
    search->is_expression = *wanted && regcomp(&search->expression, wanted, REG_EXTENDED | REG_NOSUB) == 0;
}

static void search_end(struct report_find_search *search)
{
    if (search->is_expression)
        regfree(&search->expression);
}

static void put_candidate(struct bytes *to, const struct entries *entries, uint32_t entry)
{
    const struct shown_code *code = entries_code(entries, entry);
    put_printable(to, code->name, false);
    if (!code->file.size)
        return;
    put_bytes(to, " (", 2);
    put_printable(to, code->file, false);
    put_bytes(to, ":", 1);
    to->size += output_put_digits(bytes_reserve(to, DIGITS_MOST), code->line);
    put_bytes(to, ")", 1);
}

static bool say_candidates(const struct report_find_search *search, const char *option, const uint32_t *found,
                           size_t count, struct fault *why)
{
    struct bytes list = { 0 };
    for (size_t i = 0; i < count && i < CANDIDATES_MOST; i++) {
        put_bytes(&list, ", ", i ? 2 : 0);
        put_candidate(&list, search->entries, found[i]);
    }
    if (count > CANDIDATES_MOST)
        put_bytes(&list, ", ...", 5);
    fault(why, "%s %s names %zu functions; name one by its whole name or as file:line: %.*s", option, search->wanted,
          count, (int)list.size, (const char *)list.at);
    bytes_free(&list);
    return false;
}

bool report_find_entry(const struct entries *entries, const char *option, const char *wanted, uint32_t *entry,
                       struct fault *why)
{
    struct report_find_search search;
    uint32_t *found = alloc_zeroed(entries->count + 1, sizeof(*found));
    size_t count = 0;
    search_begin(&search, entries, wanted);
    for (size_t way = 0; way < countof(ways) && count == 0; way++)
        for (uint32_t i = 1; i < entries->count; i++)
            if (ways[way](&search, i))
                found[count++] = i;
    count = prefer_own(entries, found, count);
    *entry = found[0];
    const bool good = count == 1;
    if (count == 0)
        fault(why, "%s %s: the recording has no such function%s; pyreel-report --top 50 lists functions", option,
              wanted, strcmp(option, "--annotate") == 0 ? " or file" : "");
    else if (!good)
        say_candidates(&search, option, found, count, why);
    search_end(&search);
    free(found);
    return good;
}
