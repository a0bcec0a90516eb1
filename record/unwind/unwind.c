/* SPDX-License-Identifier: MIT */
#include "record/unwind/unwind.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/unwind/frame_opcodes.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS     64       /* corrections of a plan; a few microseconds each */
#define PATIENCE_NS  50000000 /* time in a tick for threads whose plans are wrong */
#define MORE_READS   40000    /* calls for frames that the plans of all threads lack, in all */
#define BATCH_PIECES 48       /* no further thread is added to a batch of this many pieces */

void unwinder_open(struct unwinder *u, struct target *target, struct codes *codes, bool anew)
{
    static struct batch batch; /* 24 kB, too much for each of many processes */
    static struct code_proofs proofs;
    *u = (struct unwinder){ .target = target, .codes = codes, .batch = &batch, .proofs = &proofs };
    u->walker = (struct walker){
        .layout = &target->runtime.layout, .remote = &target->remote, .codes = codes, .anew = anew
    };
}

void unwinder_close(struct unwinder *u)
{
    walker_close(&u->walker);
    free(u->fresh);
    free(u->unsure);
    *u = (struct unwinder){ 0 };
}

/* ---- code objects ---- */

/* Whether the call proves that the code object is the remembered one. */
static bool code_is_confirmed(const struct unwinder *u, const struct code *code)
{
    /* No code object of the interpreter has been freed since this one was last confirmed. */
    if (u->generation)
        return code->generation == u->generation;
    return code_proofs_have(u->proofs, u->codes, code);
}

/* Adds a code object to `unsure`, unless the call proves it. Looks at it once per sample. */
static void ask_for_code(struct unwinder *u, struct code *code)
{
    if (code->asked_in == u->sample || code->address == 0) /* codes_gone() is no object */
        return;
    code->asked_in = u->sample;
    if (code_is_confirmed(u, code))
        return;
    u->unsure = alloc_grow(u->unsure, &u->unsure_room, u->unsure_count + 1, sizeof(struct code *));
    u->unsure[u->unsure_count++] = code;
}

static void links_ask_for(struct unwinder *u, const struct link *links, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ask_for_code(u, links[i].code);
}

/* Whether the thread's frames are, byte for byte, those of its last sample. Then the stack is the same. */
static bool walk_is_as_before(struct unwinder *u, const struct walk *walk)
{
    struct walker *w = &u->walker;
    if (w->anew || !walk->sampled || walk->epoch != u->codes->epoch || !snapshot_unchanged(&walk->snapshot, w->layout))
        return false;
    w->joined = walk->depth;
    w->up_count = w->unreadable = 0;
    return true;
}

/* Whether the code objects of all frames are still the ones that were remembered before the call. */
static bool confirm_codes(struct unwinder *u, struct walk *walk)
{
    const struct walker *w = &u->walker;
    u->sample++;
    u->unsure_count = 0;
    links_ask_for(u, w->up, w->up_count);
    if (!u->generation || walk->checked != u->generation)
        links_ask_for(u, walk->links, w->joined);
    if (u->unsure_count > 0 && !codes_confirm(u->codes, u->unsure, u->unsure_count)) {
        u->counters.stale++;
        return false;
    }
    for (size_t i = 0; u->generation && i < u->unsure_count; i++)
        u->unsure[i]->generation = u->generation;
    return true;
}

/* ---- the new stack ---- */

static bool same_location(const struct link *a, const struct link *b)
{
    return a->code == b->code && a->instruction == b->instruction;
}

static void walk_add_fresh(struct unwinder *u, const struct walk *walk, struct link link)
{
    const uint32_t i = u->walker.joined + u->fresh_count;
    /* When a code object was forgotten (epoch), the code pointers of the last sample are not valid any more. */
    const struct link *old = i < walk->depth && walk->epoch == u->codes->epoch ? &walk->links[i] : NULL;
    const struct link *before = u->fresh_count > 0 ? &u->fresh[u->fresh_count - 1] : NULL;
    if (old && same_location(old, &link))
        link.frame = old->frame;
    else if (before && same_location(before, &link)) /* a recursion */
        link.frame = before->frame;
    else
        link.frame = codes_frame(u->codes, link.code, (int64_t)(link.instruction - link.code->first) / 2, 0);
    u->fresh[u->fresh_count++] = link;
}

/* Puts the frames that the walker found into `fresh`, root first, with their definitions. */
static void gather(struct unwinder *u, const struct walk *walk)
{
    const struct walker *w = &u->walker;
    u->fresh = alloc_grow(u->fresh, &u->fresh_room, w->up_count, sizeof(*u->fresh));
    u->fresh_count = 0;
    for (uint32_t i = w->up_count; i > 0; i--)
        walk_add_fresh(u, walk, w->up[i - 1]);
}

static void count_frames(struct unwind_counters *counters, bool anew, uint32_t keep, uint32_t depth, bool unchanged)
{
    const uint32_t known = anew ? 0 : keep;
    counters->frames_known += known;
    counters->frames_new += depth - known;
    counters->code_known += depth;
    if (unchanged && !anew)
        counters->full++;
    else if (known > 0)
        counters->partial++;
    else
        counters->missed++;
}

/* Whether both links are emitted in the same way. */
static bool same_link(const struct link *a, const struct link *b)
{
    return a->frame == b->frame && a->from_c == b->from_c;
}

static void walk_take_stack(struct unwinder *u, struct walk *walk, size_t good)
{
    const struct walker *w = &u->walker;
    const uint32_t depth = w->joined + u->fresh_count;
    walk->links = alloc_grow(walk->links, &walk->links_room, depth, sizeof(*walk->links));
    uint32_t keep = w->joined;
    while (keep < depth && keep < walk->depth && same_link(&walk->links[keep], &u->fresh[keep - w->joined]))
        keep++;
    count_frames(&u->counters, w->anew, keep, depth, keep == depth && depth == walk->depth);
    if (u->fresh_count > 0)
        memcpy(walk->links + w->joined, u->fresh, u->fresh_count * sizeof(*u->fresh));
    walk->epoch = u->codes->epoch;
    walk->checked = u->generation;
    walk->sampled = true;
    walk->same = keep < walk->same ? keep : walk->same;
    walk->depth = depth;
    loop_turn_take(walk, w, w->joined, good);
    snapshot_accept(&walk->snapshot, w->layout, w->joined == 0);
}

/* Takes nothing of the last sample into the next one. */
static void walk_distrust(struct walk *walk)
{
    walk->sampled = false;
    walk->epoch = UINT64_MAX; /* no epoch */
    walk->since = (struct gil){ 0 };
}

/* ---- a thread ---- */

static void note_neighbours(const struct layout *l, const unsigned char *state, struct unwound *unwound)
{
    unwound->previous_thread = word_at(state, l->thread_prev);
    unwound->next_thread = word_at(state, l->thread_next);
    unwound->pointer = word_at(state, l->thread_id);
    unwound->native_id = (uint32_t)word_at(state, l->thread_native_id);
    unwound->attachment = l->thread_attachment ? half_word_at(state, l->thread_attachment) : THREAD_DETACHED;
}

/* The bits of enum status that the thread's state shows. */
static uint32_t status_of_state(struct unwinder *u, uint64_t thread, const unsigned char *state)
{
    const struct layout *l = u->walker.layout;
    const bool waits = l->thread_gil_wait && half_word_at(state, l->thread_gil_wait) != 0;
    return (waits ? STATUS_GIL_WAIT : 0) |
           (exc_state_active(&u->handlers, l, &u->target->remote, thread, state) ? STATUS_EXCEPTION : 0);
}

static enum attempt attempt(struct unwinder *u, struct wanted *wanted, size_t good)
{
    struct walk *walk = wanted->walk;
    const struct interpreter *interpreter = &u->target->interpreters[wanted->interpreter];
    const struct layout *l = u->walker.layout;
    enum attempt done = snapshot_check(&walk->snapshot, l, &u->target->remote, interpreter->address, good);
    if (done == ATTEMPT_ELSEWHERE)
        return done;
    note_neighbours(l, snapshot_state(&walk->snapshot), &wanted->unwound);
    if (done != ATTEMPT_ACCEPTED)
        return done;
    /* When the call ended before the interpreters' pieces, their generation is from an earlier call. */
    u->generation = target_came(u->target, good) ? interpreter->generation : 0;
    if (u->spans && !span_piece_take(&walk->span, u->spans, wanted->unwound.pointer, wanted->unwound.native_id, good) &&
        wanted->attempts < ATTEMPTS)
        return ATTEMPT_LEARNED;
    const uint64_t epoch = u->codes->epoch;
    u->codes->interpreter = interpreter->id;
    const bool as_before = walk_is_as_before(u, walk);
    if (!as_before && (done = walk_find(&u->walker, walk)) != ATTEMPT_ACCEPTED)
        return done;
    if (u->codes->epoch != epoch) /* code objects were forgotten, maybe those of frames that were found */
        return ATTEMPT_LEARNED;
    if (u->walker.joined + u->walker.up_count > DEPTH_LIMIT)
        return ATTEMPT_TOO_DEEP;
    if (u->codes->instructions && !frame_opcodes_read(u, walk, interpreter))
        return ATTEMPT_LEARNED;
    /* The frames of a thread that waits for the lock keep their code objects alive. */
    const bool waits = interpreter->gil.known && interpreter->gil.holder != wanted->thread;
    if (!(as_before && waits) && !confirm_codes(u, walk))
        return ATTEMPT_LEARNED;
    if (u->codes->instructions)
        frame_opcodes_gather(u);
    else
        gather(u, walk);
    return ATTEMPT_ACCEPTED;
}

static void wanted_fail(struct wanted *wanted, enum attempt done)
{
    static const enum failure causes[] = {
        [ATTEMPT_TORN] = FAILURE_CHANGED, [ATTEMPT_LEARNED] = FAILURE_CHANGED, [ATTEMPT_UNSURE] = FAILURE_CHANGED,
        [ATTEMPT_NO_CODE] = FAILURE_CODE, [ATTEMPT_TOO_DEEP] = FAILURE_DEPTH,  [ATTEMPT_NO_MEMORY] = FAILURE_MEMORY
    };
    snapshot_fail(&wanted->walk->snapshot, done);
    wanted->unwound.cause = causes[done];
    wanted->state = UNWIND_FAILED;
}

/* Handles what one call read of one thread: accepts the sample, gives up, or leaves the thread wanted. */
static void wanted_take_in(struct unwinder *u, struct wanted *wanted, size_t good)
{
    struct walk *walk = wanted->walk;
    if (good < walk->snapshot.first)
        return; /* the call ended before this thread's pieces */
    u->counters.reads++;
    wanted->attempts++;
    const enum attempt done = attempt(u, wanted, good);
    if (done == ATTEMPT_ACCEPTED) {
        u->counters.right += wanted->attempts == 1;
        if (u->statuses)
            wanted->unwound.status = status_of_state(u, wanted->thread, snapshot_state(&walk->snapshot));
        walk_take_stack(u, walk, good);
        walk->since = wanted->before;
        /* The next look reads unreadable code objects again, even if the thread does not move. */
        if (u->walker.unreadable > 0)
            walk_distrust(walk);
        wanted->state = UNWIND_DONE;
    } else if (done == ATTEMPT_ELSEWHERE) {
        wanted->state = UNWIND_ELSEWHERE;
    } else if (done == ATTEMPT_LEARNED && wanted->attempts < ATTEMPTS) {
        u->counters.learned++;
    } else {
        u->retry_later |= done != ATTEMPT_TOO_DEEP; /* at another moment it is as deep */
        wanted_fail(wanted, done);
    }
}

/* ---- a call ---- */

static bool add_witness(struct unwinder *u, unsigned char *into)
{
    bool added = true;
    for (size_t i = 0; i < u->witness.count; i++) {
        const struct piece *piece = &u->witness.pieces[i];
        added &= batch_add(u->batch, piece->address, piece->size, into);
        into += piece->size;
    }
    return added;
}

/* Begins a batch with the witness. Only the first call keeps the bytes: nothing was read before it. */
static void begin_witness(struct unwinder *u)
{
    static unsigned char unused[WITNESS_ROOM];
    u->batch->count = 0;
    add_witness(u, u->witness.came ? unused : u->witness.first);
}

/* Notes what a call read of the witness. Returns false when the witness is gone; then the call read nothing else. */
static bool hear_witness(struct unwinder *u, size_t good)
{
    u->witness.gone = good < u->witness.count;
    u->witness.came |= u->witness.count > 0 && !u->witness.gone;
    u->witness.reads = u->witness.at_last && good == u->batch->count ? u->target->remote.calls : 0;
    return !u->witness.gone;
}

/* Notes whether the caller's piece was read. */
static void hear_also(struct unwinder *u, bool first, size_t good)
{
    if (!first || u->also.size == 0)
        return;
    u->also_came = good > u->witness.count;
    if (!u->also_came)
        u->also.size = 0;
}

/* Plans a batch for the first threads that are still wanted. Returns how many of the `count` threads it examined;
 * planned[i]: the batch has thread i. */
static size_t plan_call(struct unwinder *u, struct wanted *wanted, size_t count, bool first, bool *planned)
{
    const struct layout *l = u->walker.layout;
    size_t i = 0, threads = 0;
    begin_witness(u);
    if (first && u->also.size > 0)
        batch_add(u->batch, u->also.address, u->also.size, u->also.into);
    for (; i < count && u->batch->count < BATCH_PIECES; i++) {
        planned[i] = false;
        if (wanted[i].state != UNWIND_WANTED)
            continue;
        struct snapshot *snapshot = &wanted[i].walk->snapshot;
        if (wanted[i].attempts == 0)
            snapshot_begin(snapshot, u->more_reads);
        if (!snapshot_plan(snapshot, l, wanted[i].thread, u->batch)) {
            if (threads > 0)
                break;
            wanted_fail(&wanted[i], ATTEMPT_TOO_DEEP);
            snapshot_free(snapshot); /* the next look begins without a plan */
            continue;
        }
        wanted[i].before = u->target->interpreters[wanted[i].interpreter].gil;
        planned[i] = true;
        threads++;
    }
    target_plan(u->target, u->batch);
    code_proofs_begin(u->proofs, u->codes);
    for (size_t k = 0; k < i; k++) {
        if (!planned[k])
            continue;
        loop_turn_plan(&wanted[k].walk->turn, l, u->batch);
        if (u->spans)
            span_piece_plan(&wanted[k].walk->span, u->spans, u->batch);
        /* The frames of a thread that waits for the lock keep their code objects alive. */
        if (!wanted[k].before.known || wanted[k].before.holder == wanted[k].thread)
            code_proofs_plan(u->proofs, u->codes, wanted[k].walk, u->batch);
    }
    u->witness.at_last = add_witness(u, u->witness.last); /* a full batch has no room for it */
    return i;
}

/* How many of the threads are still wanted. */
static size_t count_wanted(const struct wanted *wanted, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += wanted[i].state == UNWIND_WANTED;
    return left;
}

bool unwind_threads(struct unwinder *u, struct wanted *wanted, size_t count, uint64_t now_ns, bool *same)
{
    const uint64_t give_up_ns = now_ns + PATIENCE_NS;
    bool came = false; /* at least one call has read the state of the interpreters */
    *same = true;
    u->more_reads = count > 0 ? MORE_READS / (uint32_t)count : 0;
    codes_trim(u->codes);
    size_t left = count;
    for (int round = 0; round == 0 || (left > 0 && round < 2 * ATTEMPTS && clock_now_ns() < give_up_ns); round++) {
        for (size_t at = 0; at < count || at == 0;) {
            bool planned[REMOTE_PIECES];
            size_t good;
            const size_t went = plan_call(u, at ? wanted + at : wanted,
                                          count - at < REMOTE_PIECES ? count - at : REMOTE_PIECES, at == 0, planned);
            const enum remote_state state = remote_read_pieces(&u->target->remote, u->batch->pieces, u->batch->count,
                                                               &good);
            if (state == REMOTE_GONE || state == REMOTE_DENIED || !hear_witness(u, good))
                return false;
            hear_also(u, at == 0, good);
            u->proofs->good = good;
            if (target_came(u->target, good)) {
                *same &= target_check(u->target);
                came = true;
            }
            for (size_t i = at; i < at + went; i++)
                if (planned[i - at])
                    wanted_take_in(u, &wanted[i], good);
            at += went ? went : 1;
        }
        left = count_wanted(wanted, count);
    }
    u->retry_later |= left > 0;
    for (size_t i = 0; left > 0 && i < count; i++)
        if (wanted[i].state == UNWIND_WANTED)
            wanted_fail(&wanted[i], ATTEMPT_TORN);
    *same &= came;
    return true;
}

bool unwind_unmoved(struct unwinder *u, struct walk *walk, const struct interpreter *interpreter, uint64_t thread)
{
    const struct gil *now = &interpreter->gil, *since = &walk->since;
    const uint64_t switches = now->switches - since->switches;
    if (u->walker.anew || !now->known || !since->known || now->shared || since->shared || thread == now->holder ||
        thread == since->holder)
        return false;
    if (switches > 1 || (switches == 1 && now->holder == since->holder))
        return false;
    walk->since = *now;
    return true;
}
