/* SPDX-License-Identifier: MIT */
#include "record/unwind/span_piece.h"

#include <endian.h>
#include <string.h>

#define VALID_AT  24
#define SEARCH_NS 10000000 /* a thread that has not used its variable yet is asked again after this time */

void span_piece_plan(struct span_piece *piece, const struct thread_variable *variable, struct batch *batch)
{
    piece->piece = 0;
    if (!variable->known || !piece->variable || batch->count + 2 > REMOTE_PIECES)
        return;
    piece->piece = batch->count + 1;
    piece->has_record = piece->record && piece->record != piece->bad;
    batch_add(batch, piece->variable, sizeof(piece->pointer), &piece->pointer);
    if (piece->has_record)
        batch_add(batch, piece->record, sizeof(piece->bytes), piece->bytes);
}

/* The bytes of an id as a number. */
static uint64_t id_at(const unsigned char *bytes, uint32_t offset)
{
    return be64toh(word_at(bytes, offset));
}

static struct span_ids span_of_record(const unsigned char bytes[SPAN_RECORD])
{
    if (bytes[VALID_AT] != 1)
        return (struct span_ids){ 0 };
    return (struct span_ids){ id_at(bytes, 0), id_at(bytes, 8), id_at(bytes, 16) };
}

/* Notes the thread of the piece, which may be another one than before. Returns whether its variable can be read now. */
static bool span_piece_follow(struct span_piece *piece, const struct thread_variable *variable, uint64_t pointer,
                              uint32_t native_id)
{
    *piece = (struct span_piece){ .thread = pointer, .native_id = native_id, .ran = true };
    if (variable->known && !variable->module)
        piece->variable = pointer + variable->offset;
    return piece->variable != 0;
}

bool span_piece_take(struct span_piece *piece, const struct thread_variable *variable, uint64_t pointer,
                     uint32_t native_id, size_t good)
{
    if (!variable->known)
        return true;
    if (piece->thread != pointer || piece->native_id != native_id)
        return !span_piece_follow(piece, variable, pointer, native_id);
    piece->span = (struct span_ids){ 0 };
    piece->ran = true;
    if (!piece->piece)
        return true;
    const size_t at = piece->piece - 1;
    if (good < at) /* the call ended at a piece of something else */
        return false;
    if (good == at) { /* the variable is gone */
        piece->variable = 0;
        return false;
    }
    const uint64_t planned = piece->has_record ? piece->record : 0;
    piece->record = piece->pointer;
    if (piece->pointer == 0 || piece->pointer == piece->bad)
        return good != at + 1 || !piece->has_record;
    if (piece->pointer != planned)
        return false;
    if (good == at + 1) {
        piece->bad = planned;
        return false;
    }
    piece->span = span_of_record(piece->bytes);
    return true;
}

bool span_piece_search(struct span_piece *piece, const struct thread_variable *variable, struct remote *remote,
                       uint64_t now_ns)
{
    if (!variable->known || !piece->thread || piece->variable || !piece->ran || now_ns < piece->due_ns)
        return false;
    piece->ran = false;
    piece->variable = thread_variable_address(variable, remote, piece->thread);
    piece->due_ns = now_ns + SEARCH_NS;
    return true;
}
