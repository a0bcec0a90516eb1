/* SPDX-License-Identifier: MIT */
/* The worked examples of schemas/stream.md, read from the document itself. In their fenced code blocks each line is
 * bytes in hexadecimal, two or more blanks, and words; a line without words, or without bytes, is fine. */
#include "formats/codec/codec_group.h"
#include "formats/codec/codec_ungroup.h"
#include "formats/stream/stream_fields.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What section 6 tells. */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .pyreel_version = T("0.1"),
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
    { EVENT_PROCESS, .process = { 1, 71, 0, 0x030f02f0, T("/bin/python3"), T("python3 a.py"), T("/w"), 0, T(""), 0, 0,
                                  T(""), T(""), 0 } },
    { EVENT_THREAD, .thread = { 1, 1, 71, true, 0, 0, T("python3"), 0 } },
    STRING(1, "<module>"),
    STRING(2, "a.py"),
    FUNCTION(1, 1, 2, 1),
    { EVENT_FRAME, .frame = { 1, 1, 3, 3, 0, 3, 0, 0, 0, 0, 0 } },
    SAMPLE(10 * MS, 1, 0, 1),
    TICK(10 * MS),
    SAME(20 * MS, 1, 1),
    TICK(20 * MS),
    STRING(3, "f"),
    FUNCTION(2, 3, 2, 1),
    { EVENT_FRAME, .frame = { 2, 2, 1, 1, 9, 13, 0, 0, 0, 0, 0 } },
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

/* The fenced code block `number`, from 0, behind a heading. The caller frees *text. */
static const char *find_fence(char **text, const char *heading, unsigned number)
{
    char line[200];
    *text = document();
    snprintf(line, sizeof(line), "\n%s\n", heading);
    const char *at = strstr(*text, line);
    if (!at)
        fail_msg("there is no heading: %s", heading);
    for (unsigned fences = 0; (at = strstr(at + 1, "\n```")); fences++)
        if (fences == 2 * number)
            return strchr(at + 1, '\n') + 1;
    fail_msg("there are not so many code blocks: %s", heading);
    return NULL;
}

static const char *next_line(const char *line)
{
    line = strchr(line, '\n') + 1;
    return *line && strncmp(line, "```", 3) != 0 ? line : NULL;
}

static struct bytes example(const char *heading, unsigned number)
{
    char *text;
    struct bytes bytes = { 0 };
    for (const char *line = find_fence(&text, heading, number); line; line = next_line(line))
        take_hex(&bytes, line);
    free(text);
    if (bytes.size == 0)
        fail_msg("there are no bytes: %s", heading);
    return bytes;
}

/* ---- a recording ---- */

#define RECORDING "## 6. A worked example"

static void the_document_says_what_it_tells(void **state)
{
    (void)state;
    struct bytes bytes = example(RECORDING, 0);
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
    struct bytes documented = example(RECORDING, 0), written = stream_of(story, countof(story), CODEC_PLAIN);
    assert_int_equal(written.size, documented.size);
    assert_memory_equal(written.at, documented.at, documented.size);
    bytes_free(&documented);
    bytes_free(&written);
}

/* ---- codecs ---- */

#define PAYLOAD "### A worked example"
#define GROUPED "### The example, grouped"

static void assert_same(struct bytes *ours, struct bytes *wanted)
{
    assert_int_equal(ours->size, wanted->size);
    assert_memory_equal(ours->at, wanted->at, wanted->size);
    bytes_free(ours);
    bytes_free(wanted);
}

/* What the payload of the EVENTS block holds, behind its base, in a plain stream; the caller frees it. */
static struct bytes definitions(void)
{
    static const struct event known[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = MS } },
        PROCESS(1, 7, "/"),
        THREAD(1, 1, 7, "a"),
        STRING(1, "f"),
        STRING(2, "e"),
        STRING(3, "a.py"),
        FUNCTION(1, 1, 3, 1),
        FRAME(1, 1, 1),
        FRAME(2, 1, 2),
        FRAME(3, 1, 3),
        { EVENT_END, .end = { .reason = END_SIGNAL } },
    };
    struct bytes file = stream_of(known, countof(known), CODEC_PLAIN), payload = { 0 };
    struct block_reader reader;
    struct block block;
    const int fd = memory_file(file.at, file.size);
    block_reader_open(&reader, fd);
    assert_true(block_read_magic(&reader, NULL));
    assert_int_equal(block_read(&reader, &block, NULL), BLOCK_FOUND);
    assert_int_equal(block_read(&reader, &block, NULL), BLOCK_FOUND);
    put_bytes(&payload, block.payload.at, cursor_left(&block.payload));
    block_reader_close(&reader);
    close(fd);
    bytes_free(&file);
    return payload;
}

/* The payload of the example is one that a recording may have: its records, behind the definitions of what they name,
 * give the samples that the document tells of. */
static void the_payload_keeps_the_rules(void **state)
{
    (void)state;
    struct bytes header = { 0 }, events = definitions(), payload = example(PAYLOAD, 0);
    struct playback playback = { 0 };
    stream_fields_put_number(&header, HEADER_VERSION, STREAM_VERSION);
    stream_fields_put_number(&header, 8, 10 * MS);
    stream_fields_put_number(&header, 9, MS);
    stream_fields_put_number(&header, HEADER_RECORDING_ID,
                             block_read_recording_id(BLOCK_EVENTS, cursor_of(events.at, events.size)));
    assert_int_equal(payload.at[0], 0);
    put_bytes(&events, payload.at + 1, payload.size - 1);
    struct bytes file = stream_of_payloads(&header, events.at, events.size);
    playback_read(&playback, file.at, file.size);
    assert_int_equal(playback.reader.blocks.damage.blocks, 0);
    assert_same_lines(
        journal_ticks(&playback.journal),
        strdup("10000000 thread 1 status 42 cpu 9000000; f (a.py:1); f (a.py:2); f (a.py:3)\n"
               "10000000 tick\n"
               "20000000 thread 1 status 42 cpu 10000000; f (a.py:1); f (a.py:2); f (a.py:3)\n"
               "20000000 tick\n"
               "30000000 thread 1 status 42 cpu 10000000; f (a.py:1); f (a.py:2); f (a.py:3)\n"
               "30000000 tick\n"
               "41000000 thread 1 status 42 cpu 11000000; f (a.py:1); f (a.py:2); f (a.py:2); f (a.py:3)\n"
               "41000000 tick\n"
               "50000000 thread 1 status 42 cpu 9000000; f (a.py:1); f (a.py:2); f (a.py:2); f (a.py:2); "
               "f (a.py:2); f (a.py:2); f (a.py:2); f (a.py:2); f (a.py:2); f (a.py:2)\n"
               "50000000 tick\n"));
    playback_free(&playback);
    bytes_free(&file);
    bytes_free(&header);
    bytes_free(&events);
    bytes_free(&payload);
}

static void the_grouped_example_is_what_it_says(void **state)
{
    (void)state;
    struct grouping grouping = { 0 };
    struct bytes payload = example(PAYLOAD, 0), documented = example(GROUPED, 0), written = { 0 }, read = { 0 };
    assert_true(codec_ungroup_payload(&grouping, documented.at, documented.size, payload.size, &read));
    assert_true(codec_group_payload(&grouping, &payload, &written));
    assert_same(&written, &documented);
    assert_same(&read, &payload);
    codec_group_free(&grouping);
}

TEST_FILE(stream_example)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_says_what_it_tells),
        cmocka_unit_test(the_writer_writes_the_document),
        cmocka_unit_test(the_payload_keeps_the_rules),
        cmocka_unit_test(the_grouped_example_is_what_it_says),
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
