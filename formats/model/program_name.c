/* SPDX-License-Identifier: MIT */
#include "formats/model/program_name.h"

#include "formats/base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program that a command line starts. */
struct program {
    struct text command; /* without its folder: "python3.15", "gunicorn" */
    enum { ITSELF, SCRIPT, MODULE, CODE, TITLE } kind;
    struct text argument; /* the script without its folder, or the module */
    struct text script;   /* the script as it was given */
};

static bool program_name_is_blank(char c)
{
    return c == ' ';
}

/* Takes the next argument from the line, without quotes. */
static struct text next_argument(struct text *line)
{
    while (line->size > 0 && program_name_is_blank(*line->bytes))
        *line = (struct text){ line->bytes + 1, line->size - 1 };
    if (line->size == 0) /* an empty line may have a NULL address */
        return (struct text){ 0 };
    const bool quoted = *line->bytes == '\'';
    const struct text from = { line->bytes + quoted, line->size - quoted };
    const char *end = from.size ? memchr(from.bytes, quoted ? '\'' : ' ', from.size) : NULL;
    const struct text argument = { from.bytes, end ? (size_t)(end - from.bytes) : from.size };
    const size_t used = argument.size + quoted + (quoted && end);
    *line = (struct text){ line->bytes + used, line->size - used };
    return argument;
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

static bool is_python(struct text name)
{
    return name.size >= 6 && memcmp(name.bytes, "python", 6) == 0;
}

/* Parses the line behind the interpreter: options, then a script, -m MODULE or -c CODE. */
static void parse_python(struct program *program, struct text line)
{
    for (struct text word = next_argument(&line); word.size > 0; word = next_argument(&line)) {
        if (word.bytes[0] != '-') {
            program->kind = SCRIPT;
            program->script = word;
            program->argument = base_name(word);
            return;
        }
        const char first = word.size > 1 ? word.bytes[1] : '-', last = word.bytes[word.size - 1];
        if (first == 'W' || first == 'X') { /* the value is in the same word or is the next argument */
            if (word.size == 2)
                next_argument(&line);
        } else if (first != '-' && (last == 'm' || last == 'c')) { /* -um json.tool is two options in one word */
            program->kind = last == 'm' ? MODULE : CODE;
            program->argument = last == 'm' ? next_argument(&line) : (struct text){ 0 };
            return;
        }
    }
}

static char *program_name_copy(struct text text)
{
    return alloc_copy(text.bytes, text.size);
}

#define QUOTE "'\\''" /* a quotation mark in quotes */

/* The title that a process has given itself, such as "dask worker [tcp://127.0.0.1:38949]": the only argument, in
 * quotes, and no path. It is returned without the outer quotes. Empty: the command is a command line. */
static struct text written_title(struct text command)
{
    const bool quoted = command.size > 2 && command.bytes[0] == '\'' && command.bytes[command.size - 1] == '\'';
    if (!quoted || command.bytes[1] == '/' || command.bytes[1] == '.')
        return (struct text){ 0 };
    const struct text title = { command.bytes + 1, command.size - 2 };
    for (size_t i = 0; i < title.size; i++) {
        if (title.bytes[i] != '\'')
            continue;
        if (title.size - i < sizeof(QUOTE) - 1 || memcmp(title.bytes + i, QUOTE, sizeof(QUOTE) - 1) != 0)
            return (struct text){ 0 }; /* the end of the argument: there are others */
        i += sizeof(QUOTE) - 2;
    }
    return title;
}

/* The title as the process wrote it. */
static char *copy_of_title(struct text title)
{
    char *copy = program_name_copy(title), *to = copy;
    for (const char *from = copy; *from; to++) {
        const bool quote = strncmp(from, QUOTE, sizeof(QUOTE) - 1) == 0;
        *to = *from;
        from += quote ? sizeof(QUOTE) - 1 : 1;
    }
    *to = '\0';
    return copy;
}

static struct program parse(struct text command)
{
    struct text line = command;
    const struct text title = written_title(command);
    if (title.size)
        return (struct program){ .kind = TITLE, .command = title };
    struct program program = { .command = base_name(next_argument(&line)) };
    if (is_python(program.command))
        parse_python(&program, line);
    return program;
}

struct text program_name_script(struct text command)
{
    return parse(command).script;
}

bool program_name_is_written(struct text command)
{
    return written_title(command).size > 0;
}

char *program_name_title(struct text command)
{
    const struct program program = parse(command);
    char *title = NULL;
    if (program.command.size == 0)
        return program_name_copy(TEXT("Python"));
    if (program.kind == SCRIPT)
        return program_name_copy(program.argument);
    if (program.kind == TITLE)
        return copy_of_title(program.command);
    if (program.kind == ITSELF)
        return program_name_copy(program.command);
    if (asprintf(&title, "%.*s -%s%.*s", (int)program.command.size, program.command.bytes,
                 program.kind == MODULE ? "m " : "c", (int)program.argument.size,
                 program.argument.size ? program.argument.bytes : "") < 0)
        return program_name_copy(program.command);
    return title;
}

struct text program_name_bare(struct text command)
{
    char *title = program_name_title(command), *quoted;
    if (program_name_is_written(command))
        title[strcspn(title, " /")] = '\0';
    const bool program = strncmp(title, "python", 6) == 0;
    if (program || !strchr(title, ' ') || asprintf(&quoted, "'%s'", title) < 0)
        return text_of(title);
    free(title);
    return text_of(quoted);
}

char *program_name(struct text command)
{
    const struct program program = parse(command);
    struct text name = program.argument.size ? program.argument : program.command;
    if (name.size == 0)
        name = TEXT("python");
    if (name.size > 3 && memcmp(name.bytes + name.size - 3, ".py", 3) == 0)
        name.size -= 3;
    if (name.size > 100)
        name.size = 100;
    char *result = program_name_copy(name);
    for (char *c = result; *c; c++) /* keep only characters that every file system allows */
        if (!isalnum((unsigned char)*c) && !strchr("._+", *c))
            *c = '_';
    return result;
}
