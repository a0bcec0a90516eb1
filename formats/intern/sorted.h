/* SPDX-License-Identifier: MIT */
/* Rows that are sorted by an address or another number, the uint64_t with which each row begins. */
#ifndef PYREEL_FORMATS_INTERN_SORTED_H
#define PYREEL_FORMATS_INTERN_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number of rows, of `size` bytes each, whose number is `key` or less: the index of the first row behind `key`. */
static inline size_t sorted_until(const void *rows, size_t count, size_t size, uint64_t key)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        uint64_t number;
        memcpy(&number, (const char *)rows + middle * size, sizeof(number));
        if (number <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
