/* SPDX-License-Identifier: MIT */
/* Threads as users name them (--threads LIST): names, patterns as of fnmatch(3), and numbers, with commas between.
 * Blanks around a word are ignored. */
#ifndef PYREEL_FORMATS_NAMES_NAME_LIST_H
#define PYREEL_FORMATS_NAMES_NAME_LIST_H

#include "formats/base/text.h"

#include <stdint.h>

/* Whether a word of the list means who has this name and this number. */
bool name_list_has(const char *list, struct text name, uint64_t number);

#endif
