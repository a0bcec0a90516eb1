/* SPDX-License-Identifier: MIT */
/* Finds the characters of a str object of the target, and converts them to UTF-8. The bytes come from the target and
 * are not trusted. */
#ifndef PYREEL_RECORD_PYTHON_UNICODE_H
#define PYREEL_RECORD_PYTHON_UNICODE_H

#include "formats/model/event.h"
#include "record/python/layout.h"

struct characters {
    uint32_t offset; /* of the first character from the object's start */
    uint32_t kind;   /* bytes of each: 1, 2 or 4 */
    uint32_t count;
    bool cut;        /* the str has more characters than the limit */
    uint64_t length; /* characters of the str */
};

#define UNICODE_NAME 1000 /* characters that are read of each end of a longer name */

/* Finds the characters of a str from the two members of its head: its length, and its state. At most `limit` characters
 * count. Returns false when the members cannot be those of a str. */
bool unicode_find(const struct layout *layout, uint64_t length, uint32_t state, uint32_t limit,
                  struct characters *characters);

/* Converts the characters at `raw` (count * kind bytes) to UTF-8; a text that was cut ends in an ellipsis. The caller
 * frees the text with text_free(). */
struct text unicode_text(const struct characters *characters, const unsigned char *raw);

/* Converts a name, of which at most UNICODE_NAME characters count, to UTF-8 of at most NAME_LIMIT bytes
 * (formats/intern/name.h). `end` has the last UNICODE_NAME characters of a name that was cut: cut names differ when one
 * of their ends or their lengths differ. The caller frees the text with text_free(). */
struct text unicode_name(const struct characters *characters, const unsigned char *raw, const unsigned char *end);

#endif
