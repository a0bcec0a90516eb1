/* SPDX-License-Identifier: MIT */
#include "record/linetable.h"

enum { ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, LINE_ONLY = 13, LONG = 14, NO_LOCATION = 15 };

/* Bytes from the front; past the end zeros, and bad. */
struct table {
    const uint8_t *at, *end;
    bool bad;
};

static uint8_t next_byte(struct table *table)
{
    if (table->at < table->end)
        return *table->at++;
    table->bad = true;
    return 0;
}

static uint32_t next_number(struct table *table)
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

/* 0 stands for unknown. */
static int32_t next_column(struct table *table)
{
    const uint32_t column = next_number(table);
    if (column <= INT32_MAX)
        return (int32_t)column - 1;
    table->bad = true;
    return -1;
}

/* The lowest bit is the sign. */
static int32_t next_signed(struct table *table)
{
    const uint32_t value = next_number(table);
    const int32_t size = (int32_t)(value >> 1);
    return value & 1 ? -size : size;
}

/* Steps over an entry, moves *line on and tells its place. Returns how many code units it covers. */
static uint32_t next_entry(struct table *table, int64_t *line, struct place *place)
{
    const uint8_t head = next_byte(table);
    const unsigned code = head >> 3 & 15;
    *place = (struct place){ .column = -1, .end_column = -1 };
    if (!(head & 0x80))
        table->bad = true;
    int64_t end_line_step = 0;
    if (code < ONE_LINE_FIRST) {
        const uint8_t columns = next_byte(table);
        place->column = (int32_t)(code << 3 | columns >> 4);
        place->end_column = place->column + (columns & 15);
    } else if (code <= ONE_LINE_LAST) {
        *line += code - ONE_LINE_FIRST;
        place->column = next_byte(table);
        place->end_column = next_byte(table);
    } else if (code == LINE_ONLY) {
        *line += next_signed(table);
    } else if (code == LONG) {
        *line += next_signed(table);
        end_line_step = next_number(table);
        place->column = next_column(table);
        place->end_column = next_column(table);
    }
    if (code != NO_LOCATION && *line > 0 && *line + end_line_step <= INT32_MAX) {
        place->line = (uint32_t)*line;
        place->end_line = (uint32_t)(*line + end_line_step);
    }
    return (head & 7u) + 1;
}

bool linetable_find(const uint8_t *table, size_t size, uint32_t first_line, uint32_t unit, struct place *place)
{
    struct table entries = { table, table + size, false };
    int64_t line = first_line;
    uint64_t covered = 0;
    while (entries.at < entries.end && !entries.bad && line >= INT32_MIN && line <= INT32_MAX) {
        covered += next_entry(&entries, &line, place);
        if (covered > unit && !entries.bad)
            return true;
    }
    *place = (struct place){ .column = -1, .end_column = -1 };
    return false;
}
