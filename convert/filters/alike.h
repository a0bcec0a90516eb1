/* SPDX-License-Identifier: MIT */
/* Finds the functions of a recording that are those of a recording before although they were defined on other lines, in
 * another folder or with another version of Python: a comparison of two versions of a program is about them.
 *
 *     before   sort, /srv/old/app.py, line 12        after   sort, /srv/new/app.py, line 15      the same function
 *
 * Two functions are alike when their names and their modules (formats/model/paths.h) are equal, and the recording that
 * has them first has only one such function. Functions without a name of their own, such as <lambda>, are alike only in
 * main scripts of two names, on the same line.
 * The module of a C function is its library, of whatever version.
 *
 * The main scripts of both sides are one module, whatever their names are: v1.py and v2.py. A side's main script is the
 * one that the command line of the first process names that names one. */
#ifndef PYREEL_CONVERT_FILTERS_ALIKE_H
#define PYREEL_CONVERT_FILTERS_ALIKE_H

#include "formats/intern/intern.h"
#include "formats/model/paths.h"

struct alike_row {
    uint32_t function;  /* number in the output of the first such function; 0: none yet */
    uint32_t first;     /* number of the recording that has it first ... */
    bool several;       /* ... and that has several such functions */
    uint32_t recording; /* number of the latest recording that has a function that is the same, ... */
    uint32_t line;      /* ... and the first line of that function */
};

/* The main script of a side. Texts are owned; empty: not known. */
struct alike_script {
    struct text name; /* as the command line has it */
    struct text path; /* of the file, as the side's functions have it */
};

/* Set `before`; the rest starts as zeros. */
struct alike {
    size_t before;                  /* so many recordings are of the side before; 0: nothing is compared */
    struct alike_script scripts[2]; /* of before, of after */
    struct bytes script_module;     /* the module of the script of before, as keys have it; empty: no function yet */
    struct intern keys;             /* name and module */
    struct alike_row *rows;
    size_t room;
    uint32_t recording; /* number of the recording that is being read */
    struct paths paths; /* of the tables as far as they are read */
};

/* Starts the next recording. */
void alike_next(struct alike *alike);

/* Notes a function that is like none before, and its number in the output. */
void alike_note(struct alike *alike, const struct tables *from, const struct function *function, uint32_t number);

/* The number in the output of the function of recordings before that is the same as this one; 0: none is known. */
uint32_t alike_find(struct alike *alike, const struct tables *from, const struct function *function);

/* Sets the paths of the main scripts of before and after, as functions have them, if they were taken as one. False: they
 * were not taken as one, because their names are equal or a side has none. Call it when all is read; the texts live as
 * long as `alike`. */
bool alike_scripts(const struct alike *alike, struct text paths[2]);

void alike_free(struct alike *alike);

#endif
