/* SPDX-License-Identifier: MIT */
#include "record/python/linetable.h"

enum { ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, LINE_ONLY = 13, LONG = 14, NO_LOCATION = 15 };

/* Takes a byte from the front of the table. At the end of the table, returns 0 and sets `bad`. */
static uint8_t next_byte(struct linetable *table)
{
    if (table->at < table->end)
        return *table->at++;
    table->bad = true;
    return 0;
}

static uint32_t linetable_next_number(struct linetable *table)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 6) {
        const uint8_t byte = next_byte(table);
        value |= (uint32_t)(byte & 0x3F) << shift;
        if (!(byte & 0x40))
            return value;
    }
    table->bad = true;
    return 0;
}

/* Takes a column: the table has column + 1; 0 is an unknown column. */
static int32_t next_column(struct linetable *table)
{
    const uint32_t column = linetable_next_number(table);
    if (column <= INT32_MAX)
        return (int32_t)column - 1;
    table->bad = true;
    return -1;
}

/* Takes a signed number: the lowest bit is the sign. */
static int32_t next_signed(struct linetable *table)
{
    const uint32_t value = linetable_next_number(table);
    const int32_t size = (int32_t)(value >> 1);
    return value & 1 ? -size : size;
}

/* Takes an entry, and sets table->location to the entry's location. */
static void next_entry(struct linetable *table)
{
    struct location *const location = &table->location;
    const uint8_t head = next_byte(table);
    const unsigned code = head >> 3 & 15;
    *location = (struct location){ .column = -1, .end_column = -1 };
    if (!(head & 0x80))
        table->bad = true;
    int64_t end_line_step = 0;
    if (code < ONE_LINE_FIRST) {
        const uint8_t columns = next_byte(table);
        location->column = (int32_t)(code << 3 | columns >> 4);
        location->end_column = location->column + (columns & 15);
    } else if (code <= ONE_LINE_LAST) {
        table->line += code - ONE_LINE_FIRST;
        location->column = next_byte(table);
        location->end_column = next_byte(table);
    } else if (code == LINE_ONLY) {
        table->line += next_signed(table);
    } else if (code == LONG) {
        table->line += next_signed(table);
        end_line_step = linetable_next_number(table);
        location->column = next_column(table);
        location->end_column = next_column(table);
    }
    if (code != NO_LOCATION && table->line > 0 && table->line + end_line_step <= INT32_MAX) {
        location->line = (uint32_t)table->line;
        location->end_line = (uint32_t)(table->line + end_line_step);
    }
    table->covered += (head & 7u) + 1;
}

struct linetable linetable_open(const uint8_t *table, size_t size, uint32_t first_line)
{
    return (struct linetable){ .at = table, .end = table + size, .line = first_line };
}

bool linetable_go(struct linetable *table, uint32_t unit, struct location *location)
{
    while (table->covered <= unit && table->at < table->end && !table->bad && table->line >= INT32_MIN &&
           table->line <= INT32_MAX)
        next_entry(table);
    const bool found = table->covered > unit && !table->bad;
    *location = found ? table->location : (struct location){ .column = -1, .end_column = -1 };
    return found;
}

bool linetable_find(const uint8_t *table, size_t size, uint32_t first_line, uint32_t unit, struct location *location)
{
    struct linetable from_start = linetable_open(table, size, first_line);
    return linetable_go(&from_start, unit, location);
}
