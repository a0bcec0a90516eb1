/* SPDX-License-Identifier: MIT */
#include "record/unwind/snapshot.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define C_STACK_LIMIT   (UINT64_C(1) << 30) /* bytes; the C stack of a thread is smaller */
#define STATE_LIMIT     4096                /* bytes; a thread's state is smaller */
#define CHUNKS_LIMIT    780                 /* of a thread: 12 MiB of frames where chunks have their usual size */
#define OFF_STACK_LIMIT 384                 /* of a thread */
#define CHUNK_LIMIT     (16u << 20)         /* bytes of one chunk */
#define COPY_LIMIT      (64u << 20)         /* bytes of all chunks that learn_chunks() adds */
#define SLACK           512 /* bytes that are read beyond those that were in use lately: the stack may have grown */
#define ODD_CHUNKS      3   /* consecutive attempts without a chain of chunks, before the chunks are forgotten */
#define OFF_STACK_IDLE  32  /* samples after which an unused off-stack frame is dropped; ... */
#define STILL_IDLE      4 /* ... of a thread that stands still: snapshot_fetch() costs little more than a planned read */
#define FIT_SAMPLES     256   /* after this many samples the plan is fitted to the memory in use */
#define LEARN_READS     1200  /* frames that may be read one by one in a tick */
#define LEARN_STEPS     40000 /* frames, read or in the copy, that snapshot_learn() follows */
#define OFF_STACK_MOST  4096  /* bytes of an off-stack frame that are read at most */

/* Bytes of the copies of all threads of all processes. A program may have thousands of threads, and map the same memory
 * as the stack of each. */
static size_t copies_bytes;

void snapshot_free(struct snapshot *snapshot)
{
    copies_bytes -= snapshot->copy_room + snapshot->last_room;
    free(snapshot->chunks);
    free(snapshot->off_stack);
    free(snapshot->copy);
    free(snapshot->last);
    *snapshot = (struct snapshot){ 0 };
}

static unsigned char *copy_grow(unsigned char *copy, size_t *room, size_t size)
{
    const size_t before = *room;
    copy = alloc_grow(copy, room, size, 1);
    copies_bytes += *room - before;
    return copy;
}

bool snapshot_make_room(struct snapshot *s, size_t size)
{
    if (size <= s->copy_room && size <= s->last_room)
        return true;
    const size_t most = 4 * size; /* each of the two may grow to twice its room */
    if (most > SNAPSHOTS_LIMIT || copies_bytes > SNAPSHOTS_LIMIT - most)
        return false;
    s->copy = copy_grow(s->copy, &s->copy_room, size);
    s->last = copy_grow(s->last, &s->last_room, size);
    return true;
}

/* Notes that the next copy has other pieces, so it cannot be compared with the last one. */
static enum attempt changed_plan(struct snapshot *s)
{
    s->comparable = false;
    return ATTEMPT_LEARNED;
}

/* How many bytes of a chunk of `size` bytes to read when `used` are in use. */
static uint32_t chunk_read_size(uint64_t used, uint64_t size)
{
    const uint64_t wanted = (used + SLACK + SLACK - 1) / SLACK * SLACK;
    return (uint32_t)(wanted < size ? wanted : size);
}

/* ---- checks of the copy ---- */

/* Reads memory that the plan lacks; only LEARN_READS times in a tick. */
static bool snapshot_read_at(struct snapshot *s, struct remote *remote, uint64_t address, void *into, size_t size)
{
    if (s->learn_left == 0)
        return false;
    s->learn_left--;
    return remote_read(remote, address, into, size) == REMOTE_READ;
}

static void forget_chunks(struct snapshot *s, size_t from)
{
    s->chunks_count = from < s->chunks_count ? from : s->chunks_count;
    s->newest = s->newest < from ? s->newest : 0;
    s->comparable = false;
}

/* The index + 1 of the chunk at an address; 0: the chunk is not known. */
static size_t chunk_at(const struct snapshot *s, uint64_t address)
{
    size_t i = s->chunks_count;
    while (i > 0 && s->chunks[i - 1].address != address)
        i--;
    return i;
}

static void insert_chunk(struct snapshot *s, size_t index, struct chunk chunk)
{
    s->chunks = alloc_grow(s->chunks, &s->chunks_room, s->chunks_count + 1, sizeof(*s->chunks));
    memmove(s->chunks + index + 1, s->chunks + index, (s->chunks_count - index) * sizeof(*s->chunks));
    s->chunks[index] = chunk;
    s->chunks_count++;
}

/* The known chunks are not a chain. If the thread moves: a chunk may have been freed and allocated again during the
 * call, or the thread is another one. If the thread stands still: its chain is another one. */
static enum attempt doubt_chunks(struct snapshot *s)
{
    if (!s->still && s->odd_chunks++ < ODD_CHUNKS)
        return ATTEMPT_TORN;
    forget_chunks(s, 0);
    return ATTEMPT_LEARNED;
}

/* The thread's state says that a chunk is part of the chain, but the chunk is not readable. It came and went during the
 * call, or the chain does not have it any more. */
static enum attempt doubt_gone(struct snapshot *s)
{
    if (!s->still && s->odd_chunks++ < ODD_CHUNKS)
        return ATTEMPT_TORN;
    forget_chunks(s, s->chunks_came);
    return ATTEMPT_LEARNED;
}

/* Follows the chain of chunks from the newest one to one that is known. The newest chunk is at address `newest`, and is
 * in use up to address `top`. */
static enum attempt learn_chunks(struct snapshot *s, const struct layout *l, struct remote *remote, uint64_t newest,
                                 uint64_t top)
{
    struct chunk fresh[CHUNKS_LIMIT];
    size_t count = 0, known = 0;
    uint64_t total = 0;
    for (uint64_t at = newest; at && !(known = chunk_at(s, at)); count++) {
        unsigned char head[LAYOUT_OBJECT_MAX];
        if (count == CHUNKS_LIMIT || total > COPY_LIMIT)
            return ATTEMPT_TOO_DEEP;
        if (!snapshot_read_at(s, remote, at, head, l->chunk_data))
            return s->learn_left == 0 ? ATTEMPT_TOO_DEEP : ATTEMPT_TORN;
        const uint64_t size = word_at(head, l->chunk_size);
        /* CPython writes chunk_top of a chunk only when it adds a newer chunk. */
        const uint64_t used = at == newest ? top - at : l->chunk_data + word_at(head, l->chunk_top) * 8;
        if (size > CHUNK_LIMIT || size < l->chunk_data || used > size || used < l->chunk_data)
            return ATTEMPT_TORN;
        fresh[count] = (struct chunk){ .address = at,
                                       .next = at == newest ? chunk_read_size(used, size) : (uint32_t)used };
        total += fresh[count].next;
        at = word_at(head, l->chunk_previous);
    }
    forget_chunks(s, known);
    if (known + count > CHUNKS_LIMIT)
        return ATTEMPT_TOO_DEEP;
    for (size_t i = count; i > 0; i--)
        insert_chunk(s, s->chunks_count, fresh[i - 1]);
    s->newest = s->chunks_count - 1;
    if (known == 0)
        s->firm = s->fewest = s->most_chunks = s->chunks_count;
    else if (s->firm > known)
        s->firm = known;
    s->fit_due = FIT_SAMPLES;
    return ATTEMPT_LEARNED;
}

static void drop_off_stack(struct snapshot *s, size_t i)
{
    s->comparable = false;
    s->off_stack_read -= i < s->off_stack_read;
    s->off_stack_count--;
    memmove(&s->off_stack[i], &s->off_stack[i + 1], (s->off_stack_count - i) * sizeof(*s->off_stack));
}

/* Drops the off-stack frames of one piece. */
static void drop_off_stack_piece(struct snapshot *s, size_t piece)
{
    for (size_t i = s->off_stack_count; i > 0; i--)
        if (s->off_stack[i - 1].piece == piece)
            drop_off_stack(s, i - 1);
}

/* The thread's piece `k` is the first one that the call did not read. Returns true when the walk may work without it: a
 * recursion returns, which frees chunks, and the older chunks were read. */
static bool lacks_piece(struct snapshot *s, size_t k)
{
    size_t index;
    switch (snapshot_plan_piece(s, k, &index)) {
    case PIECE_CFRAME:
        s->cframes_count = 0;
        return false;
    case PIECE_CHUNK:
        s->chunks_came = index;
        s->chunks_gone = true;
        s->firm = s->firm < s->chunks_came ? s->firm : s->chunks_came;
        if (s->chunks_came == 0)
            forget_chunks(s, 0);
        return s->chunks_came > 0 && s->off_stack_count == 0 && !s->twice;
    case PIECE_OFF_STACK:
        drop_off_stack_piece(s, index);
        return false;
    default:
        return false;
    }
}

/* How many of the thread's pieces the call read. Other pieces lie between the thread's first pieces and its rest. */
static size_t pieces_that_came(const struct snapshot *s, size_t good)
{
    const size_t came = good - s->first;
    if (came <= s->pieces || s->rest_first == 0)
        return came < s->pieces ? came : s->pieces;
    const size_t rest = good > s->rest_first ? good - s->rest_first : 0;
    return s->pieces + (rest < s->rest ? rest : s->rest);
}

/* Notes how many bytes of a chunk are in use. */
static void note_use(struct chunk *chunk, uint64_t used)
{
    if (used < CHUNK_LIMIT && used > chunk->most)
        chunk->most = (uint32_t)used;
}

/* Checks that the chunks in the copy are the thread's chain, from the oldest to the newest chunk. */
static enum attempt check_chunks(struct snapshot *s, const struct layout *l, struct remote *remote)
{
    const uint64_t newest = word_at(s->copy, l->thread_chunk), top = word_at(s->copy, l->thread_chunk + 8);
    const size_t position = chunk_at(s, newest);
    if (newest == 0) { /* the known chunks belong to another thread now, or are free */
        s->chunks_came = 0;
        forget_chunks(s, 0);
        return ATTEMPT_ACCEPTED;
    }
    if (position == 0)
        return learn_chunks(s, l, remote, newest, top);
    s->newest = position - 1;
    if (position > s->chunks_came)
        return s->chunks_gone ? doubt_gone(s)
                              : ATTEMPT_LEARNED; /* the newest chunk is gone again, or was not in the plan */
    const struct chunk *last = &s->chunks[s->newest];
    const uint64_t size = word_at(s->copy + last->at, l->chunk_size);
    if (top - last->address > last->used && top - last->address <= size && size <= CHUNK_LIMIT) {
        s->chunks[s->newest].next = chunk_read_size(top - last->address, size);
        s->comparable = false;
    }
    for (size_t i = position; i > 0; i--) {
        const unsigned char *head = s->copy + s->chunks[i - 1].at;
        if (word_at(head, l->chunk_previous) != (i > 1 ? s->chunks[i - 2].address : 0))
            return doubt_chunks(s);
        note_use(&s->chunks[i - 1],
                 i == position ? top - s->chunks[i - 1].address : l->chunk_data + word_at(head, l->chunk_top) * 8);
    }
    s->odd_chunks = 0;
    return ATTEMPT_ACCEPTED;
}

/* The index of the C frame at address `cframe`; CFRAMES: the copy does not have it, and the next copy does. */
static uint32_t index_of_cframe(struct snapshot *s, uint64_t cframe)
{
    for (uint32_t i = 0; i < s->cframes_count; i++)
        if (s->cframes[i] == cframe)
            return i;
    const uint32_t index = s->cframes_count < CFRAMES ? s->cframes_count++ : s->cframe_oldest++ % CFRAMES;
    s->cframes[index] = cframe;
    return CFRAMES;
}

/* Whether the copy has the C frame at address `cframe`. If not, the next copy does. */
static bool find_cframe(struct snapshot *s, uint64_t cframe)
{
    s->cframe = cframe ? index_of_cframe(s, cframe) : CFRAMES;
    return cframe == 0 || s->cframe < CFRAMES;
}

enum attempt snapshot_check(struct snapshot *s, const struct layout *l, struct remote *remote, uint64_t interpreter,
                            size_t good)
{
    if (good <= s->first || word_at(s->copy, l->thread_interpreter) != interpreter)
        return ATTEMPT_ELSEWHERE;
    const size_t came = pieces_that_came(s, good);
    s->until = came <= s->pieces ? s->first + came : s->rest_first + came - s->pieces;
    s->chunks_gone = false;
    if (came < s->pieces + s->rest && !lacks_piece(s, came)) {
        const size_t position = chunk_at(s, word_at(s->copy, l->thread_chunk));
        s->newest = position ? position - 1 : s->newest;
        if (!s->chunks_gone)
            return changed_plan(s);
        return position == 0 || position > s->chunks_came ? doubt_gone(s) : ATTEMPT_TORN;
    }
    if (s->spare_first && good > s->spare_first) {
        const size_t spare = s->chunks_count - s->chunks_came, more = good - s->spare_first;
        s->chunks_came += more < spare ? more : spare;
        s->until = s->spare_first + (more < spare ? more : spare);
    }
    if (l->thread_cframe && !find_cframe(s, word_at(s->copy, l->thread_cframe)))
        return changed_plan(s);
    return check_chunks(s, l, remote);
}

uint64_t snapshot_current(const struct snapshot *s, const struct layout *l)
{
    if (!l->thread_cframe)
        return word_at(s->copy, l->thread_current_frame);
    return s->cframe < s->cframes_count ? word_at(s->copy, s->cframe_at + s->cframe * CFRAME_BYTES) : 0;
}

/* Whether `before` may be the address of the previous C frame. It lies on the same C stack, or in the thread's state if
 * it is the first one. Why check: for a moment the newest C frame does not name the previous one yet. */
static bool may_be_before(const struct snapshot *s, uint64_t before)
{
    const uint64_t here = s->cframes[s->cframe];
    const uint64_t distance = before > here ? before - here : here - before;
    return before % 8 == 0 && (distance < C_STACK_LIMIT || before - s->thread < STATE_LIMIT);
}

enum attempt snapshot_caller(struct snapshot *s, uint64_t *frame)
{
    *frame = 0;
    if (s->cframe >= s->cframes_count)
        return ATTEMPT_ACCEPTED;
    const uint64_t before = word_at(s->copy, s->cframe_at + s->cframe * CFRAME_BYTES + 8);
    if (before && !may_be_before(s, before))
        return ATTEMPT_UNSURE;
    const uint32_t index = before ? index_of_cframe(s, before) : CFRAMES;
    if (before && index == CFRAMES)
        return changed_plan(s);
    if (before)
        *frame = word_at(s->copy, s->cframe_at + index * CFRAME_BYTES);
    return ATTEMPT_ACCEPTED;
}

/* ---- frames ---- */

/* If a frame lies in the part of a chunk that the copy lacks, plans to read the chunk further. */
static bool grow_chunk(struct snapshot *s, const struct layout *l, uint64_t frame)
{
    for (size_t i = 0; i < s->chunks_came; i++) {
        struct chunk *chunk = &s->chunks[i];
        const uint64_t size = word_at(s->copy + chunk->at, l->chunk_size);
        const uint64_t offset = frame - chunk->address;
        if (offset >= size || size > CHUNK_LIMIT)
            continue;
        const uint32_t used = chunk_read_size(offset + l->frame_size, size);
        chunk->next = used > chunk->next ? used : chunk->next;
        chunk->most = chunk->next;
        return true;
    }
    return false;
}

static bool is_off_stack(const struct snapshot *s, uint64_t frame)
{
    for (size_t i = 0; i < s->off_stack_count; i++)
        if (s->off_stack[i].frame == frame)
            return true;
    return false;
}

/* Makes room for one more off-stack frame. Returns false when all are in use. */
static bool off_stack_make_room(struct snapshot *s)
{
    for (size_t i = 0; s->off_stack_count == OFF_STACK_LIMIT && i < s->off_stack_count; i++)
        if (s->off_stack[i].idle > 0)
            drop_off_stack(s, i);
    return s->off_stack_count < OFF_STACK_LIMIT;
}

static bool note_off_stack(struct snapshot *s, const struct layout *l, uint64_t frame)
{
    if (is_off_stack(s, frame))
        return false;
    s->off_stack = alloc_grow(s->off_stack, &s->off_stack_room, s->off_stack_count + 1, sizeof(*s->off_stack));
    s->off_stack[s->off_stack_count++] = (struct off_stack){ .frame = frame, .next = l->frame_size };
    return true;
}

/* A frame of the data stack is in no known chunk: looks for a new chunk. */
static enum attempt learn_new_chunk(struct snapshot *s, const struct layout *l, struct remote *remote)
{
    unsigned char state[LAYOUT_THREAD_MAX];
    if (!snapshot_read_at(s, remote, s->thread, state, l->thread_size))
        return ATTEMPT_TORN;
    const uint64_t newest = word_at(state, l->thread_chunk);
    for (size_t i = 0; i < s->chunks_came; i++)
        if (s->chunks[i].address == newest)
            return ATTEMPT_TORN; /* the new chunk is gone again */
    return learn_chunks(s, l, remote, newest, word_at(state, l->thread_chunk + 8));
}

void snapshot_begin(struct snapshot *s)
{
    s->learn_left = LEARN_READS;
    s->twice = false;
}

/* Whether the bytes can be a frame. A frame that has returned may point to arbitrary memory, and an address that enters
 * the plan is read with many samples. */
static bool may_be_frame(const struct layout *l, uint64_t frame, const unsigned char *head)
{
    return frame % 8 == 0 && head[l->frame_owner] <= l->owner_shim + 1 && word_at(head, l->frame_previous) % 8 == 0 &&
           word_at(head, l->frame_previous) != frame;
}

enum attempt snapshot_learn(struct snapshot *s, const struct layout *l, struct remote *remote, uint64_t frame)
{
    bool learned = false;
    for (size_t steps = 0; frame && steps < LEARN_STEPS; steps++) {
        unsigned char head[LAYOUT_FRAME_MAX];
        const unsigned char *here = snapshot_find(s, l, frame);
        if (!here) {
            if (!snapshot_read_at(s, remote, frame, head, l->frame_size))
                break;
            if (!may_be_frame(l, frame, head))
                break;
            here = head;
            if (grow_chunk(s, l, frame))
                return changed_plan(s); /* the next copy has its callers, too */
            if (head[l->frame_owner] == 0)
                return learned ? changed_plan(s) : learn_new_chunk(s, l, remote);
            if (!off_stack_make_room(s)) {
                s->comparable = false;
                return ATTEMPT_TOO_DEEP;
            }
            if (!note_off_stack(s, l, frame))
                break; /* a ring */
            learned = true;
        }
        frame = word_at(here, l->frame_previous);
    }
    return learned ? changed_plan(s) : ATTEMPT_NO_MEMORY;
}

enum attempt snapshot_fetch(struct snapshot *s, const struct layout *l, struct remote *remote, uint64_t frame)
{
    unsigned char head[LAYOUT_FRAME_MAX];
    if (!snapshot_read_at(s, remote, frame, head, l->frame_size) || !may_be_frame(l, frame, head))
        return ATTEMPT_NO_MEMORY;
    if (grow_chunk(s, l, frame))
        return changed_plan(s);
    if (head[l->frame_owner] == 0)
        return learn_new_chunk(s, l, remote);
    if (!off_stack_make_room(s)) {
        s->comparable = false;
        return ATTEMPT_TOO_DEEP;
    }
    if (!note_off_stack(s, l, frame))
        return ATTEMPT_NO_MEMORY;
    if (s->off_stack_read + 1 != s->off_stack_count) /* the copy lacks off-stack frames before this one */
        return changed_plan(s);
    struct off_stack *off_stack = &s->off_stack[s->off_stack_read++];
    off_stack->size = l->frame_size;
    off_stack->at = (uint32_t)s->copy_size;
    s->copy_size += (l->frame_size + 7u) & ~7u;
    s->copy = copy_grow(s->copy, &s->copy_room, s->copy_size);
    memcpy(s->copy + off_stack->at, head, l->frame_size);
    s->fetched = true;
    return ATTEMPT_ACCEPTED;
}

void snapshot_widen(struct snapshot *s, const struct found_frame *found, uint32_t size)
{
    struct off_stack *off_stack = found->off_stack ? &s->off_stack[found->off_stack - 1] : NULL;
    if (!off_stack || size <= off_stack->next || size > OFF_STACK_MOST)
        return;
    off_stack->next = size;
    s->comparable = false;
}

enum attempt snapshot_cover(struct snapshot *s, const struct layout *l, const struct found_frame *found, uint64_t end)
{
    if (found->off_stack) {
        struct off_stack *off_stack = &s->off_stack[found->off_stack - 1];
        const uint64_t size = end - off_stack->frame;
        if (size > CHUNK_LIMIT)
            return ATTEMPT_TORN;
        off_stack->next = size > off_stack->next ? (uint32_t)size : off_stack->next;
        return changed_plan(s);
    }
    return grow_chunk(s, l, end - l->frame_size) ? changed_plan(s) : ATTEMPT_TORN;
}

/* ---- the next plan ---- */

/* Chunks that every sample since the last fit used are firm. Chunks that none of them used are forgotten. */
static void fit_firm(struct snapshot *s)
{
    s->firm = s->fewest;
    if (s->most_chunks < s->chunks_count)
        forget_chunks(s, s->most_chunks);
    s->fewest = s->most_chunks = s->newest + 1;
}

/* Every FIT_SAMPLES samples, plans to read the newest chunk as far as it was in use lately. A stack that shrinks for a
 * moment does not shrink the plan. */
static void fit_chunk(struct snapshot *s, const struct layout *l)
{
    if (s->chunks_count == 0 || s->fit_due-- > 0)
        return;
    struct chunk *newest = &s->chunks[s->newest];
    const uint32_t wanted = chunk_read_size(newest->most, word_at(s->copy + newest->at, l->chunk_size));
    if (wanted != newest->next && wanted >= l->chunk_data && wanted <= CHUNK_LIMIT) {
        newest->next = wanted;
        s->comparable = false;
    }
    newest->most = 0;
    fit_firm(s);
    s->fit_due = FIT_SAMPLES;
}

void snapshot_accept(struct snapshot *s, const struct layout *l)
{
    unsigned char *const copy = s->copy;
    const uint32_t idle_most = s->still ? STILL_IDLE : OFF_STACK_IDLE;
    s->comparable = !s->fetched;
    s->fewest = s->newest + 1 < s->fewest ? s->newest + 1 : s->fewest;
    s->most_chunks = s->newest + 1 > s->most_chunks ? s->newest + 1 : s->most_chunks;
    fit_chunk(s, l);
    s->copy = s->last;
    s->last = copy;
    const size_t room = s->copy_room;
    s->copy_room = s->last_room;
    s->last_room = room;
    for (size_t i = s->off_stack_count; i > 0; i--)
        if (s->off_stack[i - 1].idle++ > idle_most)
            drop_off_stack(s, i - 1);
}
