/* SPDX-License-Identifier: MIT */
#include "formats/intern/hash.h"

#include <sys/random.h>

struct hash_factors hash_anew(void)
{
    uint64_t factors[3];
    if (getrandom(factors, sizeof(factors), GRND_NONBLOCK) != sizeof(factors))
        return HASH_USUAL;
    return (struct hash_factors){ factors[0] | 1, factors[1] | 1, factors[2] | 1, true };
}
