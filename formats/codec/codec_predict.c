/* SPDX-License-Identifier: MIT */
/* Encoder and decoder use the same functions for the parts of a record (codec_records.h). The steps that take more work
 * than their bytes are limited. */
#include "formats/codec/codec_predict.h"

#include "formats/base/alloc.h"
#include "formats/codec/codec_records.h"
#include "formats/codec/predicted_contexts.h"

#include <stdlib.h>
#include <string.h>

#define REPEATED_MOST (1u << 16) /* frames of a block that come from repetitions, at most */
#define SHAPES_MASK   0x7FFFu    /* shapes of the last three records */
#define LITTLE        15         /* larger numbers are one context */

/* The shape of a record: its kind, the most frequent first. The kinds of notes follow. */
enum shape { SHAPE_STACK, SHAPE_TICK, SHAPE_REPEAT, SHAPE_ABSENT, SHAPE_FAILED, SHAPE_NOTE };

struct walk {
    struct records records;
    bool decodes;
    struct prediction *prediction;
    struct predictor *predictor;
    uint32_t shapes;                /* shapes of the last records, five bits each */
    uint32_t jitter, repeat;        /* arguments of the last TICK and the last REPEAT */
    uint64_t thread;                /* thread of the last record that names a thread */
    uint32_t repeated_left;         /* frames of the block that repetitions may still push */
    uint32_t states[GROUP_THREADS]; /* last status of each thread */
};

static uint64_t take(struct walk *w)
{
    return records_take(&w->records, w->decodes);
}

static void put(struct walk *w, uint64_t value)
{
    records_put(&w->records, w->decodes, value);
}

static uint64_t code_number(struct walk *w, enum topic topic, uint32_t context, uint64_t value)
{
    return predictor_number(w->predictor, predicted_contexts_of(topic, context), value);
}

static uint32_t little(uint64_t value)
{
    return value < LITTLE ? (uint32_t)value : LITTLE;
}

/* ---- stacks ---- */

/* Codes a thread as the difference to the thread of the record before. */
static uint64_t code_thread(struct walk *w, uint64_t thread)
{
    const uint64_t ahead = signed_to_number((int64_t)(thread - w->thread));
    w->thread += (uint64_t)number_to_signed(
        code_number(w, TOPIC_THREAD, (uint32_t)(w->thread % PREDICTED_THREADS), ahead));
    return w->thread;
}

/* Decoder: adds a frame to the frames that wait. In the payload, the number of frames comes before the frames and is
 * not known yet. */
static void put_frame(struct walk *w, uint64_t number)
{
    struct bytes *const frames = &w->prediction->frames;
    if (!w->decodes)
        return;
    put_number(frames, number);
    w->records.bad |= frames->size > (size_t)(w->records.end - w->records.to);
}

/* Codes a repetition: frames that are copies of the frames `distance` before them. Returns how many. */
static uint64_t move_round(struct walk *w, struct predicted_stack *stack)
{
    const uint64_t distance = code_number(w, TOPIC_DISTANCE, 0, take(w));
    const uint64_t length = code_number(w, TOPIC_LENGTH, 0, take(w));
    w->records.bad |= distance == 0 || distance > stack->depth || length > w->repeated_left;
    if (w->records.bad)
        return 0;
    w->repeated_left -= (uint32_t)length;
    for (uint64_t i = 0; i < length; i++)
        w->records.bad |= !predicted_stacks_push(stack, stack->frames[stack->depth - distance]);
    put_frame(w, 0);
    put_frame(w, distance);
    put_frame(w, length);
    return length;
}

/* Encoder: takes the next frame of the payload. Gives PREDICTED_ROUND for a repetition, and PREDICTED_LEAF behind the
 * last frame. */
static uint32_t take_frame(struct walk *w, bool is_one)
{
    const uint64_t frame = is_one ? take(w) : PREDICTED_LEAF;
    w->records.bad |= frame >= PREDICTED_ROUND;
    return is_one && frame == 0 ? PREDICTED_ROUND : (uint32_t)frame;
}

/* Codes frames up to the leaf. Returns their number. The encoder's payload has `count` frames. */
static uint64_t move_frames(struct walk *w, struct predicted_stack *stack, struct predicted_before before,
                            uint64_t count)
{
    w->prediction->frames.size = 0;
    uint64_t done = 0;
    while (!w->records.bad) {
        const uint32_t taken = take_frame(w, !w->decodes && done < count);
        const uint32_t frame = predicted_stacks_call(w->predictor, w->prediction->stacks, stack, before, taken);
        if (frame == PREDICTED_LEAF)
            break;
        before = (struct predicted_before){ UINT32_MAX, 0 };
        if (frame == PREDICTED_ROUND) {
            done += move_round(w, stack);
            continue;
        }
        w->records.bad |= !predicted_stacks_push(stack, frame);
        put_frame(w, frame);
        done++;
    }
    return done;
}

/* Encoder: takes from the record how many frames stay, or how many go, whichever is less. Returns how many go. */
static uint64_t take_pop(struct walk *w, uint64_t tag, uint64_t depth)
{
    const bool keeps = (tag & 7) == RECORD_SUFFIX;
    const uint64_t taken = take(w);
    const uint64_t pop = keeps ? depth - taken : taken;
    w->records.bad |= taken > depth || (pop < depth - pop) == keeps;
    return pop;
}

static void move_stack(struct records *records, uint64_t tag)
{
    struct walk *const w = (struct walk *)records;
    const uint64_t thread = tag >> 3;
    struct predicted_stack *const stack = predicted_stacks_of(w->prediction->stacks, thread);
    const uint64_t depth = stack->depth;
    uint64_t pop = w->decodes ? 0 : take_pop(w, tag, depth);
    const uint64_t count = take(w);
    if (w->records.bad)
        return;
    pop = predicted_stacks_pop(w->predictor, stack, pop);
    if (pop > depth) {
        w->records.bad = true;
        return;
    }
    const uint64_t keep = depth - pop, pushed = move_frames(w, stack, predicted_stacks_before(stack, pop), count);
    w->records.bad |= !w->decodes && pushed != count;
    put(w, thread << 3 | (pop < keep ? RECORD_POP_PUSH : RECORD_SUFFIX));
    put(w, pop < keep ? pop : keep);
    put(w, pushed);
    const struct bytes *frames = &w->prediction->frames;
    if (frames->size == 0 || !records_have_room(&w->records, frames->size))
        return;
    memcpy(w->records.to, frames->at, frames->size);
    w->records.to += frames->size;
}

/* ---- notes ---- */

/* Codes a byte bit by bit, the highest first. The contexts are the last byte before it, the last two bytes, and so on.
 */
static void move_byte(struct walk *w, uint64_t note, uint32_t *before)
{
    uint32_t after[PREDICTOR_CONTEXTS], contexts[PREDICTOR_CONTEXTS];
    for (uint32_t k = 0; k < PREDICTOR_CONTEXTS; k++) {
        const uint32_t topic = predictor_context(predicted_contexts_of(TOPIC_BYTE, (uint32_t)note), k + 1);
        after[k] = predictor_context(topic, *before & UINT32_MAX >> (24 - 8 * k));
    }
    const unsigned byte = w->decodes ? 0 : *w->records.payload.at++;
    uint32_t coded = 1;
    for (int i = 7; i >= 0; i--) {
        for (size_t k = 0; k < PREDICTOR_CONTEXTS; k++)
            contexts[k] = predictor_context(after[k], coded);
        coded = coded << 1 | predictor_bit(w->predictor, contexts, PREDICTOR_CONTEXTS, byte >> i & 1);
    }
    *before = *before << 8 | (coded & 0xFF);
    if (w->decodes && records_have_room(&w->records, 1))
        *w->records.to++ = (unsigned char)coded;
}

/* Codes a field of a note. A context of a STATUS note's fields: for the bits, the thread's previous status; for the CPU
 * time, the new status. */
static uint64_t code_field(struct records *records, uint64_t note, unsigned field, uint64_t coded)
{
    struct walk *const w = (struct walk *)records;
    uint32_t *const state = &w->states[records->last[NOTE_STATUS][0] % GROUP_THREADS];
    const bool has_state = note == NOTE_STATUS && field > 0;
    const uint32_t topic = predicted_contexts_of(TOPIC_FIELD, (uint32_t)note * GROUP_FIELDS + field);
    const uint64_t found = predictor_number(w->predictor, predictor_context(topic, has_state ? *state : 0), coded);
    if (has_state && field == 1)
        *state = little(found);
    return found;
}

static void code_behind(struct records *records, uint64_t note)
{
    struct walk *const w = (struct walk *)records;
    const uint64_t left = w->decodes ? 0 : cursor_left(&records->payload);
    const uint64_t behind = code_number(w, TOPIC_BEHIND, (uint32_t)note, left);
    uint32_t before = 0;
    for (uint64_t i = 0; i < behind && !records->bad; i++)
        move_byte(w, note, &before);
}

/* ---- records ---- */

static uint64_t shape_of(uint64_t tag)
{
    static const unsigned char shapes[8] = {
        [RECORD_TICK] = SHAPE_TICK,      [RECORD_REPEAT] = SHAPE_REPEAT, [RECORD_SUFFIX] = SHAPE_STACK,
        [RECORD_POP_PUSH] = SHAPE_STACK, [RECORD_ABSENT] = SHAPE_ABSENT, [RECORD_FAILED] = SHAPE_FAILED
    };
    return (tag & 7) == RECORD_NOTE ? SHAPE_NOTE + (tag >> 3) : shapes[tag & 7];
}

/* Codes the shape of a record, and the argument of the tag. */
static uint64_t code_tag(struct records *records, uint64_t tag)
{
    static const unsigned char kinds[] = {
        [SHAPE_STACK] = RECORD_POP_PUSH, [SHAPE_TICK] = RECORD_TICK,     [SHAPE_REPEAT] = RECORD_REPEAT,
        [SHAPE_ABSENT] = RECORD_ABSENT,  [SHAPE_FAILED] = RECORD_FAILED, [SHAPE_NOTE] = RECORD_NOTE
    };
    struct walk *const w = (struct walk *)records;
    const uint64_t shape = code_number(w, TOPIC_SHAPE, w->shapes, shape_of(tag));
    w->shapes = (w->shapes << 5 | (shape < 31 ? (uint32_t)shape : 31)) & SHAPES_MASK;
    if (records->bad)
        return 0;
    uint64_t argument = tag >> 3;
    if (shape == SHAPE_TICK) {
        argument = code_number(w, TOPIC_JITTER, w->jitter, argument);
        w->jitter = little(argument);
    } else if (shape == SHAPE_REPEAT) {
        argument = code_number(w, TOPIC_REPEAT, w->repeat, argument);
        w->repeat = little(argument);
    } else {
        argument = shape < SHAPE_NOTE ? code_thread(w, argument) : shape - SHAPE_NOTE;
    }
    records->bad |= argument > UINT64_MAX >> 3;
    return w->decodes ? argument << 3 | kinds[shape < SHAPE_NOTE ? shape : SHAPE_NOTE] : tag;
}

static uint64_t code_cause(struct records *records, uint64_t cause)
{
    return code_number((struct walk *)records, TOPIC_CAUSE, 0, cause);
}

static const struct record_codec predict_codec = {
    .tag = code_tag, .stack = move_stack, .cause = code_cause, .field = code_field, .behind = code_behind
};

/* ---- payloads ---- */

static struct walk begin(struct prediction *prediction)
{
    if (!prediction->predictor) {
        prediction->predictor = alloc_zeroed(1, sizeof(*prediction->predictor));
        predictor_prepare(prediction->predictor);
        prediction->stacks = alloc_zeroed(1, sizeof(*prediction->stacks));
    }
    predicted_stacks_begin(prediction->stacks);
    return (
        struct walk){ .prediction = prediction, .predictor = prediction->predictor, .repeated_left = REPEATED_MOST };
}

bool codec_predict_payload(struct prediction *prediction, const struct bytes *payload, struct bytes *to)
{
    if (payload->size > PREDICT_MOST)
        return false;
    const size_t before = to->size;
    struct walk w = begin(prediction);
    w.records.payload = cursor_of(payload->at, payload->size);
    predictor_write(w.predictor, to);
    code_number(&w, TOPIC_BASE, 0, take(&w));
    while (!w.records.bad && cursor_left(&w.records.payload) > 0)
        records_code(&w.records, &predict_codec, false);
    range_coder_end(&w.predictor->coder);
    if (!w.records.bad && payload->size <= (to->size - before) * PREDICT_RATIO)
        return true;
    to->size = before;
    return false;
}

bool codec_predict_undo(struct prediction *prediction, struct cursor from, size_t size, struct bytes *to)
{
    if (size == 0 || size > PREDICT_MOST || size > cursor_left(&from) * PREDICT_RATIO)
        return false;
    struct walk w = begin(prediction);
    w.decodes = true;
    w.records.to = bytes_reserve(to, size);
    w.records.end = w.records.to + size;
    predictor_read(w.predictor, from);
    put(&w, code_number(&w, TOPIC_BASE, 0, 0));
    while (!w.records.bad && w.records.to < w.records.end)
        records_code(&w.records, &predict_codec, true);
    to->size += size;
    return !w.records.bad && range_coder_read_all(&w.predictor->coder);
}

void codec_predict_free(struct prediction *prediction)
{
    free(prediction->predictor);
    if (prediction->stacks)
        predicted_stacks_free(prediction->stacks);
    free(prediction->stacks);
    bytes_free(&prediction->frames);
}
