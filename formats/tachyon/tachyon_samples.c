/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon_samples.h"

#include "formats/base/alloc.h"
#include "formats/tachyon/tachyon_input.h"

#include <inttypes.h>
#include <stdlib.h>

#define THREADS_LIMIT (1u << 20)
#define TIME_LIMIT_US ((uint64_t)1 << 50) /* limit of a time since the start: 35 years */
#define STACKS_LIMIT  (UINT32_MAX - 1)
#define HEAD_SIZE     13 /* start of a record: thread, interpreter, kind */
#define HEAD_MOST     64 /* bytes of a record before its frames, at most: three more numbers and a status */
#define TAKEN_FRAMES  TACHYON_DEPTH

struct tachyon_samples_decoding {
    struct tachyon_samples *samples;
    const struct tachyon_header *header;
    const struct tachyon_tables *tables;
    struct tachyon_input feed;
    struct intern keys; /* finds a thread by its number and interpreter */
    uint64_t read;      /* samples read so far */
    uint32_t frames[TAKEN_FRAMES];
    struct fault *why;
};

static bool tachyon_samples_damaged(struct tachyon_samples_decoding *d, const char *what)
{
    if (d->feed.failure.text[0])
        return fault(d->why, "%s", d->feed.failure.text);
    return fault(d->why, "its samples are damaged: %s, after %" PRIu64 " of %" PRIu64 " samples", what, d->read,
                 d->header->samples);
}

/* ---- threads ---- */

/* The thread of a record, found by its number and its interpreter. NULL: the file has more threads than its header
 * says. */
static struct tachyon_thread *tachyon_samples_take_thread(struct tachyon_samples_decoding *d)
{
    struct {
        uint64_t tid;
        uint64_t interpreter;
    } key = { 0 };
    key.tid = tachyon_take_u64(&d->feed.from, d->header->big);
    key.interpreter = tachyon_take_u32(&d->feed.from, d->header->big);
    bool added;
    struct tachyon_samples *samples = d->samples;
    const uint32_t number = intern_number(&d->keys, &key, sizeof(key), &added);
    if (!added)
        return &samples->threads[number - 1];
    if (number > d->header->threads || number > THREADS_LIMIT)
        return NULL;
    samples->threads = alloc_grow(samples->threads, &samples->threads_room, number, sizeof(*samples->threads));
    samples->threads_count = number;
    struct tachyon_thread *thread = &samples->threads[number - 1];
    thread->tid = key.tid;
    thread->interpreter = (uint32_t)key.interpreter;
    thread->stacks = alloc_grow(thread->stacks, &thread->stacks_room, 1, sizeof(*thread->stacks));
    return thread;
}

/* ---- stacks ---- */

static uint32_t tachyon_samples_fold(struct tachyon_samples *samples, uint32_t caller, uint32_t frame)
{
    const uint32_t known = stack_index_find(&samples->stack_index, samples->stacks, caller, frame);
    if (known)
        return known;
    const uint32_t number = ++samples->stacks_count;
    stack_index_add(&samples->stack_index, &samples->stacks, &samples->stacks_room, number,
                    (struct stack){ caller, frame });
    samples->depths = alloc_grow(samples->depths, &samples->depths_room, (size_t)number + 1, sizeof(*samples->depths));
    samples->depths[number] = samples->depths[caller] + 1;
    return number;
}

/* Takes `count` frames, leaf first, and pushes them on the `keep` frames nearest the root of the thread's stack. */
static bool push_frames(struct tachyon_samples_decoding *d, struct tachyon_thread *thread, uint32_t keep,
                        uint32_t count)
{
    if (keep > thread->depth || count > TAKEN_FRAMES || keep + count > TACHYON_DEPTH)
        return tachyon_samples_damaged(d, "an impossible stack");
    for (uint32_t i = count; i-- > 0;) {
        tachyon_input_has(&d->feed, NUMBER_MOST);
        const uint64_t index = take_number(&d->feed.from);
        if (d->feed.from.bad || index >= d->tables->frames)
            return tachyon_samples_damaged(d, "a frame that is not defined");
        d->frames[i] = (uint32_t)index + 1;
    }
    if (d->samples->stacks_count > STACKS_LIMIT - count)
        return fault(d->why, "it has more distinct stacks than this program can count");
    thread->depth = keep + count;
    thread->stacks = alloc_grow(thread->stacks, &thread->stacks_room, (size_t)thread->depth + 1,
                                sizeof(*thread->stacks));
    uint32_t stack = thread->stacks[keep];
    for (uint32_t i = 0; i < count; i++) {
        if (!d->tables->hidden[d->frames[i]])
            stack = tachyon_samples_fold(d->samples, stack, d->frames[i]);
        thread->stacks[keep + 1 + i] = stack;
    }
    return true;
}

/* ---- records ---- */

/* Stores a sample. A stack with only hidden frames is no sample of the program and is dropped. A stack without any
 * frames is the sample of a thread without frames. */
static bool tachyon_samples_put_sample(struct tachyon_samples_decoding *d, struct tachyon_thread *thread,
                                       uint64_t step_us, uint8_t status)
{
    if (d->feed.from.bad || step_us > TIME_LIMIT_US - thread->last_us)
        return tachyon_samples_damaged(d, "an impossible time");
    if (d->read == d->header->samples)
        return tachyon_samples_damaged(d, "there are more samples than the header states");
    d->read++;
    thread->last_us += step_us;
    thread->main |= (status & TACHYON_MAIN_THREAD) != 0;
    const uint32_t stack = thread->stacks[thread->depth];
    if (stack == 0 && thread->depth > 0)
        return true;
    struct spool *spool = &d->samples->spool;
    const uint64_t at = thread->samples.count;
    if (at == 0)
        thread->first_us = thread->last_us;
    if (at == 0 || thread->states.last.stack != status)
        spool_add(spool, &thread->states, (struct spool_sample){ at, status });
    spool_add(spool, &thread->samples, (struct spool_sample){ thread->last_us, stack });
    d->samples->count++;
    return spool->failure.text[0] == '\0' || fault(d->why, "%s", spool->failure.text);
}

static uint8_t take_byte(struct cursor *from)
{
    const struct cursor part = take_part(from, 1);
    return part.bad ? 0 : *part.at;
}

static bool read_repeat(struct tachyon_samples_decoding *d, struct tachyon_thread *thread)
{
    for (uint64_t left = take_number(&d->feed.from); left > 0; left--) {
        tachyon_input_has(&d->feed, NUMBER_MOST + 1);
        const uint64_t step_us = take_number(&d->feed.from);
        const uint8_t status = take_byte(&d->feed.from);
        if (!tachyon_samples_put_sample(d, thread, step_us, status))
            return false;
    }
    return !d->feed.from.bad || tachyon_samples_damaged(d, "a record is cut off");
}

static bool tachyon_samples_read_stack(struct tachyon_samples_decoding *d, struct tachyon_thread *thread,
                                       enum tachyon_record kind)
{
    struct cursor *from = &d->feed.from;
    const uint64_t step_us = take_number(from);
    const uint8_t status = take_byte(from);
    const uint32_t kept_or_popped = kind == TACHYON_FULL ? 0 : take_number32(from);
    const uint32_t pushed = take_number32(from);
    if (from->bad)
        return tachyon_samples_damaged(d, "a record is cut off");
    if (kind == TACHYON_POP_PUSH && kept_or_popped > thread->depth)
        return tachyon_samples_damaged(d, "an impossible stack");
    const uint32_t keep = kind == TACHYON_POP_PUSH ? thread->depth - kept_or_popped : kept_or_popped;
    return push_frames(d, thread, keep, pushed) && tachyon_samples_put_sample(d, thread, step_us, status);
}

static bool tachyon_samples_read_record(struct tachyon_samples_decoding *d)
{
    tachyon_input_has(&d->feed, HEAD_MOST);
    if (d->feed.failure.text[0] || cursor_left(&d->feed.from) < HEAD_SIZE)
        return tachyon_samples_damaged(d, "a record is cut off");
    struct tachyon_thread *thread = tachyon_samples_take_thread(d);
    if (!thread)
        return tachyon_samples_damaged(d, "there are more threads than the header states");
    const uint8_t kind = take_byte(&d->feed.from);
    if (kind == TACHYON_REPEAT)
        return read_repeat(d, thread);
    if (kind <= TACHYON_POP_PUSH)
        return tachyon_samples_read_stack(d, thread, kind);
    return tachyon_samples_damaged(d, "a record of an unknown kind");
}

static bool tachyon_samples_read_all(struct tachyon_samples_decoding *d)
{
    while (tachyon_input_has(&d->feed, 1))
        if (!tachyon_samples_read_record(d))
            return false;
    if (d->feed.failure.text[0])
        return tachyon_samples_damaged(d, "");
    return d->read == d->header->samples || tachyon_samples_damaged(d, "they end too early");
}

bool tachyon_samples_read(struct tachyon_samples *samples, int fd, const struct tachyon_header *header,
                          const struct tachyon_tables *tables, struct fault *why)
{
    struct tachyon_samples_decoding decoding = { .samples = samples, .header = header, .tables = tables, .why = why };
    samples->depths = alloc_grow(samples->depths, &samples->depths_room, 1, sizeof(*samples->depths));
    tachyon_input_open(&decoding.feed, fd, TACHYON_HEADER, header->strings_at, header->codec == TACHYON_ZSTD);
    const bool good = tachyon_samples_read_all(&decoding);
    samples->plain_bytes = decoding.feed.given;
    tachyon_input_close(&decoding.feed);
    intern_free(&decoding.keys);
    return good;
}

void tachyon_samples_free(struct tachyon_samples *samples)
{
    for (uint32_t i = 0; i < samples->threads_count; i++) {
        spool_drop(&samples->threads[i].samples);
        spool_drop(&samples->threads[i].states);
        free(samples->threads[i].stacks);
    }
    free(samples->threads);
    free(samples->stacks);
    free(samples->depths);
    id_index_free(&samples->stack_index);
    spool_close(&samples->spool);
    *samples = (struct tachyon_samples){ 0 };
}
