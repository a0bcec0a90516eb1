/* SPDX-License-Identifier: MIT */
#include "record/launch/descriptors.h"

#include <sys/resource.h>

void descriptors_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
