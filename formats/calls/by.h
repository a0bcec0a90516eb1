/* SPDX-License-Identifier: MIT */
/* The words of --by say what a table has a row for. */
#ifndef PYREEL_FORMATS_CALLS_BY_H
#define PYREEL_FORMATS_CALLS_BY_H

#include "formats/calls/entries.h"

/* Rows of entries come first. */
enum by { BY_FUNCTION, BY_LINE, BY_FILE, BY_MODULE, BY_THREAD, BY_PROCESS, BY_TASK, BY_OPCODE, BYS };

/* Finds what a word means. False for any other word. */
bool by_named(const char *word, enum by *by);

const char *by_name(enum by by);

/* The kind of the entries that have rows; functions when rows are of something else. */
enum entry_kind by_entry_kind(enum by by);

#endif
