/* SPDX-License-Identifier: MIT */
#include "formats/base/startup.h"

#include "formats/base/alloc.h"

#include <fcntl.h>
#include <malloc.h>
#include <nss.h>
#include <unistd.h>

/* An array of this size has pages of its own: it grows without a copy, and its pages are the system's again when it is
 * freed. Left alone, malloc() raises this size up to 32 MB, and arrays that grew leave holes behind: pyreel-pprof took
 * 258 MiB in place of 226 for a million rows. */
#define LARGE (1 << 20)

void startup(int failure)
{
    alloc_failure_exit_code = failure;
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, 2 * LARGE);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            _exit(failure);
    if (!LOADS_LIBRARIES)
        __nss_configure_lookup("passwd", "files");
}
