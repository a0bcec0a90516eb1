/* SPDX-License-Identifier: MIT */
/* How a str of the target keeps its characters, and those as UTF-8. Pure; what is given is not trusted. */
#ifndef PYREEL_RECORD_PYTHON_UNICODE_H
#define PYREEL_RECORD_PYTHON_UNICODE_H

#include "formats/model/event.h"
#include "record/python/layout.h"

struct characters {
    uint32_t offset; /* of the first one from the object's start */
    uint32_t kind;   /* bytes of each: 1, 2 or 4 */
    uint32_t count;
    bool cut; /* there are more than the limit */
};

/* From the length and the state of a str. False when it can't be one. */
bool unicode_find(const struct layout *layout, uint64_t length, uint32_t state, uint32_t limit,
                  struct characters *characters);

/* `raw` has count * kind bytes. The caller frees it with text_free(). */
struct text unicode_text(const struct characters *characters, const unsigned char *raw);

#endif
