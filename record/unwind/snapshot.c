/* SPDX-License-Identifier: MIT */
#include "record/unwind/snapshot.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define C_STACK_LIMIT   (UINT64_C(1) << 30) /* bytes; the C stack of a thread is smaller */
#define STATE_LIMIT     4096                /* bytes; a thread's state is smaller */
#define CHUNKS_LIMIT    780                 /* of a thread: 12 MiB of frames where chunks have their usual size */
#define OFF_STACK_LIMIT 32768               /* of a thread: three times what CPython allows of recursion through C */
#define CHUNK_LIMIT     (16u << 20)         /* bytes of one chunk */
#define COPY_LIMIT      (64u << 20)         /* bytes of all chunks that learn_chunks() adds */
#define SLACK           512 /* bytes that are read beyond those that were in use lately: the stack may have grown */
#define PAGE            4096u
#define FETCH_MOST      65536 /* bytes in use of a new chunk that is read at once */
#define OFF_STACK_IDLE                                                                                                 \
    4                      /* samples after which an unused off-stack frame is dropped: to fetch one costs little more \
                            */
#define FIT_SAMPLES  256   /* after this many samples the plan is fitted to the memory in use */
#define LEARN_READS  1200  /* calls that may read frames that the plan lacks, in a look */
#define WINDOW_FIRST 4096  /* bytes that such a call reads, if the frame is near the one before; ... */
#define WINDOW_MOST  65536 /* ... up to these, as long as more frames are found in them */
#define WINDOW_NEAR  16384 /* bytes between two frames that are near */

/* Bytes of the copies of all threads of all processes, and of what is kept of off-stack frames. A program may have
 * thousands of threads, and map the same memory as the stack of each. */
static size_t copies_bytes;

/* Memory around the frame that was read last. Off-stack frames that follow each other on the way to the root mostly lie
 * close together: entry shims on the C stack, generators' frames in an arena. One window serves all threads, and lasts
 * until the next snapshot_check(). */
static struct frame_window {
    uint64_t from, frame; /* the first byte's address; the frame that was looked for last */
    uint32_t size, hits;  /* bytes; other frames that were found in them */
    unsigned char bytes[WINDOW_MOST];
} window;

void snapshot_free(struct snapshot *snapshot)
{
    copies_bytes -= snapshot->copy_room + snapshot->last_room +
                    snapshot->off_stack_room * sizeof(*snapshot->off_stack) +
                    snapshot->off_stack_slots_room * sizeof(*snapshot->off_stack_slots);
    free(snapshot->chunks);
    free(snapshot->off_stack);
    free(snapshot->off_stack_slots);
    free(snapshot->copy);
    free(snapshot->last);
    *snapshot = (struct snapshot){ 0 };
}

void *snapshot_grow(void *array, size_t *room, size_t wanted, size_t size)
{
    const size_t before = *room;
    array = alloc_grow(array, room, wanted, size);
    copies_bytes += (*room - before) * size;
    return array;
}

/* Whether the copies of all threads may take `more` bytes more. */
static bool copies_may_grow(size_t more)
{
    return more <= SNAPSHOTS_LIMIT && copies_bytes <= SNAPSHOTS_LIMIT - more;
}

bool snapshot_make_room(struct snapshot *s, size_t size)
{
    if (size <= s->copy_room && size <= s->last_room)
        return true;
    if (!copies_may_grow(4 * size)) /* each of the two may grow to twice its room */
        return false;
    s->copy = snapshot_grow(s->copy, &s->copy_room, size, 1);
    s->last = snapshot_grow(s->last, &s->last_room, size, 1);
    return true;
}

/* Notes that the next copy has other pieces, so it cannot be compared with the last one. */
static void note_change(struct snapshot *s)
{
    s->comparable = false;
    s->changed = true;
}

static enum attempt changed_plan(struct snapshot *s)
{
    note_change(s);
    return ATTEMPT_LEARNED;
}

/* How many bytes of a chunk of `size` bytes to read when `used` are in use. */
static uint32_t chunk_read_size(uint64_t used, uint64_t size)
{
    const uint64_t wanted = (used + SLACK + SLACK - 1) / SLACK * SLACK;
    return (uint32_t)(wanted < size ? wanted : size);
}

/* ---- checks of the copy ---- */

/* Reads memory that the plan lacks, as often as snapshot_begin() allowed. */
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
    note_change(s);
}

/* The index + 1 of the chunk at an address; 0: the chunk is not known. */
static size_t chunk_at(const struct snapshot *s, uint64_t address)
{
    size_t i = s->chunks_count;
    while (i > 0 && s->chunks[i - 1].address != address)
        i--;
    return i;
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
    s->chunks = alloc_grow(s->chunks, &s->chunks_room, known + count, sizeof(*s->chunks));
    for (size_t i = count; i > 0; i--)
        s->chunks[s->chunks_count++] = fresh[i - 1];
    s->fit_due = FIT_SAMPLES;
    return ATTEMPT_LEARNED;
}

/* The newest chunk is not known. Reads its used part to the end of the copy, if all older chunks are known: then the
 * copy has the whole stack, and need not be read again. Returns whether the copy has the chunk now. */
static bool fetch_newest(struct snapshot *s, const struct layout *l, struct remote *remote, uint64_t newest,
                         uint64_t top)
{
    const uint64_t until = (top + PAGE - 1) / PAGE * PAGE; /* readable, as the last used byte is */
    const size_t wanted = until - newest, room = s->copy_size + ((wanted + 7) & ~(size_t)7);
    if (top < newest + l->chunk_data || top - newest > FETCH_MOST ||
        (room > s->copy_room && !copies_may_grow(2 * room)))
        return false;
    s->copy = snapshot_grow(s->copy, &s->copy_room, room, 1);
    const unsigned char *head = s->copy + s->copy_size;
    if (!snapshot_read_at(s, remote, newest, s->copy + s->copy_size, wanted))
        return false;
    const uint64_t size = word_at(head, l->chunk_size), previous = word_at(head, l->chunk_previous);
    const size_t known = previous ? chunk_at(s, previous) : 0;
    if (size > CHUNK_LIMIT || top - newest > size || (previous && !known) || known == CHUNKS_LIMIT)
        return false;
    forget_chunks(s, known);
    s->chunks = alloc_grow(s->chunks, &s->chunks_room, known + 1, sizeof(*s->chunks));
    const uint32_t used = (uint32_t)(wanted < size ? wanted : size);
    s->chunks[s->chunks_count++] = (struct chunk){
        .address = newest, .used = used, .next = chunk_read_size(top - newest, size), .at = (uint32_t)s->copy_size
    };
    s->copy_size = room;
    s->fit_due = FIT_SAMPLES;
    s->fetched = true;
    return true;
}

/* Keeps the first `count` off-stack frames. */
static void keep_off_stack(struct snapshot *s, size_t count)
{
    note_change(s);
    s->off_stack_count = count;
    s->off_stack_read = s->off_stack_read < count ? s->off_stack_read : count;
    s->off_stack_indexed = 0;
}

/* Drops the off-stack frames that are in a piece, or behind it: other pieces may be gone, too. */
static void drop_off_stack_from(struct snapshot *s, size_t piece)
{
    size_t kept = s->off_stack_count;
    while (kept > 0 && s->off_stack[kept - 1].piece >= piece)
        kept--;
    keep_off_stack(s, kept);
}

/* Makes the off-stack frames older by `age` samples, and drops those that have been idle for more than `most`. */
static void age_off_stack(struct snapshot *s, uint32_t age, uint32_t most)
{
    const size_t count = s->off_stack_count;
    size_t kept = 0, read = s->off_stack_read;
    for (size_t i = 0; i < count; i++) {
        s->off_stack[i].idle += age;
        if (s->off_stack[i].idle > most) {
            read -= i < s->off_stack_read;
            continue;
        }
        if (kept < i)
            s->off_stack[kept] = s->off_stack[i];
        kept++;
    }
    s->off_stack_read = read;
    if (kept < count)
        keep_off_stack(s, kept);
}

/* The thread's piece `k` is the first one that the call did not read: takes it out of the plan. */
static void lacks_piece(struct snapshot *s, size_t k)
{
    size_t index;
    const enum piece_is is = snapshot_plan_piece(s, k, &index);
    if (is == PIECE_CFRAME)
        s->cframes_count = 0;
    else if (is == PIECE_CHUNK)
        forget_chunks(s, index);
    else if (is == PIECE_OFF_STACK)
        drop_off_stack_from(s, index);
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
    size_t count = newest ? chunk_at(s, newest) : 0;
    if (newest && count == 0) {
        if (!fetch_newest(s, l, remote, newest, top))
            return learn_chunks(s, l, remote, newest, top);
        count = s->chunks_count;
    }
    if (count < s->chunks_count) /* functions have returned */
        forget_chunks(s, count);
    s->chunks_came = count;
    if (newest == 0)
        return ATTEMPT_ACCEPTED;
    struct chunk *last = &s->chunks[count - 1];
    const uint64_t size = word_at(s->copy + last->at, l->chunk_size);
    if (top - last->address > last->used && top - last->address <= size && size <= CHUNK_LIMIT) {
        last->next = chunk_read_size(top - last->address, size);
        note_change(s);
    }
    for (size_t i = count; i > 0; i--) {
        const unsigned char *head = s->copy + s->chunks[i - 1].at;
        if (word_at(head, l->chunk_previous) != (i > 1 ? s->chunks[i - 2].address : 0)) {
            forget_chunks(s, 0);
            return ATTEMPT_LEARNED;
        }
        note_use(&s->chunks[i - 1],
                 i == count ? top - s->chunks[i - 1].address : l->chunk_data + word_at(head, l->chunk_top) * 8);
    }
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

/* Reads the off-stack pieces that were not in the batch. Returns false when one of them is gone. */
static bool read_late_pieces(struct snapshot *s, struct remote *remote)
{
    static struct piece pieces[REMOTE_PIECES];
    size_t count = 0, good, first = s->off_stack_late;
    for (size_t i = 0; first < s->off_stack_pieces && i < s->off_stack_count; i++) {
        const struct off_stack *off_stack = &s->off_stack[i];
        const bool begins = off_stack->span && off_stack->piece >= s->off_stack_late;
        if (begins)
            pieces[count++] = (struct piece){ off_stack->frame, off_stack->span, s->copy + off_stack->at };
        if (count == 0 || (count < REMOTE_PIECES && i + 1 < s->off_stack_count))
            continue;
        if (remote_read_pieces(remote, pieces, count, &good) != REMOTE_READ) {
            drop_off_stack_from(s, first + good);
            return false;
        }
        first += count;
        count = 0;
    }
    return true;
}

enum attempt snapshot_check(struct snapshot *s, const struct layout *l, struct remote *remote, uint64_t interpreter,
                            size_t good)
{
    window.size = 0;
    window.frame = 0;
    if (good <= s->first || word_at(s->copy, l->thread_interpreter) != interpreter)
        return ATTEMPT_ELSEWHERE;
    if (good - s->first < s->pieces) {
        lacks_piece(s, good - s->first);
        return changed_plan(s);
    }
    if (!read_late_pieces(s, remote))
        return ATTEMPT_LEARNED;
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

/* Adds a frame to the plan. ATTEMPT_TOO_DEEP: there is no room for one more. ATTEMPT_NO_MEMORY: the plan has it
 * already, so the frames are a ring. */
static enum attempt note_off_stack(struct snapshot *s, uint64_t frame)
{
    if (snapshot_find_off_stack(s, frame, s->off_stack_count))
        return ATTEMPT_NO_MEMORY;
    if (s->off_stack_count >= OFF_STACK_LIMIT)
        age_off_stack(s, 0, 0);
    const size_t wanted = s->off_stack_count + 1, each = sizeof(*s->off_stack) + 4 * sizeof(*s->off_stack_slots);
    if (wanted > OFF_STACK_LIMIT || (wanted > s->off_stack_room && !copies_may_grow(2 * wanted * each))) {
        note_change(s);
        return ATTEMPT_TOO_DEEP;
    }
    s->off_stack = snapshot_grow(s->off_stack, &s->off_stack_room, wanted, sizeof(*s->off_stack));
    s->off_stack[s->off_stack_count++] = (struct off_stack){ .frame = frame };
    return ATTEMPT_ACCEPTED;
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

void snapshot_begin(struct snapshot *s, uint32_t more)
{
    s->learn_left = LEARN_READS + more;
}

/* How many bytes to read from a frame on, or up to a frame, that is not in the window. */
static uint32_t window_size(const struct layout *l, uint64_t distance)
{
    if (distance > WINDOW_NEAR || (window.hits == 0 && window.size > l->frame_size))
        return l->frame_size;
    return window.size < WINDOW_FIRST ? WINDOW_FIRST : window.size < WINDOW_MOST ? 2 * window.size : WINDOW_MOST;
}

static bool window_read(struct snapshot *s, struct remote *remote, uint64_t from, uint32_t size)
{
    window.from = from;
    window.hits = 0;
    window.size = snapshot_read_at(s, remote, from, window.bytes, size) ? size : 0;
    return window.size > 0;
}

/* Reads a frame that the plan lacks. Returns its bytes, or NULL. They are valid until the next such call. */
static const unsigned char *read_off_stack(struct snapshot *s, const struct layout *l, struct remote *remote,
                                           uint64_t frame)
{
    const uint64_t offset = frame - window.from;
    const bool up = frame > window.frame;
    const uint64_t distance = up ? frame - window.frame : window.frame - frame;
    window.frame = frame;
    if (offset < window.size && window.size - offset >= l->frame_size) {
        window.hits++;
        return window.bytes + offset;
    }
    const uint32_t size = window_size(l, distance);
    if (size > l->frame_size && window_read(s, remote, up ? frame : frame + l->frame_size - size, size))
        return window.bytes + (frame - window.from);
    return window_read(s, remote, frame, l->frame_size) ? window.bytes : NULL;
}

/* Whether the bytes can be a frame. A frame that has returned may point to arbitrary memory, and an address that enters
 * the plan is read with many samples. */
static bool may_be_frame(const struct layout *l, uint64_t frame, const unsigned char *head)
{
    return frame % 8 == 0 && head[l->frame_owner] <= l->owner_shim + 1 && word_at(head, l->frame_previous) % 8 == 0 &&
           word_at(head, l->frame_previous) != frame;
}

enum attempt snapshot_fetch(struct snapshot *s, const struct layout *l, struct remote *remote, uint64_t frame)
{
    if (grow_chunk(s, l, frame))
        return changed_plan(s);
    const unsigned char *here = read_off_stack(s, l, remote, frame);
    if (!here && s->learn_left == 0)
        return ATTEMPT_TOO_DEEP;
    if (!here || !may_be_frame(l, frame, here))
        return ATTEMPT_NO_MEMORY;
    if (here[l->frame_owner] == 0)
        return learn_new_chunk(s, l, remote);
    const size_t size = s->copy_size + ((l->frame_size + 7u) & ~7u);
    if (size > s->copy_room && !copies_may_grow(2 * size))
        return ATTEMPT_TOO_DEEP;
    const enum attempt noted = note_off_stack(s, frame);
    if (noted != ATTEMPT_ACCEPTED)
        return noted;
    if (s->off_stack_read + 1 != s->off_stack_count) /* the copy lacks off-stack frames before this one */
        return changed_plan(s);
    struct off_stack *off_stack = &s->off_stack[s->off_stack_read++];
    off_stack->at = (uint32_t)s->copy_size;
    s->copy = snapshot_grow(s->copy, &s->copy_room, size, 1);
    s->copy_size = size;
    memcpy(s->copy + off_stack->at, here, l->frame_size);
    s->fetched = true;
    return ATTEMPT_ACCEPTED;
}

/* Every FIT_SAMPLES samples, plans to read the newest chunk as far as it was in use lately. A stack that shrinks for a
 * moment does not shrink the plan. */
static void fit_chunk(struct snapshot *s, const struct layout *l)
{
    if (s->chunks_count == 0 || s->fit_due-- > 0)
        return;
    struct chunk *newest = &s->chunks[s->chunks_count - 1];
    const uint32_t wanted = chunk_read_size(newest->most, word_at(s->copy + newest->at, l->chunk_size));
    if (wanted != newest->next && wanted >= l->chunk_data && wanted <= CHUNK_LIMIT) {
        newest->next = wanted;
        note_change(s);
    }
    newest->most = 0;
    s->fit_due = FIT_SAMPLES;
}

/* Whether the plan or its memory is larger than what the accepted sample used. */
static bool is_larger_than_used(const struct snapshot *s)
{
    size_t used = 0;
    for (size_t i = 0; i < s->off_stack_count; i++)
        used += s->off_stack[i].idle <= 1;
    return used < s->off_stack_count || s->off_stack_room > 4 * used + 64 || s->last_room > 4 * s->copy_size;
}

void snapshot_accept(struct snapshot *s, const struct layout *l, bool whole)
{
    unsigned char *const copy = s->copy;
    s->comparable = !s->fetched && !s->changed;
    fit_chunk(s, l);
    s->copy = s->last;
    s->last = copy;
    const size_t room = s->copy_room;
    s->copy_room = s->last_room;
    s->last_room = room;
    for (size_t i = 0; !whole && i < s->off_stack_count; i++)
        if (s->off_stack[i].idle <= 1) /* maybe part of the stack, as at the last sample */
            s->off_stack[i].idle = 0;
    age_off_stack(s, 1, OFF_STACK_IDLE + 1);
    /* Memory is short: threads that were deep once do not keep what others need. */
    if (copies_bytes > SNAPSHOTS_LIMIT / 2 && is_larger_than_used(s))
        snapshot_free(s);
}

bool snapshot_forget_idle(struct snapshot *s)
{
    const size_t before = s->off_stack_count;
    age_off_stack(s, 0, 0);
    return s->off_stack_count < before;
}

void snapshot_fail(struct snapshot *s, enum attempt why)
{
    /* When the look was too short to read all, the next one goes on where this one ended. */
    const bool short_of_reads = why == ATTEMPT_TOO_DEEP && s->learn_left == 0;
    if (!short_of_reads && (why == ATTEMPT_TOO_DEEP || why == ATTEMPT_NO_MEMORY))
        snapshot_free(s);
    else if (why != ATTEMPT_UNSURE)
        age_off_stack(s, 1, 1);
}
