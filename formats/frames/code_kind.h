/* SPDX-License-Identifier: MIT */
/* Kinds of code: where the code of a function comes from. All outputs that show kinds share these names, so that a
 * colour, a filter and a table mean the same.
 *
 *     "Your code"           app.py, ./lib/parse.py
 *     "Packages"            .../site-packages/requests/api.py
 *     "Standard library"    .../lib/python3.15/json/decoder.py
 *     "Idle"                the frame [idle], which says what a thread did and not whose code ran (waiting.h) */
#ifndef PYREEL_FORMATS_FRAMES_CODE_KIND_H
#define PYREEL_FORMATS_FRAMES_CODE_KIND_H

#include "formats/model/tables.h"

enum code_kind {
    CODE_OTHER,
    CODE_PROGRAM, /* the user's own code */
    CODE_PACKAGE, /* installed packages */
    CODE_LIBRARY, /* the standard library */
    CODE_IMPORT,  /* the import machinery */
    CODE_NATIVE,  /* C code between Python frames */
    CODE_GC,      /* garbage collection */
    CODE_ASYNCIO, /* asyncio's own code, and the frames of tasks */
    CODE_WAITING, /* waiting for the interpreter's lock, or for native threads that work for the call */
    CODE_IDLE,    /* waiting for anything else */
    CODE_KINDS
};

/* The name of a kind for people ("Your code"), and for programs that read an output ("program"). */
const char *code_kind_label(enum code_kind kind);
const char *code_kind_name(enum code_kind kind);

/* The kind of the code in a file. */
enum code_kind code_kind_of_file(struct text file);

/* The kind of a function of the tables. */
enum code_kind code_kind_of(const struct tables *tables, uint32_t function);

#endif
