/* SPDX-License-Identifier: MIT */
#include "formats/frames/task_frame.h"

#include <string.h>

#define BEGINS TEXT("<task ")
#define NUMBER TEXT("Task-") /* asyncio names a task without a name Task-N */

static bool takes(struct text *from, struct text beginning)
{
    if (from->size < beginning.size || memcmp(from->bytes, beginning.bytes, beginning.size) != 0)
        return false;
    *from = (struct text){ from->bytes + beginning.size, from->size - beginning.size };
    return true;
}

static bool take_digits(struct text *from)
{
    const size_t before = from->size;
    while (from->size > 0 && from->bytes[0] >= '0' && from->bytes[0] <= '9')
        *from = (struct text){ from->bytes + 1, from->size - 1 };
    return from->size < before;
}

bool task_frame_is_automatic(struct text name)
{
    return takes(&name, NUMBER) && take_digits(&name) && name.size == 0;
}

struct text task_frame_merged(struct text name)
{
    struct text rest = name;
    if (!takes(&rest, BEGINS) || !takes(&rest, NUMBER) || !take_digits(&rest))
        return name;
    if (takes(&rest, TEXT(" (")) && !(take_digits(&rest) && takes(&rest, TEXT(" parents)"))))
        return name;
    return takes(&rest, TEXT(">")) && rest.size == 0 ? TEXT("<task>") : name;
}
