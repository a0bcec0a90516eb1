/* SPDX-License-Identifier: MIT */
/* Encoder and decoder walk through the same records, number by number: the encoder takes each number from the payload,
 * the decoder puts it there. Each record takes at least a byte of the payload, so a walk ends. The steps that take more
 * work than their bytes are limited. */
#include "formats/codec/codec_predict.h"

#include "formats/base/alloc.h"
#include "formats/codec/codec_columns.h"
#include "formats/codec/predicted_contexts.h"

#include <stdlib.h>
#include <string.h>

#define REPEATED_MOST (1u << 16) /* frames of a block that come from repetitions, at most */
#define SHAPES_MASK   0x7FFFu    /* shapes of the last three records */
#define LITTLE        15         /* larger numbers are one context */

/* The shape of a record: its kind, the most frequent first. The kinds of notes follow. */
enum shape { SHAPE_STACK, SHAPE_TICK, SHAPE_REPEAT, SHAPE_ABSENT, SHAPE_FAILED, SHAPE_NOTE };

struct walk {
    struct prediction *prediction;
    struct predictor *predictor;
    bool reads;              /* true: decodes; false: encodes */
    struct cursor payload;   /* encoder: rest of the payload */
    unsigned char *to, *end; /* decoder: room for the rest of the payload */
    bool bad;
    uint32_t shapes;                /* shapes of the last records, five bits each */
    uint32_t jitter, repeat;        /* arguments of the last TICK and the last REPEAT */
    uint64_t thread;                /* thread of the last record that names a thread */
    uint32_t repeated_left;         /* frames of the block that repetitions may still push */
    uint32_t states[GROUP_THREADS]; /* last status of each thread */
    uint64_t last[GROUP_NOTES][GROUP_FIELDS];
    uint64_t last_of[GROUP_NOTES][GROUP_THREADS];
};

/* Encoder: takes a number from the payload. Bad if the number is coded in more bytes than necessary: decoding would
 * give fewer bytes. Decoder: returns 0. */
static uint64_t take(struct walk *w)
{
    if (w->reads)
        return 0;
    const unsigned char *before = w->payload.at;
    const uint64_t value = take_number(&w->payload);
    w->bad |= w->payload.bad || (size_t)(w->payload.at - before) != number_size(value);
    return value;
}

static bool has_room(struct walk *w, size_t size)
{
    w->bad |= size > (size_t)(w->end - w->to);
    return !w->bad;
}

/* Decoder: puts a number into the payload. */
static void put(struct walk *w, uint64_t value)
{
    if (w->reads && has_room(w, number_size(value)))
        w->to = number_write(w->to, value);
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
    w->bad |= w->thread > UINT64_MAX >> 3;
    return w->thread;
}

/* Decoder: adds a frame to the frames that wait. In the payload, the number of frames comes before the frames and is
 * not known yet. */
static void put_frame(struct walk *w, uint64_t number)
{
    struct bytes *const frames = &w->prediction->frames;
    if (!w->reads)
        return;
    put_number(frames, number);
    w->bad |= frames->size > (size_t)(w->end - w->to);
}

/* Codes a repetition: frames that are copies of the frames `distance` before them. Returns how many. */
static uint64_t move_round(struct walk *w, struct predicted_stack *stack)
{
    const uint64_t distance = code_number(w, TOPIC_DISTANCE, 0, take(w));
    const uint64_t length = code_number(w, TOPIC_LENGTH, 0, take(w));
    w->bad |= distance == 0 || distance > stack->depth || length > w->repeated_left;
    if (w->bad)
        return 0;
    w->repeated_left -= (uint32_t)length;
    for (uint64_t i = 0; i < length; i++)
        w->bad |= !predicted_stacks_push(stack, stack->frames[stack->depth - distance]);
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
    w->bad |= frame >= PREDICTED_ROUND;
    return is_one && frame == 0 ? PREDICTED_ROUND : (uint32_t)frame;
}

/* Codes frames up to the leaf. Returns their number. The encoder's payload has `count` frames. */
static uint64_t move_frames(struct walk *w, struct predicted_stack *stack, struct predicted_before before,
                            uint64_t count)
{
    w->prediction->frames.size = 0;
    uint64_t done = 0;
    while (!w->bad) {
        const uint32_t taken = take_frame(w, !w->reads && done < count);
        const uint32_t frame = predicted_stacks_call(w->predictor, w->prediction->stacks, stack, before, taken);
        if (frame == PREDICTED_LEAF)
            break;
        before = (struct predicted_before){ UINT32_MAX, 0 };
        if (frame == PREDICTED_ROUND) {
            done += move_round(w, stack);
            continue;
        }
        w->bad |= !predicted_stacks_push(stack, frame);
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
    w->bad |= taken > depth || (pop < depth - pop) == keeps;
    return pop;
}

static void move_stack(struct walk *w, uint64_t tag)
{
    const uint64_t thread = code_thread(w, tag >> 3);
    struct predicted_stack *const stack = predicted_stacks_of(w->prediction->stacks, thread);
    const uint64_t depth = stack->depth;
    uint64_t pop = w->reads ? 0 : take_pop(w, tag, depth);
    const uint64_t count = take(w);
    if (w->bad)
        return;
    pop = predicted_stacks_pop(w->predictor, stack, pop);
    if (pop > depth) {
        w->bad = true;
        return;
    }
    const uint64_t keep = depth - pop, pushed = move_frames(w, stack, predicted_stacks_before(stack, pop), count);
    w->bad |= !w->reads && pushed != count;
    put(w, thread << 3 | (pop < keep ? RECORD_POP_PUSH : RECORD_SUFFIX));
    put(w, pop < keep ? pop : keep);
    put(w, pushed);
    const struct bytes *frames = &w->prediction->frames;
    if (frames->size == 0 || !has_room(w, frames->size))
        return;
    memcpy(w->to, frames->at, frames->size);
    w->to += frames->size;
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
    const unsigned byte = w->reads ? 0 : *w->payload.at++;
    uint32_t coded = 1;
    for (int i = 7; i >= 0; i--) {
        for (size_t k = 0; k < PREDICTOR_CONTEXTS; k++)
            contexts[k] = predictor_context(after[k], coded);
        coded = coded << 1 | predictor_bit(w->predictor, contexts, PREDICTOR_CONTEXTS, byte >> i & 1);
    }
    *before = *before << 8 | (coded & 0xFF);
    if (w->reads && has_room(w, 1))
        *w->to++ = (unsigned char)coded;
}

/* The context of a STATUS note's field: for the bits, the thread's previous status; for the CPU time, the new status.
 */
static uint32_t follow_state(struct walk *w, uint64_t thread, unsigned field, uint64_t value)
{
    uint32_t *const state = &w->states[thread % GROUP_THREADS];
    if (field == 1)
        *state = little(value);
    return *state;
}

static void move_fields(struct walk *w, uint64_t note)
{
    const struct note_columns *const columns = &note_columns[note];
    uint64_t first = 0;
    uint32_t state = 0;
    for (unsigned i = 0; i < columns->fields && !w->bad; i++) {
        const bool of = columns->field[i].coding == DIFFERENCE_OF;
        uint64_t *const last = of ? &w->last_of[note][first % GROUP_THREADS] : &w->last[note][i];
        const uint32_t topic = predicted_contexts_of(TOPIC_FIELD, (uint32_t)note * GROUP_FIELDS + i);
        const bool as_it_is = columns->field[i].coding == AS_IT_IS;
        const uint64_t value = take(w), coded = as_it_is ? value : signed_to_number((int64_t)(value - *last));
        const uint64_t found = predictor_number(w->predictor, predictor_context(topic, state), coded);
        *last = as_it_is ? found : *last + (uint64_t)number_to_signed(found);
        put(w, *last);
        if (i == 0)
            first = *last;
        if (note == NOTE_STATUS)
            state = follow_state(w, first, i, *last);
    }
}

/* Codes the inside of a note: the fields, and the bytes behind them. */
static void move_inside(struct walk *w, uint64_t note)
{
    if (note < GROUP_NOTES)
        move_fields(w, note);
    const uint64_t behind = code_number(w, TOPIC_BEHIND, (uint32_t)note, w->reads ? 0 : cursor_left(&w->payload));
    uint32_t before = 0;
    for (uint64_t i = 0; i < behind && !w->bad; i++)
        move_byte(w, note, &before);
}

static void take_note(struct walk *w, uint64_t note)
{
    const unsigned char *const end = w->payload.end;
    const uint64_t size = take(w);
    w->bad |= size > cursor_left(&w->payload);
    if (w->bad)
        return;
    w->payload.end = w->payload.at + size;
    move_inside(w, note);
    w->payload.end = end;
}

/* Decoder: puts a note. The size comes before the fields and mostly takes one byte, so one byte is reserved; a longer
 * size moves the fields. */
static void put_note(struct walk *w, uint64_t note)
{
    put(w, note << 3 | RECORD_NOTE);
    unsigned char *const size_at = w->to;
    put(w, 0);
    if (w->bad)
        return;
    move_inside(w, note);
    const size_t size = (size_t)(w->to - size_at) - 1, longer = number_size(size) - 1;
    if (w->bad || !has_room(w, longer))
        return;
    memmove(size_at + 1 + longer, size_at + 1, size);
    w->to = size_at;
    put(w, size);
    w->to += size;
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

static void move_tick(struct walk *w, uint64_t jitter)
{
    jitter = code_number(w, TOPIC_JITTER, w->jitter, jitter);
    w->bad |= jitter > UINT64_MAX >> 3;
    w->jitter = little(jitter);
    put(w, jitter << 3 | RECORD_TICK);
}

static void move_repeat(struct walk *w, uint64_t count)
{
    count = code_number(w, TOPIC_REPEAT, w->repeat, count);
    w->bad |= count > UINT64_MAX >> 3;
    w->repeat = little(count);
    put(w, count << 3 | RECORD_REPEAT);
}

static void move_record(struct walk *w)
{
    const uint64_t tag = take(w);
    w->bad |= !w->reads && (tag & 7) == 0;
    const uint64_t shape = code_number(w, TOPIC_SHAPE, w->shapes, shape_of(tag));
    w->shapes = (w->shapes << 5 | (shape < 31 ? (uint32_t)shape : 31)) & SHAPES_MASK;
    if (w->bad)
        return;
    switch (shape) {
    case SHAPE_STACK:
        move_stack(w, tag);
        break;
    case SHAPE_TICK:
        move_tick(w, tag >> 3);
        break;
    case SHAPE_REPEAT:
        move_repeat(w, tag >> 3);
        break;
    case SHAPE_ABSENT:
        put(w, code_thread(w, tag >> 3) << 3 | RECORD_ABSENT);
        break;
    case SHAPE_FAILED:
        put(w, code_thread(w, tag >> 3) << 3 | RECORD_FAILED);
        put(w, code_number(w, TOPIC_CAUSE, 0, take(w)));
        break;
    default:
        w->bad |= shape - SHAPE_NOTE > UINT64_MAX >> 3;
        if (w->reads)
            put_note(w, shape - SHAPE_NOTE);
        else
            take_note(w, shape - SHAPE_NOTE);
        break;
    }
}

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
    w.payload = cursor_of(payload->at, payload->size);
    predictor_write(w.predictor, to);
    code_number(&w, TOPIC_BASE, 0, take(&w));
    while (!w.bad && cursor_left(&w.payload) > 0)
        move_record(&w);
    range_coder_end(&w.predictor->coder);
    if (!w.bad && payload->size <= (to->size - before) * PREDICT_RATIO)
        return true;
    to->size = before;
    return false;
}

bool codec_predict_undo(struct prediction *prediction, struct cursor from, size_t size, struct bytes *to)
{
    if (size == 0 || size > PREDICT_MOST || size > cursor_left(&from) * PREDICT_RATIO)
        return false;
    struct walk w = begin(prediction);
    w.reads = true;
    w.to = bytes_reserve(to, size);
    w.end = w.to + size;
    predictor_read(w.predictor, from);
    put(&w, code_number(&w, TOPIC_BASE, 0, 0));
    while (!w.bad && w.to < w.end)
        move_record(&w);
    to->size += size;
    return !w.bad && range_coder_read_all(&w.predictor->coder);
}

void codec_predict_free(struct prediction *prediction)
{
    free(prediction->predictor);
    if (prediction->stacks)
        predicted_stacks_free(prediction->stacks);
    free(prediction->stacks);
    bytes_free(&prediction->frames);
}
