/* SPDX-License-Identifier: MIT */
/* Tells the frames of C functions their lines, and adds the functions that the compiler has inlined. A recording has
 * the address of such a frame, and the debug information of the module, on this machine, knows the rest:
 *
 *     recorded     deflate (libz.so.1)
 *     passed on    deflate (libz.so.1/deflate.c:985) -> deflate_slow (libz.so.1/deflate.c:1932)
 *
 * The filter stands before the tables of a recording and adds strings, functions and frames to those of the file. So
 * the numbers of the file are raised: by as many as were added before. A frame with inlined functions becomes several
 * frames in a row. Where no debug information is known, all passes through as it is. */
#ifndef PYREEL_CONVERT_SYMBOLS_C_LINES_H
#define PYREEL_CONVERT_SYMBOLS_C_LINES_H

#include "convert/symbols/debug_info.h"
#include "formats/intern/intern.h"
#include "formats/model/sink.h"
#include "formats/model/tables.h"

/* From where debug information may come. */
enum debug_source {
    DEBUG_LOCAL,   /* from this machine */
    DEBUG_NONE,    /* from nowhere: nothing is added */
    DEBUG_FETCHED, /* also from the servers of DEBUGINFOD_URLS */
};

/* From the number `from` of the file on, numbers are raised by `by`. */
struct raise {
    uint64_t from;
    uint32_t by;
};

/* How the numbers of one kind are raised. `= {0}`: they are not. */
struct raises {
    struct raise *rows; /* sorted */
    size_t count, room;
};

/* How many more frames the stack of a thread has behind the filter, by the number of frames that the file has. */
struct more_frames {
    uint32_t *rows;
    size_t room;
};

/* Set `source`, `lines_only` and `to`, and `tables` before each recording; the rest starts as zeros. */
struct c_lines {
    enum debug_source source;
    bool lines_only; /* inlined functions are not added */
    struct sink to;
    const struct tables *tables; /* behind `to`: they have all that was passed on */

    /* ---- for all recordings ---- */
    struct intern modules;      /* path and build id */
    struct debug_info **opened; /* by number of `modules`; NULL: there is no debug information */
    size_t opened_room;
    struct debug_place places[DEBUG_PLACES]; /* of the address that is being looked up */

    /* ---- the recording that is being read ---- */
    struct raises strings, functions, frames;
    struct intern texts, added;             /* strings and functions that the filter has added, ... */
    uint32_t *text_numbers, *added_numbers; /* ... and their numbers behind the filter */
    size_t text_numbers_room, added_numbers_room;
    struct more_frames *more; /* by thread */
    size_t more_room;
    uint32_t *stack; /* the pushed frames of the sample that is being passed on */
    size_t stack_room;
};

/* Forgets the recording that was read before. */
void c_lines_next(struct c_lines *lines, const struct tables *tables);

/* Takes an event of the recording, and passes it on. False with the reason when `to` refused an event. */
bool c_lines_take(struct c_lines *lines, struct event *event, struct fault *why);

/* Frees the memory. */
void c_lines_free(struct c_lines *lines);

#endif
