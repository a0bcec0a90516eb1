/* SPDX-License-Identifier: MIT */
/* Finds the functions of a second recording that are those of the first one although they were defined on other lines,
 * in another folder or with another version of Python: a comparison of two versions of a program is about them.
 *
 *     BASE   sort, /srv/old/app.py, line 12        NEW   sort, /srv/new/app.py, line 15      the same function
 *
 * Two functions are alike when their names and their modules (formats/model/paths.h) are equal, and the first recording
 * has only one such function. Functions without a name of their own, such as <lambda>, are never alike. */
#ifndef PYREEL_CONVERT_FILTERS_ALIKE_H
#define PYREEL_CONVERT_FILTERS_ALIKE_H

#include "formats/intern/intern.h"
#include "formats/model/paths.h"

struct alike_row {
    uint32_t function; /* number in the output of the first recording's function; 0: there are several */
    uint32_t line;     /* first line of the second recording's function that is the same; 0: none yet */
};

/* `= {0}` is empty. */
struct alike {
    struct intern keys; /* name and module */
    struct alike_row *rows;
    size_t room;
    bool second; /* the second recording is being read */
    bool found;  /* `paths` is made */
    struct paths paths;
};

/* Starts the next recording. */
void alike_next(struct alike *alike);

/* Notes a function of the first recording, and its number in the output. Does nothing in the second recording. */
void alike_note(struct alike *alike, const struct tables *from, const struct function *function, uint32_t number);

/* The number in the output of the first recording's function that is the same as this one of the second recording; 0:
 * none is known. */
uint32_t alike_find(struct alike *alike, const struct tables *from, const struct function *function);

void alike_free(struct alike *alike);

#endif
