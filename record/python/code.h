/* SPDX-License-Identifier: MIT */
/* Code objects of one process, each read once and remembered while it lives: which function it is, and which frame an
 * instruction of it is, as indexes of the recording's definitions (definitions.h).
 *
 * A code object can be freed, and another can take its address, at any time. What we remember must not be mistaken for
 * the other, so each has an identity: what it is made of, with a number that is given only once (since 3.12). The rule
 * that makes a stack true (see unwind.h): a code object counts only when it was known before the snapshot of the stack
 * and still has its identity after it.
 *
 * Each interpreter counts anew, and the next one may have all it had at the same addresses. So what is known of the
 * code objects of one interpreter is not used for another's. */
#ifndef PYREEL_RECORD_PYTHON_CODE_H
#define PYREEL_RECORD_PYTHON_CODE_H

#include "record/emit/definitions.h"
#include "record/process/remote.h"
#include "record/python/layout.h"
#include "record/python/opcode_bases.h"
#include "record/python/opcode_effects.h"

#define CODE_IDENTITY (LAYOUT_IDENTITY_MAX + 32) /* bytes of the longest identity */

struct code {
    uint64_t address;
    uint32_t copy;     /* which of its copies of the bytecode; each is remembered by itself. 0: the one in it */
    uint64_t first;    /* address of the first instruction of this copy */
    uint64_t copies;   /* where the addresses of all are; 0 for copy 0 */
    uint32_t number;   /* ours; never used again for another */
    uint32_t function; /* its index in the definitions */
    uint32_t first_line;
    uint32_t units;                   /* two-byte instructions */
    uint32_t flags;                   /* co_flags */
    uint32_t locals, stack;           /* words that a frame of it has for variables and for values */
    uint8_t *kinds;                   /* of each unit's instruction, see formats/cpython/opcodes.h */
    struct instruction *instructions; /* of each unit, see opcode_bases.h; NULL when they are not recorded */
    bool hidden;                      /* CPython's own: not a function of the program */
    uint8_t *line_table;
    size_t line_table_size;
    uint64_t name, file; /* addresses of its strings: parts of its identity in 3.11 */
    unsigned char identity[CODE_IDENTITY];
    uint64_t interpreter; /* whose it is: as codes->interpreter */
    uint64_t generation;  /* its identity was last right when that had this code generation + 1; 0 never */
    uint64_t asked_in;    /* the sample that last asked for its identity */
    struct code *next;    /* in its bucket */
};

#define CODE_BUCKETS  4096
#define CODES_AT_ONCE 16 /* that are read together at most */

struct codes {
    struct remote *remote;
    const struct layout *layout;
    struct definitions *definitions;
    uint64_t interpreter; /* id of the one whose code objects are looked for; may be set at any time */
    struct code *buckets[CODE_BUCKETS];
    size_t count;
    size_t bytes;        /* that are kept of them */
    struct code *recent; /* found last */
    uint64_t epoch;      /* grows when one is forgotten: until then a struct code stays where it is */
    uint32_t last_number;
    bool instructions;             /* may be set after codes_open(): those that frames stand at are recorded, too */
    uint64_t code_type;            /* address of the type "code"; 0 until one was seen */
    struct code gone;              /* see codes_gone() */
    uint64_t gone_count;           /* frames that were given it */
    struct intern_pairs locations; /* (code number, place and opcode) → frame */
};

/* The others must live as long as `codes`. */
void codes_open(struct codes *codes, struct remote *remote, const struct layout *layout,
                struct definitions *definitions);
void codes_close(struct codes *codes);

/* The effects of the instruction at an address in a code object, see formats/cpython/opcodes.h. */
static inline uint32_t code_kind(const struct code *code, uint64_t instruction)
{
    const uint64_t unit = (instruction - code->first) / 2;
    return unit < code->units ? (uint32_t)code->kinds[unit] << OPCODE_SHIFT : 0;
}

/* Whether a call of its function makes a generator, a coroutine or an asynchronous generator. */
static inline bool code_is_generator(const struct code *code)
{
    return code->flags & 0x2a0; /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
}

/* Forgets all code objects. Call it when no struct code is held. */
void codes_forget(struct codes *codes);

/* What a frame executes: a code object's address, 0 for none, and which copy of its bytecode. */
struct executed {
    uint64_t code;
    uint32_t copy;
};

/* The same from the layout->frame_size bytes of a frame. */
static inline struct executed code_executed(const struct layout *l, const unsigned char *frame)
{
    return (struct executed){ .code = word_at(frame, l->frame_executable) & l->executable_mask,
                              .copy = l->frame_copy ? half_word_at(frame, l->frame_copy) : 0 };
}

/* This copy of the code object at this address if it is remembered, else NULL. */
struct code *codes_find(struct codes *codes, uint64_t address, uint32_t copy);

/* Reads this copy of the code object at this address and remembers it. NULL when there is none that can be read. It
 * must not be remembered already. */
struct code *codes_read(struct codes *codes, uint64_t address, uint32_t copy);

/* The same of up to CODES_AT_ONCE different ones, with two or three system calls for all, and one more for each
 * that can't be read. Returns whether the first could be read; the others may be read later. */
bool codes_read_all(struct codes *codes, const struct executed *which, size_t count);

/* Stands for a code object that a frame has and that can't be read: a function `<code that was gone>`, without
 * instructions. Counted in codes->gone_count. Valid until codes_close(). */
struct code *codes_gone(struct codes *codes);

/* The same when there are very many. */
void codes_trim(struct codes *codes);

/* Reads the identities of `count` code objects with few system calls; forgets those that are others now and returns
 * whether all are the same as ever. */
bool codes_confirm(struct codes *codes, struct code *const *which, size_t count);

/* The unit where the instruction begins to which the one at an address in it belongs; -1 when that is not known. */
int64_t code_instruction(const struct code *code, uint64_t address);

/* The frame of an instruction, counted in two-byte units from the first; -1 when the function is about to begin.
 * `opcode` is the one that stands there, or 0 for a frame that does not tell. */
uint32_t codes_frame(struct codes *codes, const struct code *code, int64_t unit, uint8_t opcode);

#endif
