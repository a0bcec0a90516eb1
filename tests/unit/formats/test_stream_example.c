/* SPDX-License-Identifier: MIT */
/* The worked example of schemas/stream.md, read from the document itself. In its fenced code block each line is bytes
 * in hexadecimal, two or more blanks, and words; a line without words, or without bytes, is fine. */
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What section 6 tells. */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .format_version = 1,
                                      .pyreel_version = T("0.1"),
                                      .host = T("box"),
                                      .kernel = T("6.1"),
                                      .machine = T("x86_64"),
                                      .start_unix_ns = 1700000000000000000,
                                      .start_monotonic_ns = 5000000000,
                                      .interval_ns = 10 * MS,
                                      .time_unit_ns = 200000,
                                      .mode = T("wall"),
                                      .threads_option = T("all"),
                                      .command = T("pyreel-record a.py"),
                                      .processors = 2,
                                      .processor = T("cpu"),
                                      .memory_bytes = (uint64_t)4 << 30 } },
    { EVENT_PROCESS, .process = { 1, 71, 0, 0x030f02f0, T("/bin/python3"), T("python3 a.py"), T("/w") } },
    { EVENT_THREAD, .thread = { 1, 1, 71, true, 0, 0, T("python3"), 0 } },
    STRING(1, "<module>"),
    STRING(2, "a.py"),
    FUNCTION(1, 1, 2, 1),
    { EVENT_FRAME, .frame = { 1, 1, 3, 3, 0, 3, 0, 0 } },
    SAMPLE(10 * MS, 1, 0, 1),
    TICK(10 * MS),
    SAME(20 * MS, 1, 1),
    TICK(20 * MS),
    STRING(3, "f"),
    FUNCTION(2, 3, 2, 1),
    { EVENT_FRAME, .frame = { 2, 2, 1, 1, 9, 13, 0, 0 } },
    SAMPLE(30400000, 1, 1, 2),
    TICK(30400000),
    COUNTER("samples", 3),
    { EVENT_END, .end = { END_TARGET, 31 * MS, 3, 3, 0, 0, 0 } },
};

static char *document(void)
{
    char path[4096];
    const char *source = getenv("PYREEL_SOURCE");
    snprintf(path, sizeof(path), "%s/schemas/stream.md", source ? source : ".");
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("cannot open %s", path);
    struct bytes text = { 0 };
    char part[4096];
    for (size_t got; (got = fread(part, 1, sizeof(part), file)) > 0;)
        put_bytes(&text, part, got);
    fclose(file);
    put_bytes(&text, "", 1);
    return (char *)text.at;
}

/* Takes the bytes at the front of a line. */
static void take_hex(struct bytes *to, const char *line)
{
    unsigned byte;
    int used;
    while (isxdigit((unsigned char)line[0]) && isxdigit((unsigned char)line[1]) &&
           (line[2] == ' ' || line[2] == '\n') && sscanf(line, "%2x%n", &byte, &used) == 1) {
        put_bytes(to, &(unsigned char){ (unsigned char)byte }, 1);
        line += used;
        if (line[0] != ' ' || line[1] == ' ')
            return;
        line++;
    }
}

static struct bytes example(void)
{
    char *text = document();
    struct bytes bytes = { 0 };
    const char *section = strstr(text, "\n## 6.");
    assert_non_null(section);
    const char *line = strstr(section, "\n```");
    if (!line)
        fail_msg("section 6 has no fenced code block");
    for (line = strchr(line + 1, '\n') + 1; *line && strncmp(line, "```", 3) != 0; line = strchr(line, '\n') + 1)
        take_hex(&bytes, line);
    free(text);
    return bytes;
}

static void the_document_says_what_it_tells(void **state)
{
    (void)state;
    struct bytes bytes = example();
    struct playback playback = { 0 };
    struct journal told = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    if (!playback.opened)
        fail_msg("%zu bytes: %s", bytes.size, playback.why.text);
    assert_true(playback_whole(&playback));
    journal_tell(&told, story, countof(story));
    assert_same_lines(journal_text(&playback.journal), journal_text(&told));
    journal_free(&told);
    playback_free(&playback);
    bytes_free(&bytes);
}

static void the_writer_writes_the_document(void **state)
{
    (void)state;
    struct bytes documented = example(), written = stream_of(story, countof(story), CODEC_PLAIN);
    assert_int_equal(written.size, documented.size);
    assert_memory_equal(written.at, documented.at, documented.size);
    bytes_free(&documented);
    bytes_free(&written);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_says_what_it_tells),
        cmocka_unit_test(the_writer_writes_the_document),
    };
    if (argc == 2 && strcmp(argv[1], "--print") == 0) { /* for whoever changes the format, and then the document */
        struct bytes written = stream_of(story, countof(story), CODEC_PLAIN);
        for (size_t i = 0; i < written.size; i++)
            printf("%02X%c", written.at[i], i + 1 < written.size ? ' ' : '\n');
        bytes_free(&written);
        return 0;
    }
    return run_all(tests);
}
