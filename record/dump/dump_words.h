/* SPDX-License-Identifier: MIT */
/* The words in which a dump tells what a thread does. All writers of dumps take them from here. */
#ifndef PYREEL_RECORD_DUMP_DUMP_WORDS_H
#define PYREEL_RECORD_DUMP_DUMP_WORDS_H

#include "record/dump/dumped.h"

#define DUMP_WORDS_MOST 8

/* Puts the words for a row into `words`. Returns how many there are. */
size_t dump_words(const struct dumped *dumped, const struct dumped_row *row, const char *words[DUMP_WORDS_MOST]);

/* What is special about the process: that it is stopped, or waits in the kernel where no signal reaches it. NULL:
 * nothing. */
const char *dump_words_standing(const struct standing *standing);

/* Why a row has no stack. */
const char *dump_words_failure(const struct dumped *dumped, const struct dumped_row *row);

#endif
