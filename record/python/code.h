/* SPDX-License-Identifier: MIT */
/* The code objects of one process. Each is read once and remembered while it lives. A code object gives the indexes of
 * its function and of the frames at its instructions in the recording's definitions (definitions.h).
 *
 * At any time, a code object can be freed and another can get its address. So each code object has an identity: the
 * bytes that no other code object at that address has. From 3.12 on these contain a number that an interpreter gives
 * only once. A stack is true only if each code object that was remembered still has its identity (unwind.h).
 *
 * Each interpreter counts these numbers from the start, and a new interpreter may get the addresses of an old one. So
 * the code objects of each interpreter are remembered apart. */
#ifndef PYREEL_RECORD_PYTHON_CODE_H
#define PYREEL_RECORD_PYTHON_CODE_H

#include "record/emit/definitions.h"
#include "record/process/remote.h"
#include "record/python/code_bodies.h"
#include "record/python/layout.h"

#define CODE_IDENTITY (LAYOUT_IDENTITY_MAX + 32) /* bytes of the longest identity */

/* Functions of asyncio that are called when a future is done, and then wake another future, or the task of a group. */
enum wakes {
    WAKES_NOBODY,
    WAKES_OF_CLOSURE,  /* the only future among the variables of its closure */
    WAKES_OF_ARGUMENT, /* its first argument */
    WAKES_OF_GROUP,    /* the attribute _parent_task of its object */
};

/* What a look needs comes first. */
struct code {
    uint64_t address;
    uint64_t interpreter;   /* id of its interpreter */
    struct code *next;      /* in its bucket */
    uint64_t first;         /* address of the first instruction of this copy */
    uint32_t copy;          /* which copy of the bytecode; each is a struct code of its own. 0: the one in the code
                               object */
    uint32_t number;        /* the recorder's number for it; never given again */
    uint32_t function;      /* index in the definitions */
    uint32_t units;         /* two-byte instructions */
    uint32_t flags;         /* co_flags */
    uint32_t locals, stack; /* words of its frames for variables, and for the stack of values */
    bool hidden;            /* CPython's own code: no function of the program */
    uint8_t wakes;          /* enum wakes */
    bool waits; /* a generator that goes on at `waits_at` waits for another one (layout->waits_by_argument) */
    bool turns; /* BaseEventLoop._run_once of asyncio, see record/unwind/loop_turn.h ... */
    uint32_t turn_places[3]; /* ... indexes + 1 of its variables; 0: not looked up yet; or TURN_NOWHERE */
    uint64_t generation;     /* code generation + 1 of the interpreter when the identity was last confirmed; 0: never.
                                Where no generation is kept: the tick of tasks (asyncio_tasks.h) in which it was */
    uint64_t waits_at;       /* address of an instruction; 0: `waits` is not known */
    uint64_t asked_in;       /* the last sample that asked for the identity */
    struct code_body *body;  /* NULL for codes_gone() */
    uint64_t copies;         /* address of the array of all copies; 0 for copy 0 */
    uint64_t name, file;     /* addresses of its strings, which are part of the identity in 3.11 */
    uint64_t read_ns;        /* when its identity was read, or earlier read in the process that forked (monotonic) */
    unsigned char *identity; /* codes->identity_size bytes, in the same piece of memory */
};

#define TURN_NOWHERE  UINT32_MAX
#define CODES_AT_ONCE 16 /* the most code objects that are read together */
#define COMPILED_BEFORE                                                                                                \
    192                   /* bytes of a frame object in front of a frame of compiled code, see frame_is_compiled()     \
                           */
#define UNIT_BEGINS  (-1) /* of codes_frame(): the function is about to begin */
#define UNIT_UNKNOWN (-2) /* the line is not known: compiled code executes no instructions */

struct codes {
    struct remote *remote;
    const struct layout *layout;
    struct definitions *definitions;
    struct code_bodies *bodies; /* `own`, or what codes_share() was told */
    struct code_bodies own;
    size_t identity_size; /* bytes of the longest identity that this version has */
    uint64_t
        interpreter; /* id of the interpreter whose code objects codes_find() finds; the caller sets it at any time */
    struct code **buckets;
    size_t buckets_count; /* a power of two, or 0 */
    size_t count;
    size_t bytes;        /* of memory that the code objects take, with their bodies */
    struct code *recent; /* the one that was found last */
    uint64_t
        epoch; /* grows when a code object is forgotten; while it is the same, all struct code pointers stay valid */
    uint32_t last_number;
    uint64_t reads;      /* number of code objects that were read */
    bool instructions;   /* set after codes_open() for --opcodes: fill in code->instructions */
    uint64_t code_type;  /* address of the type "code"; 0: not known yet */
    struct code gone;    /* see codes_gone() */
    uint64_t gone_count; /* number of frames that got it */

    /* What was taken over from the process that forked this one, see codes_inherit(). */
    struct codes *heritage; /* the code objects of that process at that time; NULL: none */
    uint8_t *taken;         /* a bit for each of them: it is, or was, among the code objects of this process */
    uint64_t forked_ns;
    struct codes *handed_on;              /* the heritage of the last forked process; NULL: none, ... */
    uint64_t handed_epoch, handed_number; /* ... `epoch` and `last_number` at that time */
    uint32_t references;                  /* of a heritage: processes that have it */
};

/* Prepares `codes`. The other arguments stay the caller's and must outlive `codes`. */
void codes_open(struct codes *codes, struct remote *remote, const struct layout *layout,
                struct definitions *definitions);
/* Puts the bodies where those of other processes are. They must belong to the same definitions, and must outlive
 * `codes`. Call this before a code object is read. */
void codes_share(struct codes *codes, struct code_bodies *bodies);

/* Takes over what is remembered of the process that forked this one, as far as it was read before `forked_ns`, a time
 * (monotonic) before the fork. Until the fork both processes were one. So a code object that was read in this time and
 * still has its identity is the same one. No identity is confirmed yet. Takes no memory for code objects that the
 * process does not use: all processes that the parent forks in a row share one copy of what was known. */
void codes_inherit(struct codes *codes, struct codes *parent, uint64_t forked_ns);

/* Frees the memory of all code objects. */
void codes_close(struct codes *codes);

/* The address that stands for a unit of the code. */
static inline uint64_t code_address(const struct code *code, int64_t unit)
{
    return code->first + (uint64_t)(unit * 2);
}

/* Forgets all code objects. All struct code pointers become invalid. */
void codes_forget(struct codes *codes);

/* What a frame executes: the address of a code object (0: none), and which copy of its bytecode. */
struct executed {
    uint64_t code;
    uint32_t copy;
};

/* Reads this from the layout->frame_size bytes of a frame. */
static inline struct executed code_executed(const struct layout *l, const unsigned char *frame)
{
    return (struct executed){ .code = word_at(frame, l->frame_executable) & l->executable_mask,
                              .copy = l->frame_copy ? half_word_at(frame, l->frame_copy) : 0 };
}

/* Whether a frame is one of compiled code. Nuitka makes C of Python functions, and links a frame for each call, so that
 * tracebacks and sys._getframe() have it:
 *
 *     frame object of compiled code  [ head, f_back, f_frame ... │ the frame ]       one piece of memory
 *     frame object of CPython        [ head, f_back, f_frame ... ]  ...  [ generator │ the frame ]
 *
 * Such a frame says that a generator owns it, but it lies in its own frame object. CPython's generators never do:
 * between the addresses of a generator's frame and of its frame object are the whole frame object, whose own frame has
 * more than 128 bytes, or the whole generator, and their heads. */
static inline bool frame_is_compiled(const struct layout *l, const unsigned char *frame, uint64_t address)
{
    return frame[l->frame_owner] == l->owner_generator && address - word_at(frame, l->frame_object) < COMPILED_BEFORE;
}

/* Returns this copy of the code object at this address; NULL: it is not remembered. Valid until codes->epoch changes.
 */
struct code *codes_find(struct codes *codes, uint64_t address, uint32_t copy);

/* Reads this copy of the code object at this address and remembers it. It must not be remembered already. Returns NULL
 * when it is not readable, or no code object. */
struct code *codes_read(struct codes *codes, uint64_t address, uint32_t copy);

/* The same for up to CODES_AT_ONCE different code objects, with two or three system calls for all, and one more for
 * each piece that is not readable. Returns whether the first one was read. Others that were not read may be tried
 * later. */
bool codes_read_all(struct codes *codes, const struct executed *which, size_t count);

/* Returns the code object for frames whose own is not readable: a function `<code that was gone>` without instructions.
 * Counts the frame in codes->gone_count. Valid until codes_close(). */
struct code *codes_gone(struct codes *codes);

/* Forgets all code objects if there are very many. */
void codes_trim(struct codes *codes);

/* Reads the identities of `count` code objects again, with few system calls. Forgets the code objects whose identity
 * has changed; returns whether there is none. */
bool codes_confirm(struct codes *codes, struct code *const *which, size_t count);

#define IDENTITY_PIECES 3 /* the most pieces that an identity consists of */

/* Fills in `pieces` (room for IDENTITY_PIECES) to read the identity of a code object into `into` (CODE_IDENTITY bytes).
 * The first piece lies in the code object's head. Returns the number of pieces. */
size_t code_identity_pieces(const struct codes *codes, const struct code *code, unsigned char *into,
                            struct piece *pieces);

/* Returns the unit at which the instruction begins that the unit at `address` belongs to; -1: not known. A unit is two
 * bytes. */
int64_t code_instruction(const struct code *code, uint64_t address);

/* Returns the index in the definitions of the frame at a unit, or at UNIT_BEGINS or UNIT_UNKNOWN. `opcode` is the
 * opcode at the unit; 0: the frame is defined without an instruction. */
uint32_t codes_frame(struct codes *codes, const struct code *code, int64_t unit, uint8_t opcode);

#endif
