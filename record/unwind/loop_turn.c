/* SPDX-License-Identifier: MIT */
#include "record/unwind/loop_turn.h"

#include "formats/base/alloc.h"
#include "record/unwind/walk.h"

#define TAGS         UINT64_C(3) /* bits of a variable's word that are not its address (3.14 and later) */
#define NAMES_MOST   32          /* variables of the function; it has about a dozen */
#define NAME_MOST    8           /* bytes of the longest name */
#define SECONDS_MOST 1e10        /* of a monotonic clock */

/* ---- where the variables are ---- */

/* The names of the variables, as far as they may be wanted ones. */
struct turn_names {
    uint64_t addresses[NAMES_MOST], lengths[NAMES_MOST];
    char bytes[NAMES_MOST][NAME_MOST];
};

static bool turn_read_names(const struct walker *w, const struct code *code, struct turn_names *names)
{
    const struct layout *l = w->layout;
    uint64_t tuple; /* the second word in front of the file name, see record/dump/locals/locals.c */
    struct piece pieces[2 * NAMES_MOST];
    const uint32_t count = code->locals;
    if (count == 0 || count > NAMES_MOST ||
        remote_read(w->remote, code->address + l->code_file - 16, &tuple, sizeof(tuple)) != REMOTE_READ ||
        remote_read(w->remote, tuple + l->object_type + 8 + l->tuple_items, names->addresses,
                    count * sizeof(*names->addresses)) != REMOTE_READ)
        return false;
    for (size_t i = 0; i < count; i++) {
        pieces[2 * i] = (struct piece){ names->addresses[i] + l->string_length, 8, &names->lengths[i] };
        pieces[2 * i + 1] = (struct piece){ names->addresses[i] + l->string_ascii, NAME_MOST, names->bytes[i] };
    }
    return remote_read_pieces(w->remote, pieces, 2 * (size_t)count, NULL) == REMOTE_READ;
}

/* The index + 1 of the variable with this name; TURN_NOWHERE: there is none. */
static uint32_t turn_find_name(const struct turn_names *names, uint32_t count, struct text name)
{
    for (uint32_t i = 0; i < count; i++)
        if (names->lengths[i] == name.size && memcmp(names->bytes[i], name.bytes, name.size) == 0)
            return i + 1;
    return TURN_NOWHERE;
}

/* Looks up where the variables are. Returns false when the time to read is over: a later look looks them up. */
static bool turn_find_places(const struct walker *w, struct code *code)
{
    static const struct text wanted[TURN_OBJECTS] = {
        [TURN_TIME] = { "end_time", 8 }, [TURN_INDEX] = { "i", 1 }, [TURN_HANDLE] = { "handle", 6 }
    };
    struct turn_names names;
    const bool good = turn_read_names(w, code, &names);
    if (!good && w->remote->over)
        return false;
    for (size_t i = 0; i < TURN_OBJECTS; i++)
        code->turn_places[i] = good ? turn_find_name(&names, code->locals, wanted[i]) : TURN_NOWHERE;
    return true;
}

/* Whether the function has all variables, and where, which is looked up once. */
static bool turn_has_places(const struct walker *w, struct code *code)
{
    if (code->turn_places[0] == 0 && !turn_find_places(w, code))
        return false;
    bool all = true;
    for (size_t i = 0; i < TURN_OBJECTS; i++)
        all &= code->turn_places[i] != TURN_NOWHERE;
    return all;
}

/* ---- what they hold ---- */

/* Finds the objects of the variables in the copy. All are 0 where the turn has called none yet. */
static bool turn_find_objects(struct walk *walk, const struct walker *w, uint64_t objects[TURN_OBJECTS])
{
    const struct layout *l = w->layout;
    const struct link *link = &walk->links[walk->turn.link - 1];
    const struct found_frame found = snapshot_locate(&walk->snapshot, l, link->address);
    if (!found.bytes || frame_is_compiled(l, found.bytes, link->address) || !turn_has_places(w, link->code))
        return false;
    for (size_t i = 0; i < TURN_OBJECTS; i++) {
        const uint64_t at = link->address + l->frame_locals + 8 * (uint64_t)(link->code->turn_places[i] - 1);
        if (snapshot_words(&walk->snapshot, l, &found, at, &objects[i], 1) != 1)
            return false;
        objects[i] &= ~TAGS;
    }
    if (!objects[TURN_TIME] || !objects[TURN_INDEX])
        memset(objects, 0, TURN_OBJECTS * sizeof(*objects));
    return true;
}

/* Takes the values that the call has read. They may be of any type. */
static bool turn_take_values(struct loop_turn *turn, const struct layout *l)
{
    double seconds;
    memcpy(&seconds, &turn->planned[0], sizeof(seconds));
    const uint64_t digits = turn->planned[1] >> l->int_count_bit;
    if (!(seconds > 0 && seconds < SECONDS_MOST) || digits > 1 || (l->int_count_bit && turn->planned[1] & 2))
        return false;
    turn->began_ns = (uint64_t)(seconds * 1e9);
    turn->index = digits ? (uint32_t)turn->planned[2] : 0;
    return true;
}

void loop_turn_plan(struct loop_turn *turn, const struct layout *l, struct batch *batch)
{
    turn->piece = 0;
    if (!turn->objects[TURN_TIME] || batch->count + 2 > REMOTE_PIECES)
        return;
    const uint32_t value = l->object_type + 8; /* behind the head of an object */
    turn->piece = batch->count + 1;
    batch_add(batch, turn->objects[TURN_TIME] + value, 8, &turn->planned[0]);
    batch_add(batch, turn->objects[TURN_INDEX] + value, 16, &turn->planned[1]);
}

/* The innermost one of the links behind `joined`, or of those before, that is a turn of a loop. */
static uint32_t turn_find_link(const struct walk *walk, uint32_t joined)
{
    for (uint32_t i = walk->depth; i > joined; i--)
        if (walk->links[i - 1].code->turns)
            return i;
    return walk->turn.link <= joined ? walk->turn.link : 0;
}

void loop_turn_take(struct walk *walk, const struct walker *w, uint32_t joined, size_t good)
{
    struct loop_turn *turn = &walk->turn;
    uint64_t objects[TURN_OBJECTS] = { 0 };
    turn->link = turn_find_link(walk, joined);
    turn->reads++;
    turn->known = !turn->link || turn_find_objects(walk, w, objects);
    if (!turn->known)
        memset(objects, 0, sizeof(objects));
    const bool same = turn->known && objects[TURN_TIME] && memcmp(objects, turn->objects, sizeof(objects)) == 0;
    turn->has_values = same && turn->piece && good > turn->piece && turn_take_values(turn, w->layout);
    turn->piece = 0;
    memcpy(turn->objects, objects, sizeof(objects));
}
