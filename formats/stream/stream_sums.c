/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_sums.h"

#include "formats/base/alloc.h"
#include "formats/stream/stream_summary.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACKS_MOST  (1u << 20) /* distinct stacks that are counted: 20 MiB of memory */
#define THREADS_MOST (1u << 16) /* threads and tasks that are counted: some 40 MiB of memory */
#define END_MOST     256        /* bytes at the end of a file in which END begins */

/* ---- writing ---- */

static bool take(void *self, struct event *event, struct fault *why)
{
    struct stream_sums *sums = self;
    if (event->kind == EVENT_STRING)
        event->string.text = TEXT(""); /* the sums need no strings, but the tables need to know each */
    if (event->kind == EVENT_THREAD_END) {
        sums->ended = alloc_grow(sums->ended, &sums->ended_room, sums->ended_count + 1, sizeof(*sums->ended));
        sums->ended[sums->ended_count++] = event->change.number;
    }
    return tables_take(&sums->tables, event, why);
}

static struct sink sink_of(struct stream_sums *sums)
{
    return (struct sink){ .take = take, .self = sums };
}

void stream_sums_begin(struct stream_sums *sums, const struct bytes *header)
{
    const struct sink sink = sink_of(sums);
    *sums = (struct stream_sums){ .reader.gives_runs = true, .tables.sums_states = true };
    sums->kept = stream_read_header(&sums->reader, cursor_of(header->at, header->size), &sink, NULL);
}

static bool is_within_limits(const struct tables *tables)
{
    return tables_stacks(tables) <= STACKS_MOST && tables->threads_count <= THREADS_MOST && stream_summary_fits(tables);
}

void stream_sums_add(struct stream_sums *sums, const struct bytes *events)
{
    const struct sink sink = sink_of(sums);
    if (!sums->kept)
        return;
    sums->ended_count = 0;
    const bool good = stream_read_events(&sums->reader, cursor_of(events->at, events->size), &sink, NULL);
    for (uint32_t i = 0; i < sums->ended_count; i++)
        tables_forget_stack(&sums->tables, sums->ended[i]); /* each block has every stack anew */
    if (!good || sums->reader.blocks.damage.blocks > 0 || !is_within_limits(&sums->tables))
        stream_sums_drop(sums);
}

void stream_sums_drop(struct stream_sums *sums)
{
    stream_reader_close(&sums->reader);
    tables_free(&sums->tables);
    free(sums->ended);
    *sums = (struct stream_sums){ 0 };
}

/* ---- reading ---- */

/* Whether the file ends in END, and END says that there is a summary. Only a hint, which saves reading a file twice. */
static bool says_summary(int fd, off_t size)
{
    unsigned char tail[END_MOST];
    const size_t wanted = size < END_MOST ? (size_t)size : END_MOST;
    if (pread(fd, tail, wanted, size - (off_t)wanted) != (ssize_t)wanted)
        return false;
    struct block_reader blocks;
    struct block block;
    bool says = false;
    block_reader_open(&blocks, -1);
    block_reader_begin(&blocks, (struct text){ (const char *)tail, wanted });
    blocks.at_end = true;
    while (block_read(&blocks, &block, NULL) == BLOCK_FOUND)
        says = block.kind == BLOCK_END && block_read_field(block.payload, END_SUMMARY_SIZE) > 0;
    block_reader_close(&blocks);
    return says;
}

static bool is_damaged(const struct block_reader *blocks)
{
    return blocks->damage.bytes || blocks->damage.blocks || blocks->damage.duplicates;
}

/* One pass over the blocks of the file. */
struct skimming {
    struct block_reader blocks;
    struct bytes end; /* payload of END */
    struct stream_summary summary;
    struct tables tables;
};

/* Takes the blocks behind HEADER: EVENTS, one SUMMARY and one END, which is last. */
static bool take_blocks(struct skimming *skimming)
{
    struct block_reader *blocks = &skimming->blocks;
    struct block block;
    bool summed = false;
    while (skimming->end.size == 0) {
        if (block_read(blocks, &block, NULL) != BLOCK_FOUND || is_damaged(blocks))
            return false;
        if (block.kind == BLOCK_END && summed) {
            put_bytes(&skimming->end, block.payload.at, cursor_left(&block.payload));
        } else if (block.kind == BLOCK_SUMMARY && !summed && cursor_left(&block.payload) <= STREAM_SUMMARY_LIMIT) {
            summed = stream_summary_take(block.payload, &skimming->summary, &skimming->tables) &&
                     skimming->summary.headers == blocks->headers;
            if (!summed)
                return false;
        } else if (block.kind != BLOCK_EVENTS || summed) {
            return false;
        }
    }
    return block_read(blocks, &block, NULL) == BLOCK_NO_MORE && !is_damaged(blocks);
}

static bool skim_blocks(struct skimming *skimming)
{
    struct block header;
    return block_read_magic(&skimming->blocks, NULL) && block_read(&skimming->blocks, &header, NULL) == BLOCK_FOUND &&
           header.kind == BLOCK_HEADER && take_blocks(skimming);
}

static bool take_end(void *self, struct event *event, struct fault *why)
{
    return tables_take(self, event, why);
}

/* Gives END to the tables. False, and the reader is as before, when END contradicts the summary. */
static bool end_agrees(struct stream_reader *reader, struct skimming *skimming)
{
    const struct sink sink = { .take = take_end, .self = &skimming->tables };
    struct stream_reader ending = { .unit_ns = reader->unit_ns };
    const bool good = stream_read_end(&ending, cursor_of(skimming->end.at, skimming->end.size), &sink, NULL) &&
                      ending.complete && skimming->tables.end.samples == skimming->tables.samples;
    if (good) {
        reader->ended = reader->complete = true;
        reader->end_reason = ending.end_reason;
    }
    return good;
}

/* Moves the sums into the tables, which have the recording only. */
static void move_sums(struct tables *to, struct tables *from)
{
    from->recording = to->recording;
    from->has_recording = to->has_recording;
    from->sums_states = to->sums_states;
    *to = *from;
    *from = (struct tables){ 0 };
}

/* Skims the file from its first byte. The offset of `fd` is that of the first byte. */
static bool skim_file(struct stream_reader *reader, struct tables *tables)
{
    struct skimming skimming = { .summary.unit_ns = reader->unit_ns };
    block_reader_open(&skimming.blocks, reader->blocks.fd);
    skimming.blocks.skims = true;
    const bool good = skim_blocks(&skimming) && skimming.blocks.recording_id == reader->blocks.recording_id &&
                      end_agrees(reader, &skimming);
    if (good) {
        const struct block_progress progress = block_read_progress(&skimming.blocks);
        block_read_show_progress(&reader->blocks, &progress);
        move_sums(tables, &skimming.tables);
    }
    bytes_free(&skimming.end);
    tables_free(&skimming.tables);
    block_reader_close(&skimming.blocks);
    return good;
}

bool stream_sums_read(struct stream_reader *reader, struct tables *tables)
{
    const int fd = reader->blocks.fd;
    struct stat file;
    const off_t offset = lseek(fd, 0, SEEK_CUR);
    if (offset < 0 || (uint64_t)offset != reader->blocks.bytes_read || fstat(fd, &file) != 0 ||
        !S_ISREG(file.st_mode) || !says_summary(fd, file.st_size))
        return false;
    const bool good = lseek(fd, 0, SEEK_SET) == 0 && skim_file(reader, tables);
    if (!good)
        lseek(fd, offset, SEEK_SET);
    return good;
}

bool stream_sums_agree(const struct stream_reader *reader, const struct tables *tables)
{
    struct stream_summary summary = { .unit_ns = reader->unit_ns };
    struct tables said = { 0 };
    struct bytes theirs = { 0 }, ours = { 0 };
    bool agrees = true;
    if (reader->summary.size > 0 &&
        stream_summary_take(cursor_of(reader->summary.at, reader->summary.size), &summary, &said)) {
        stream_summary_put(&theirs, &summary, &said);
        stream_summary_put(&ours, &summary, tables);
        agrees = theirs.size == ours.size && memcmp(theirs.at, ours.at, ours.size) == 0;
    }
    bytes_free(&theirs);
    bytes_free(&ours);
    tables_free(&said);
    return agrees;
}
