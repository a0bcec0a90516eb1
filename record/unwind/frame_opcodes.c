/* SPDX-License-Identifier: MIT */
#include "record/unwind/frame_opcodes.h"

#include "formats/base/alloc.h"

#define ASKED_MOST 256 /* opcodes that one call reads */
#define AGAIN      8   /* links of the last sample whose opcodes are read again */

/* The opcodes that one system call reads. A recursion's instruction is read once. */
struct asking {
    struct unwinder *u;
    const struct interpreter *interpreter;
    struct asked {
        struct link *link;
        size_t piece;
        uint8_t base;
        bool known; /* the link is of the last sample */
    } asked[ASKED_MOST];
    size_t count;
    struct piece pieces[ASKED_MOST + 2];
    unsigned char opcodes[ASKED_MOST];
    size_t pieces_count;
    bool same; /* the links of the last sample have the same opcodes */
};

/* Stores the opcode of a link; 0: not known. For a link of the last sample, compares the opcodes. */
static void link_take_opcode(struct asking *asking, const struct asked *asked, uint8_t opcode)
{
    if (asked->known) {
        asking->same &= opcode == asked->link->opcode;
        return;
    }
    asked->link->opcode = opcode;
    asking->u->counters.instructions += opcode != 0;
    asking->u->counters.instructions_unknown += opcode == 0;
}

static void read_asked(struct asking *asking)
{
    struct unwinder *u = asking->u;
    const struct layout *l = u->walker.layout;
    size_t pieces = asking->pieces_count, good = 0;
    uint64_t generation = 0;
    uint32_t copies = 0;
    if (pieces == 0)
        return;
    /* If a code object was freed before the opcodes were read, all code objects have to be confirmed. */
    if (u->generation)
        asking->pieces[pieces++] = (struct piece){ asking->interpreter->address + l->interpreter_code_generation,
                                                   sizeof(generation), &generation };
    if (u->generation && l->interpreter_copies_generation)
        asking->pieces[pieces++] = (struct piece){ asking->interpreter->address + l->interpreter_copies_generation,
                                                   sizeof(copies), &copies };
    remote_read_pieces(&u->target->remote, asking->pieces, pieces, &good);
    asking->same &= !u->target->remote.over; /* else nothing was read: the look begins again */
    if (good < pieces || generation + copies + 1 != u->generation)
        u->generation = 0;
    for (size_t i = 0; i < asking->count; i++) {
        const struct asked *asked = &asking->asked[i];
        const uint8_t opcode = asking->opcodes[asked->piece];
        const bool fits = asked->piece < good && opcode_bases_fit(l->opcode_names, opcode, asked->base);
        link_take_opcode(asking, asked, fits ? opcode : 0);
    }
    asking->count = asking->pieces_count = 0;
}

static void link_ask_opcode(struct asking *asking, struct link *link, bool known)
{
    const struct code *code = link->code;
    const int64_t unit = code_instruction(code, link->instruction);
    struct asked asked = { .link = link, .known = known };
    if (unit < 0 && link->instruction < code->first)
        return; /* the function is about to begin */
    if (unit < 0) {
        link_take_opcode(asking, &asked, 0);
        return;
    }
    const uint64_t address = code->first + (uint64_t)unit * 2;
    const size_t last = asking->pieces_count - 1; /* valid if there is a piece */
    if (asking->pieces_count > 0 && asking->pieces[last].address == address) {
        asked.piece = last;
    } else {
        asked.piece = asking->pieces_count++;
        asking->pieces[asked.piece] = (struct piece){ address, 1, &asking->opcodes[asked.piece] };
    }
    asked.base = code->body->instructions[unit].base;
    asking->asked[asking->count++] = asked;
    if (asking->count == ASKED_MOST)
        read_asked(asking);
}

bool frame_opcodes_read(struct unwinder *u, struct walk *walk, const struct interpreter *interpreter)
{
    const struct walker *w = &u->walker;
    struct asking asking;
    asking.u = u;
    asking.interpreter = interpreter;
    asking.count = asking.pieces_count = 0;
    asking.same = true;
    for (uint32_t i = 0; i < w->up_count; i++)
        link_ask_opcode(&asking, &w->up[i], false);
    for (uint32_t i = 0; i < AGAIN && i < w->joined; i++) {
        walk->looked_at = walk->looked_at > 0 && walk->looked_at <= w->joined ? walk->looked_at - 1 : w->joined - 1;
        link_ask_opcode(&asking, &walk->links[walk->looked_at], true);
    }
    read_asked(&asking);
    if (!asking.same)
        walk->epoch = UINT64_MAX; /* no epoch: take no link of the last sample */
    return asking.same;
}

static void asking_add_fresh(struct unwinder *u, struct link link)
{
    link.frame = codes_frame(u->codes, link.code, (int64_t)(link.instruction - link.code->first) / 2, link.opcode);
    u->fresh[u->fresh_count++] = link;
}

void frame_opcodes_gather(struct unwinder *u)
{
    const struct walker *w = &u->walker;
    u->fresh = alloc_grow(u->fresh, &u->fresh_room, w->up_count, sizeof(*u->fresh));
    u->fresh_count = 0;
    for (uint32_t i = w->up_count; i > 0; i--)
        asking_add_fresh(u, w->up[i - 1]);
}
