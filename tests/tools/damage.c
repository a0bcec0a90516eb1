/* SPDX-License-Identifier: MIT */
/* Damages recordings at random and reads what is left: damage [--runs N] [--seed N] [RECORDING...]
 *
 * What is told must be what was recorded, and all of it that can be: of a damaged file those samples, in their order,
 * whose own block is there whole and in its place, and all blocks that define what they name. None is another than it
 * was, none comes twice, none is missing. What was lost is counted as the document says. Beside the recordings given, a
 * made one with everything in it is damaged, and each gets blocks of the next one. A failure names its seed:
 * `damage --runs 1 --seed THAT` shows it again. */
#include "tests/tools/damage_kinds.h"
#include "tests/tools/damage_made.h"
#include "tests/tools/damage_told.h"

#include "formats/base/alloc.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ORIGINALS_MOST 16
#define DAMAGES_MOST   3       /* at once */
#define CPU_SLACK_NS   1000000 /* that the CPU time may be off, besides an interval */

struct subject {
    struct original original;
    struct told told; /* of the whole */
};

/* What the reader should find in a damaged file. */
struct expected {
    bool opened, complete;
    struct block_set taken;
    uint64_t lost_bytes, lost_blocks, duplicates;
    uint32_t left_lying; /* blocks that are whole somewhere in the file and yet not taken */
};

struct totals {
    uint64_t opened, whole, samples, lost;
};

/* ---- what to expect ---- */

/* The block of the recording that stands there from its first byte to its last; -1: none. */
static int64_t block_at(const struct original *original, const struct bytes *file, size_t at)
{
    if (file->size - at < STREAM_BLOCK_HEADER || memcmp(file->at + at, STREAM_SYNC, 4) != 0)
        return -1;
    struct cursor fields = cursor_of(file->at + at + 8, 4);
    const uint32_t block = take_u32(&fields);
    const size_t size = original_block_size(original, block);
    if (size == 0 || size > file->size - at ||
        memcmp(file->at + at, original->file.at + original->at[block], size) != 0)
        return -1;
    return block;
}

/* The blocks that are whole, in the order of the file; the rest are lost bytes. */
static uint32_t *whole_blocks(const struct original *original, const struct bytes *file, size_t *count,
                              uint64_t *lost_bytes)
{
    uint32_t *found = NULL;
    size_t room = 0;
    *count = 0;
    *lost_bytes = 0;
    for (size_t at = STREAM_MAGIC_SIZE; at < file->size;) {
        const int64_t block = block_at(original, file, at);
        if (block >= 0) {
            found = alloc_grow(found, &room, *count + 1, sizeof(*found));
            found[(*count)++] = (uint32_t)block;
        }
        const size_t step = block >= 0 ? original_block_size(original, (uint32_t)block) : 1;
        *lost_bytes += block >= 0 ? 0 : 1;
        at += step;
    }
    return found;
}

/* Blocks are read in the order of the file. A block below `next` came before, or was counted as lost. */
static void expect_blocks(struct expected *expected, const struct original *original, const uint32_t *blocks,
                          size_t count)
{
    uint32_t next = 1;
    set_add(&expected->taken, 0);
    for (size_t i = 1; i < count; i++) {
        const uint32_t block = blocks[i];
        if (block < next) {
            expected->duplicates++;
            continue;
        }
        expected->lost_blocks += block - next;
        set_add(&expected->taken, block);
        next = block + 1;
    }
    expected->complete = next == original->blocks;
}

static struct expected expect(const struct original *original, const struct bytes *file)
{
    struct expected expected = { 0 };
    size_t count;
    uint32_t *blocks = whole_blocks(original, file, &count, &expected.lost_bytes);
    const bool magic = file->size >= STREAM_MAGIC_SIZE && memcmp(file->at, STREAM_MAGIC, STREAM_MAGIC_SIZE) == 0;
    expected.opened = magic && count > 0 && blocks[0] == 0;
    if (expected.opened)
        expect_blocks(&expected, original, blocks, count);
    struct block_set lying = expected.taken;
    for (size_t i = 0; i < count && expected.opened; i++)
        if (!set_has(&lying, blocks[i])) {
            expected.left_lying++;
            set_add(&lying, blocks[i]);
        }
    free(blocks);
    return expected;
}

/* ---- is that so ---- */

static bool complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool complain(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    printf("\n");
    return false;
}

/* CPU time is that since the thread's last sample. It is not known when a block between them was lost; and where the
 * reader had worked out more than it then was told, it need not take that back afterwards. */
static bool same_cpu_time(const struct told *whole, const struct expected *expected, const struct told_sample *was,
                          const struct told_sample *is)
{
    const uint64_t off = is->cpu_ns > was->cpu_ns ? is->cpu_ns - was->cpu_ns : was->cpu_ns - is->cpu_ns;
    if (off == 0)
        return true;
    uint32_t first = 1;
    while (first < was->block && set_has(&expected->taken, first))
        first++;
    const struct recording *recording = &whole->tables.recording;
    return first < was->block &&
           (is->cpu_ns == 0 || off <= recording->interval_ns + CPU_SLACK_NS + recording->time_unit_ns);
}

static bool same_sample(const struct told *whole, const struct expected *expected, const struct told_sample *was,
                        const struct told_sample *is)
{
    const uint64_t task = set_covers(&expected->taken, &whole->sets[was->task_needs]) ? was->task : 0;
    return is->time_ns == was->time_ns && is->thread == was->thread && is->stack == was->stack &&
           is->status == was->status && is->stands_ns == was->stands_ns && is->task == task &&
           is->block == was->block && same_cpu_time(whole, expected, was, is);
}

/* The samples told are those that should be, in their order; *lost were in blocks that are there. */
static bool check_samples(const struct told *whole, const struct told *told, const struct expected *expected,
                          uint64_t *lost)
{
    size_t at = 0;
    *lost = 0;
    for (const struct told_sample *was = whole->samples; was < whole->samples + whole->samples_count; was++) {
        if (!set_has(&expected->taken, was->block))
            continue;
        if (!set_covers(&expected->taken, &whole->sets[was->needs])) {
            ++*lost;
            continue;
        }
        if (at == told->samples_count)
            return complain("the sample of thread %" PRIu32 " at %" PRIu64 " ns in block %" PRIu32 " is missing",
                            was->number, was->time_ns, was->block);
        const struct told_sample *is = &told->samples[at++];
        if (!same_sample(whole, expected, was, is))
            return complain("the sample of thread %" PRIu32 " at %" PRIu64 " ns in block %" PRIu32
                            " is told as one of thread %" PRIu32 " at %" PRIu64 " ns in block %" PRIu32
                            "%s%s%s (cpu %" PRIu64 " and %" PRIu64 ")",
                            was->number, was->time_ns, was->block, is->number, is->time_ns, is->block,
                            is->stack != was->stack ? ", with another stack" : "",
                            is->status != was->status ? ", with another status" : "",
                            is->thread != was->thread ? ", of another thread" : "", was->cpu_ns, is->cpu_ns);
    }
    if (at < told->samples_count)
        return complain("a sample of thread %" PRIu32 " at %" PRIu64 " ns never was", told->samples[at].number,
                        told->samples[at].time_ns);
    return true;
}

/* A thread has the last name that is told of it. */
static bool check_names(const struct told *whole, const struct told *told, const struct expected *expected)
{
    size_t at = 0;
    for (size_t i = 0; i < whole->names_count; i++) {
        const struct told_name *was = &whole->names[i];
        if (!set_has(&expected->taken, was->block))
            continue;
        const struct told_name *is = &told->names[at++];
        if (at > told->names_count || is->thread != was->thread || is->name != was->name)
            return complain("a name of thread %" PRIu32 " in block %" PRIu32 " is missing, or another", was->thread,
                            was->block);
    }
    return at == told->names_count || complain("a thread has a name that it never had");
}

/* The totals are those of the blocks that are there. */
static bool check_totals(const struct told *whole, const struct told *told, const struct expected *expected,
                         uint64_t lost)
{
    const struct tables *tables = &told->tables;
    struct told_block sum = { 0 };
    for (uint32_t block = 0; block < whole->blocks_room; block++) {
        if (!set_has(&expected->taken, block))
            continue;
        sum.ticks += whole->blocks[block].ticks;
        sum.missed += whole->blocks[block].missed;
        sum.failed += whole->blocks[block].failed;
    }
    if (tables->ticks != sum.ticks || tables->missed != sum.missed || tables->failed != sum.failed)
        return complain("%" PRIu64 " ticks, %" PRIu64 " missed, %" PRIu64 " failed; there are %" PRIu64 ", %" PRIu64
                        ", %" PRIu64,
                        tables->ticks, tables->missed, tables->failed, sum.ticks, sum.missed, sum.failed);
    if (tables->samples != told->samples_count || tables->lost_samples != lost)
        return complain("%" PRIu64 " samples and %" PRIu64 " lost ones; there are %zu and %" PRIu64, tables->samples,
                        tables->lost_samples, told->samples_count, lost);
    if (told->reader.complete && tables->end.samples != whole->tables.end.samples)
        return complain("the end tells of %" PRIu64 " samples", tables->end.samples);
    return true;
}

/* How many ticks of the recording were taken in the time in which one is due. */
static double ticks_each(const struct told *whole)
{
    const struct tables *tables = &whole->tables;
    const uint64_t due = tables->last_ns / tables->recording.interval_ns;
    return tables->recording.process_ticks && due ? (double)(tables->ticks + tables->missed) / (double)due : 1;
}

/* Ticks that were due between the last tick of a block that is there and the beginning of the next one that is, which a
 * block without ticks says as well. They are about those that were lost: some came late, and some were missed. */
static bool check_lost_ticks(const struct told *whole, const struct told *told, const struct expected *expected)
{
    const uint64_t interval_ns = whole->tables.recording.interval_ns;
    uint64_t due = 0, lost = 0, gap = 0, gaps = 0, last_ns = 0, end_ns = 0;
    for (uint32_t i = 1; i < whole->blocks_room; i++) {
        const struct told_block *block = &whole->blocks[i];
        const uint64_t ticks = block->ticks + block->missed;
        if (!set_has(&expected->taken, i)) {
            gap += ticks;
        } else if (!block->timeless) {
            due += (end_ns - last_ns) / interval_ns;
            lost += gap;
            gaps += gap > 0;
            gap = 0;
        }
        end_ns = block->ticks ? block->last_ns : end_ns;
        if (!block->timeless && set_has(&expected->taken, i))
            last_ns = end_ns;
    }
    if (told->reader.lost_ticks != due)
        return complain("%" PRIu64 " ticks are told as lost; %" PRIu64 " were due", told->reader.lost_ticks, due);
    const double off = fabs((double)due * ticks_each(whole) - (double)lost);
    return off <= (double)lost / 4 + (double)gaps * 2 * ticks_each(whole) ||
           complain("%" PRIu64 " ticks are told as lost; it were %" PRIu64, told->reader.lost_ticks, lost);
}

static bool check_losses(const struct told *told, const struct expected *expected)
{
    const struct damage *damage = &told->reader.blocks.damage;
    const bool right = damage->bytes == expected->lost_bytes && damage->blocks == expected->lost_blocks &&
                       damage->duplicates == expected->duplicates;
    return right || complain("lost are %" PRIu64 " bytes and %" PRIu64 " blocks, %" PRIu64
                             " duplicates; told are %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                             expected->lost_bytes, expected->lost_blocks, expected->duplicates, damage->bytes,
                             damage->blocks, damage->duplicates);
}

static bool check(const struct subject *subject, const struct told *told, const struct expected *expected,
                  struct totals *totals)
{
    uint64_t lost;
    if (told->opened != expected->opened)
        return complain("it %s", told->opened ? "can be read, though its front is damaged" : "can't be read");
    if (!told->opened)
        return true;
    if (told->refused || told->backwards || told->why.text[0])
        return complain("%s", told->backwards ? "time goes back" : told->why.text);
    if (!check_losses(told, expected) || !check_samples(&subject->told, told, expected, &lost) ||
        !check_names(&subject->told, told, expected) || !check_totals(&subject->told, told, expected, lost) ||
        !check_lost_ticks(&subject->told, told, expected))
        return false;
    if (told->reader.complete != expected->complete)
        return complain("its end is %s", told->reader.complete ? "found, and is lost" : "there, and not found");
    totals->opened++;
    totals->whole += told->samples_count == subject->told.samples_count;
    totals->samples += told->samples_count;
    totals->lost += subject->told.samples_count - told->samples_count;
    return true;
}

/* ---- runs ---- */

/* Where blocks from elsewhere come from. Those of recordings without marks can't be told apart. */
static const struct original *another(const struct subject *subjects, size_t count, size_t which)
{
    size_t other = which;
    do
        other = (other + 1) % count;
    while (subjects[other].told.reader.blocks.recording_id == subjects[which].told.reader.blocks.recording_id &&
           other != which);
    return &subjects[other].original;
}

/* Damages a recording and looks at what is left. */
static bool run(struct subject *subjects, size_t count, uint64_t seed, struct totals *totals)
{
    struct randomness random = { seed };
    const size_t which = below(&random, count);
    const struct subject *subject = &subjects[which];
    struct damaging damaging = { .original = &subject->original,
                                 .other = another(subjects, count, which),
                                 .random = &random };
    put_bytes(&damaging.file, subject->original.file.at, subject->original.file.size);
    const uint64_t damages = below(&random, 2) ? 1 : 1 + below(&random, DAMAGES_MOST);
    const struct damage_kind *kinds[DAMAGES_MOST];
    for (uint64_t i = 0; i < damages; i++) {
        kinds[i] = &damage_kinds[below(&random, damage_kinds_count)];
        kinds[i]->damage(&damaging);
    }
    const struct expected expected = expect(&subject->original, &damaging.file);
    struct told told = { .ahead = seed % 2 };
    told_read(&told, damaging.file.at, damaging.file.size);
    bool good = check(subject, &told, &expected, totals);
    /* A bad block costs what is in it: a single damage leaves no other block lying, if no block comes too early. */
    if (damages == 1 && !kinds[0]->early && expected.left_lying > 0)
        good = complain("%" PRIu32 " blocks that are whole are left lying", expected.left_lying);
    if (!good) {
        printf("seed %" PRIu64 ": %s (%zu bytes) with", seed, subject->original.name, subject->original.file.size);
        for (uint64_t i = 0; i < damages; i++)
            printf("%s %s", i ? "," : "", kinds[i]->name);
        printf("\n");
    }
    told_free(&told);
    bytes_free(&damaging.file);
    return good;
}

static struct bytes read_file(const char *path)
{
    struct bytes bytes = { 0 };
    char part[65536];
    FILE *file = fopen(path, "re");
    for (size_t got; file && (got = fread(part, 1, sizeof(part), file)) > 0;)
        put_bytes(&bytes, part, got);
    if (file)
        fclose(file);
    return bytes;
}

/* Reads the recording as it is, which must be without damage. */
static bool look_at(struct subject *subject, const char *name, struct bytes file)
{
    subject->original = (struct original){ .name = name, .file = file };
    if (!original_look(&subject->original) || subject->original.blocks > BLOCKS_MOST)
        return complain("%s is no recording of a few blocks, or one that is damaged", name);
    subject->told.whole = true;
    told_read(&subject->told, file.at, file.size);
    const struct damage *damage = &subject->told.reader.blocks.damage;
    if (!subject->told.reader.complete || damage->bytes || damage->blocks || subject->told.tables.lost_samples)
        return complain("%s is damaged already: %s", name, subject->told.why.text);
    printf("%s: %" PRIu32 " blocks, %zu bytes, %zu samples\n", name, subject->original.blocks, file.size,
           subject->told.samples_count);
    return subject->told.samples_count > 0;
}

static void put_away(struct subject *subject)
{
    bytes_free(&subject->original.file);
    free(subject->original.at);
    told_free(&subject->told);
}

static bool run_all(struct subject *subjects, size_t count, uint64_t runs, uint64_t seed)
{
    struct totals totals = { 0 };
    uint64_t wrong = 0;
    printf("%" PRIu64 " runs from seed %" PRIu64 "\n", runs, seed); /* known, too, when the reader ends us */
    for (uint64_t i = 0; i < runs && wrong < 10; i++)
        wrong += !run(subjects, count, seed + i, &totals);
    printf("%" PRIu64 " could be read, %" PRIu64 " told all; %" PRIu64 " samples told, %" PRIu64 " lost; %" PRIu64
           " wrong\n",
           totals.opened, totals.whole, totals.samples, totals.lost, wrong);
    return wrong == 0 && (runs < 100 || totals.opened > runs / 2);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "runs", required_argument, NULL, 'r' },
                                             { "seed", required_argument, NULL, 's' },
                                             { 0 } };
    struct subject *subjects = alloc_zeroed(ORIGINALS_MOST, sizeof(*subjects));
    uint64_t runs = 500, seed = (uint64_t)time(NULL) * 1000000;
    bool good = true;
    size_t count = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (option == '?')
            return 2;
        *(option == 'r' ? &runs : &seed) = strtoull(optarg, NULL, 10);
    }
    for (; optind < argc && count < ORIGINALS_MOST - 3 && good; optind++, count++)
        good = look_at(&subjects[count], argv[optind], read_file(argv[optind]));
    static const char *const made[] = { "one that is made", "another that is made", "a tree that is made" };
    for (uint32_t kind = 0; kind < countof(made) && good; kind++, count++)
        good = look_at(&subjects[count], made[kind], made_recording(kind));
    good = good && run_all(subjects, count, runs, seed);
    for (size_t i = 0; i < count; i++)
        put_away(&subjects[i]);
    free(subjects);
    return good ? 0 : 1;
}
