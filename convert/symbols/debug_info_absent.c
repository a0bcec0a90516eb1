/* SPDX-License-Identifier: MIT */
#include "convert/symbols/debug_info.h"

bool debug_info_exists(void)
{
    return false;
}

struct debug_info *debug_info_open(struct text path, struct text build_id, bool fetch)
{
    (void)path, (void)build_id, (void)fetch;
    return NULL;
}

size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_place places[DEBUG_PLACES])
{
    (void)info, (void)address, (void)places;
    return 0;
}

void debug_info_close(struct debug_info *info)
{
    (void)info;
}
