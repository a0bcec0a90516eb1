/* SPDX-License-Identifier: MIT */
#include "formats/scratch/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tempfile_create(struct fault *why)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/var/tmp";
    char *path = NULL;
    if (asprintf(&path, "%s/pyreel.XXXXXX", folder) < 0) {
        fault(why, "cannot make the name of a temporary file in %s: out of memory", folder);
        return -1;
    }
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    else
        fault(why, "cannot create a temporary file in %s (set TMPDIR to choose another folder): %s", folder,
              strerror(errno));
    free(path);
    return fd;
}

bool tempfile_write(int fd, uint64_t at, const void *bytes, size_t size, struct fault *why)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fault(why, "cannot write a temporary file (set TMPDIR to choose another folder): %s",
                         strerror(errno));
        done += (size_t)n;
    }
    return true;
}

bool tempfile_read(int fd, uint64_t at, void *bytes, size_t size, struct fault *why)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fault(why, "cannot read a temporary file: %s", n < 0 ? strerror(errno) : "the file is too short");
        done += (size_t)n;
    }
    return true;
}
