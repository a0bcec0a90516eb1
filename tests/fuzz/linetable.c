/* SPDX-License-Identifier: MIT */
/* Four bytes of first line, two of a code unit, and a location table. */
#include "record/python/linetable.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_LIMIT 65536

FUZZ_TARGET(linetable)
{
    uint32_t first_line;
    uint16_t unit;
    if (size < sizeof(first_line) + sizeof(unit))
        return 0;
    memcpy(&first_line, bytes, sizeof(first_line));
    memcpy(&unit, bytes + sizeof(first_line), sizeof(unit));
    const uint8_t *table = bytes + sizeof(first_line) + sizeof(unit);
    size -= sizeof(first_line) + sizeof(unit);
    if (size > TABLE_LIMIT)
        size = TABLE_LIMIT;
    struct location location, again;
    const bool found = linetable_find(table, size, first_line, unit, &location);
    if (found != linetable_find(table, size, first_line, unit, &again) ||
        memcmp(&location, &again, sizeof(location)) != 0)
        abort();
    const bool unknown = !location.line && !location.end_line && location.column == -1 && location.end_column == -1;
    if ((!found && !unknown) || location.column < -1 || location.end_column < -1 || location.end_line < location.line)
        abort();
    return 0;
}
