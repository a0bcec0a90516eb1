/* SPDX-License-Identifier: MIT */
#include "formats/gecko_parts.h"

#include "formats/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct text next_word(struct text *line)
{
    while (line->size > 0 && *line->bytes == ' ')
        *line = (struct text){ line->bytes + 1, line->size - 1 };
    const char *blank = line->size ? memchr(line->bytes, ' ', line->size) : NULL;
    const struct text word = { line->bytes, blank ? (size_t)(blank - line->bytes) : line->size };
    *line = (struct text){ line->bytes + word.size, line->size - word.size };
    return word;
}

static struct text base_name(struct text path)
{
    while (path.size > 1 && path.bytes[path.size - 1] == '/')
        path.size--;
    const char *slash = path.size ? memrchr(path.bytes, '/', path.size - 1) : NULL;
    if (!slash)
        return path;
    return (struct text){ slash + 1, path.size - (size_t)(slash + 1 - path.bytes) };
}

static bool is_interpreter(struct text name)
{
    return (name.size >= 6 && memcmp(name.bytes, "python", 6) == 0) ||
           (name.size >= 4 && memcmp(name.bytes, "pypy", 4) == 0);
}

static char *joined(struct text interpreter, const char *between, struct text what)
{
    char *title = NULL;
    if (asprintf(&title, "%.*s%s%.*s", (int)interpreter.size, interpreter.bytes, between, (int)what.size,
                 what.size ? what.bytes : "") >= 0)
        return title;
    return alloc_copy(interpreter.bytes, interpreter.size);
}

/* The title by what stands behind the interpreter: options, and then a script, -m MODULE or -c CODE. */
static char *title_of_arguments(struct text interpreter, struct text line)
{
    for (struct text word = next_word(&line); word.size > 0; word = next_word(&line)) {
        if (word.bytes[0] != '-') {
            const struct text script = base_name(word);
            return alloc_copy(script.bytes, script.size);
        }
        const char first = word.size > 1 ? word.bytes[1] : '-', last = word.bytes[word.size - 1];
        if (first == 'W' || first == 'X') { /* their value is glued to them or the next word */
            if (word.size == 2)
                next_word(&line);
        } else if (first != '-' && last == 'm') { /* -um json.tool is two options in one word */
            return joined(interpreter, " -m ", next_word(&line));
        } else if (first != '-' && last == 'c') {
            return joined(interpreter, " -c", (struct text){ 0 });
        }
    }
    return alloc_copy(interpreter.bytes, interpreter.size);
}

char *gecko_process_title(const struct process *process)
{
    struct text line = process->command;
    struct text program = base_name(next_word(&line));
    if (program.size == 0)
        program = base_name(process->executable);
    if (program.size == 0)
        program = TEXT("Python");
    if (is_interpreter(program))
        return title_of_arguments(program, line);
    return alloc_copy(program.bytes, program.size);
}
