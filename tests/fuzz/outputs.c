/* SPDX-License-Identifier: MIT */
/* The bytes of several recordings → the main of a program that shows them → what the program wrote, which has to be
 * whole. The first byte says which program, and the next three which options are given, a bit for each row of its list.
 * Then come the recordings (inputs.h). */
#include "formats/base/alloc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"

#include <getopt.h>
#include <jansson.h>
#include <string.h>
#include <zlib.h>

int report_main(int argc, char **argv);
int flame_main(int argc, char **argv);
int diff_main(int argc, char **argv);
int otlp_main(int argc, char **argv);
int speedscope_main(int argc, char **argv);

#define OPTIONS_MOST 24

/* ---- what a program writes ---- */

/* A whole file. The caller frees the text, which ends with a 0. */
static char *read_whole(int fd, size_t *size)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t got;
    *size = 0;
    require(lseek(fd, 0, SEEK_SET) == 0);
    do {
        text = alloc_grow(text, &room, *size + 65536, 1);
        got = read(fd, text + *size, 65535);
        require(got >= 0);
        *size += (size_t)got;
    } while (got > 0);
    text[*size] = '\0';
    return text;
}

static void check_json(const char *text, size_t size)
{
    json_t *value = json_loadb(text, size, JSON_DISABLE_EOF_CHECK, NULL);
    require(value != NULL);
    json_decref(value);
}

static size_t decode_base64(const char *text, size_t size, unsigned char *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0;
    require(size % 4 == 0);
    for (size_t at = 0; at < size; at += 4) {
        uint32_t three = 0;
        size_t padding = 0;
        for (size_t i = 0; i < 4; i++) {
            const char *digit = text[at + i] == '=' ? NULL : strchr(digits, text[at + i]);
            require(digit || (text[at + i] == '=' && at + 4 == size && i >= 2));
            padding += !digit;
            three = three << 6 | (digit ? (uint32_t)(digit - digits) : 0);
        }
        for (size_t i = 0; i < 3 - padding; i++)
            bytes[count++] = (unsigned char)(three >> (16 - 8 * i));
    }
    return count;
}

/* All columns of a table are as long as each other. */
static size_t rows_of(const json_t *data, const char *table, const char *const *columns, size_t count)
{
    const json_t *rows = json_object_get(data, table);
    const size_t length = json_array_size(json_object_get(rows, columns[0]));
    for (size_t i = 0; i < count; i++) {
        const json_t *column = json_object_get(rows, columns[i]);
        require(json_is_array(column) && json_array_size(column) == length);
    }
    return length;
}

static void check_indexes(const json_t *data, const char *table, const char *column, size_t limit)
{
    const json_t *numbers = json_object_get(json_object_get(data, table), column), *number;
    size_t i;
    json_array_foreach(numbers, i, number)
        require(json_integer_value(number) >= 0 && json_integer_value(number) < (json_int_t)limit);
}

/* What the page relies on (page/data.js): else the page refuses the data. */
static void check_data(const json_t *data)
{
    static const char *const functions[] = { "name", "file", "path", "line", "kind" };
    static const char *const frames[] = { "function", "line" }, *const nodes[] = { "parent", "group", "frame" };
    const size_t strings = json_array_size(json_object_get(data, "strings"));
    const size_t functions_count = rows_of(data, "functions", functions, countof(functions));
    const size_t frames_count = rows_of(data, "frames", frames, countof(frames));
    const size_t nodes_count = rows_of(data, "nodes", nodes, countof(nodes));
    for (size_t i = 0; i < 3; i++)
        check_indexes(data, "functions", functions[i], strings);
    check_indexes(data, "functions", "line", (size_t)UINT32_MAX + 1);
    check_indexes(data, "functions", "kind", json_array_size(json_object_get(data, "kinds")));
    check_indexes(data, "frames", "function", functions_count);
    check_indexes(data, "frames", "line", (size_t)UINT32_MAX + 1);
    check_indexes(data, "nodes", "parent", nodes_count + 1);
    check_indexes(data, "nodes", "group", json_array_size(json_object_get(data, "groups")));
    check_indexes(data, "nodes", "frame", frames_count);
    const json_t *weights = json_object_get(data, "weights"), *weight;
    size_t i, known = 0;
    json_array_foreach(weights, i, weight) known += json_is_true(json_object_get(weight, "known"));
    const json_t *selves = json_object_get(json_object_get(data, "nodes"), "self"), *self;
    const char *name;
    require(known > 0 && json_object_size(selves) == known);
    json_object_foreach((json_t *)selves, name, self) require(json_array_size(self) == nodes_count);
}

static void check_page(const char *text, size_t size)
{
    static const char mark[] = "id=\"data\">\n";
    const char *begin = memmem(text, size, mark, strlen(mark));
    require(begin != NULL);
    begin += strlen(mark);
    const char *end = strchr(begin, '\n');
    require(end != NULL);
    unsigned char *packed = alloc_zeroed((size_t)(end - begin) + 1, 1), *plain = NULL;
    z_stream gzip = { .next_in = packed, .avail_in = (unsigned)decode_base64(begin, (size_t)(end - begin), packed) };
    size_t room = 0, count = 0;
    require(inflateInit2(&gzip, 15 + 16) == Z_OK);
    for (int state = Z_OK; state != Z_STREAM_END; count = gzip.total_out) {
        plain = alloc_grow(plain, &room, count + 65536, 1);
        gzip.next_out = plain + count;
        gzip.avail_out = 65536;
        state = inflate(&gzip, Z_NO_FLUSH);
        require(state == Z_OK || state == Z_STREAM_END);
    }
    inflateEnd(&gzip);
    json_t *data = json_loadb((const char *)plain, count, 0, NULL);
    require(data != NULL);
    check_data(data);
    json_decref(data);
    free(plain);
    free(packed);
}

/* ---- programs ---- */

struct program {
    const char *name;
    int (*main)(int argc, char **argv);
    void (*check)(const char *text, size_t size); /* of an output without options that choose another one */
    const char *options[OPTIONS_MOST];
};

static const struct program programs[] = {
    { "pyreel-report", report_main, NULL, { "--by=line",    "--by=file",     "--by=module",  "--by=thread",
                                            "--by=task",    "--by=opcode",   "--sort=total", "--top=3",
                                            "--callers=a",  "--callees=.",   "--tree",       "--min=0",
                                            "--annotate=.", "--weight=wall", "--weight=gil", "--ids",
                                            "--full-paths", "--json",        "--markdown",   "--jsonl",
                                            "--pstats",     "--fold=stdlib" } },
    { "pyreel-flame",
      flame_main,
      check_page,
      { "--weight=wall", "--weight=samples", "--sources", "--sources=all", "--min-share=1", "--min-share=0", "--ids",
        "--no-threads", "--full-paths", "--before", "--opcodes", "--mode=cpu", "--from=0.003", "--threads=MainThread,7",
        "--hide=a", "--focus=.", "--fold=stdlib,import", "--no-gc", "--no-idle" } },
    { "pyreel-diff",
      diff_main,
      NULL,
      { "--weight=wall", "--weight=samples", "--by=line", "--by=thread", "--by=module", "--paths", "--scale=work",
        "--scale=time", "--min=0", "--confidence=50", "--fail-over=1", "--top=2", "--full-paths", "--json",
        "--markdown", "--hide=a", "--fold=import" } },
    { "pyreel-otlp",
      otlp_main,
      NULL,
      { "--json", "--aggregate", "--functions", "--columns", "--mode=cpu", "--from=0.003", "--threads=MainThread,7",
        "--processes=a,7" } },
    { "pyreel-speedscope",
      speedscope_main,
      check_json,
      { "--functions", "--full-paths", "--opcodes", "--mode=cpu", "--from=0.003", "--to=0.9", "--threads=MainThread,7",
        "--hide=a", "--focus=.", "--fold=stdlib", "--no-idle", "--no-gc" } },
};
static const struct program *program; /* the one that runs */

/* Runs the program, whose messages are kept from the terminal. */
static int run(int argc, char **argv)
{
    FILE *const terminal = stderr;
    char *messages = NULL;
    size_t size = 0;
    stderr = open_memstream(&messages, &size);
    require(stderr != NULL);
    optind = 0;
    const int code = program->main(argc, argv);
    fclose(stderr);
    stderr = terminal;
    require(code == EXIT_SUCCESS || code == 1 || size > 0);
    free(messages);
    return code;
}

/* The output is the file `fd` in the place of standard output. */
static void convert(int argc, char **argv)
{
    const int fd = memfd_create("output", MFD_CLOEXEC), standard = dup(STDOUT_FILENO);
    size_t size;
    require(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    const int code = run(argc, argv);
    fflush(stdout);
    require(dup2(standard, STDOUT_FILENO) >= 0);
    close(standard);
    char *text = read_whole(fd, &size);
    if (code == EXIT_SUCCESS && program->check)
        program->check(text, size);
    if (code == EXIT_SUCCESS)
        for (int i = 1; i < argc; i++)
            if (strcmp(argv[i], "--json") == 0)
                check_json(text, size);
    free(text);
    close(fd);
}

FUZZ_TARGET(outputs)
{
    char *argv[4 + OPTIONS_MOST + INPUTS_MOST + 1] = { NULL, (char *)"-q", (char *)"-o", (char *)"-" };
    int argc = 4, fds[INPUTS_MOST];
    const size_t count = size > 4 ? put_inputs(bytes + 4, size - 4, fds) : 0;
    if (count == 0)
        return 0;
    program = &programs[bytes[0] % countof(programs)];
    argv[0] = (char *)program->name;
    for (size_t i = 0; i < OPTIONS_MOST && program->options[i]; i++)
        if (bytes[1 + i / 8] >> i % 8 & 1)
            argv[argc++] = (char *)program->options[i];
    with_inputs(convert, argc, argv, fds, count);
    return 0;
}
