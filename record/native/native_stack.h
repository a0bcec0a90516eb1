/* SPDX-License-Identifier: MIT */
/* Puts the C frames of a thread among its Python frames. Both were taken at one moment (capture.h).
 *
 * Each entry from C code into the interpreter leaves an object on the C stack whose address the Python stack has: the
 * entry shim, before CPython 3.12 the C frame (struct _PyCFrame). So the C frame in which that address lies is the loop
 * of the interpreter that runs the Python frames of this entry, whatever its name is, and if it has one:
 *
 *     C stack                          Python stack                      emitted
 *     [sp, cfa) compress2      leaf                                      compress2
 *     [sp, cfa) loop, has 1            work, main      entry 1           work, main
 *     [sp, cfa) PyObject_Call          -               -                 PyObject_Call
 *     [sp, cfa) loop, has 2            run, <module>   entry 2           run, <module>
 *     [sp, cfa) main                   -               -                 (left out: outside Python)
 *
 * Where the C stack cannot be unwound, the mark <native> stands for what is missing, and the next entry goes on: the
 * distance from an entry to the end of its frame is a constant of the build, learned from stacks that were whole. */
#ifndef PYREEL_RECORD_NATIVE_NATIVE_STACK_H
#define PYREEL_RECORD_NATIVE_NATIVE_STACK_H

#include "record/native/c_stack.h"
#include "record/unwind/walk.h"

#define NATIVE_FRAMES 4096 /* most C frames of a stack */

/* Counters for --stats and the summary. */
struct native_counters {
    uint64_t samples;         /* that have C functions: counted by who emits them */
    uint64_t merged;          /* stacks of which each entry was found in a C frame */
    uint64_t holes;           /* of these, stacks with a part that could not be unwound */
    uint64_t unmerged;        /* stacks without C frames: an entry was in none, or there was no stack */
    uint64_t frames;          /* C frames that were emitted */
    uint64_t named, nameless; /* places in C code with the name of a symbol, and without */
    uint64_t late, refused;   /* stops that came too late; that were not possible */
    uint64_t moved;           /* threads that had gone on when they were stopped */
    uint64_t spared;          /* threads that were not stopped, for it might have interrupted a system call */
};

/* An entry into the interpreter. */
struct native_entry {
    uint64_t address; /* of the object on the C stack */
    uint32_t link;    /* index of its outermost Python frame */
};

/* The C frames of a stack, root first: what walk->c_links points to. `= {0}` is empty; free `links`. */
struct c_links {
    struct c_link *links;
    size_t count, room;
};

/* `= {0}`, and call native_stack_open(). One for each process. */
struct native_stack {
    struct code_map map;
    struct c_frame frames[NATIVE_FRAMES];
    struct native_entry *entries; /* leaf first */
    size_t entries_count, entries_room;
    struct cfi_rule loop;   /* a row of the interpreter's loop, ... */
    uint64_t loop_distance; /* ... and from an entry to the end of its frame; 0: not learned yet */
    bool loops_differ;      /* several distances were seen: none is believed */
    struct native_counters counters;
};

void native_stack_open(struct native_stack *native, struct remote *remote, struct definitions *definitions);
void native_stack_close(struct native_stack *native);

/* The address on the C stack of the outermost entry of a stack; 0: not known. */
uint64_t native_stack_last(const struct walk *walk, const struct layout *layout);

/* Finds the C frames of a stack from what was copied at the moment of its look. `hole`: index of the frame <native>.
 * False: there are none. */
bool native_stack_merge(struct native_stack *native, const struct walk *walk, const struct layout *layout,
                        const struct c_registers *registers, const struct c_copy *copy, uint32_t hole, uint64_t now_ns,
                        struct c_links *found);

/* Finds the C frames of a thread that runs no Python, up to its root, or to the mark `hole`. */
void native_stack_alone(struct native_stack *native, const struct c_registers *registers, const struct c_copy *copy,
                        uint32_t hole, uint64_t now_ns, struct c_links *found);

#endif
