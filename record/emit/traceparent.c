/* SPDX-License-Identifier: MIT */
#include "record/emit/traceparent.h"

#include <ctype.h>

#define TRACEPARENT_SIZE 55 /* bytes: 00-, the trace, -, the span, -, two digits of flags */

/* Sets *value to the number that `digits` hexadecimal digits write. */
static bool take_hexadecimal(const char *text, size_t digits, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < digits; i++) {
        const char letter = text[i];
        if (!isdigit((unsigned char)letter) && !(letter >= 'a' && letter <= 'f'))
            return false;
        *value = *value << 4 | (uint64_t)(isdigit((unsigned char)letter) ? letter - '0' : letter - 'a' + 10);
    }
    return true;
}

bool traceparent_take(struct text *name, struct span_ids *span)
{
    uint64_t version, flags;
    struct span_ids found;
    if (name->size < TRACEPARENT_SIZE + 2)
        return false;
    const char *at = name->bytes + name->size - TRACEPARENT_SIZE;
    if (at[-1] != ' ' || at[2] != '-' || at[35] != '-' || at[52] != '-' || !take_hexadecimal(at, 2, &version) ||
        !take_hexadecimal(at + 3, 16, &found.trace_high) || !take_hexadecimal(at + 19, 16, &found.trace_low) ||
        !take_hexadecimal(at + 36, 16, &found.id) || !take_hexadecimal(at + 53, 2, &flags) || found.id == 0)
        return false;
    name->size -= TRACEPARENT_SIZE + 1;
    *span = found;
    return true;
}
