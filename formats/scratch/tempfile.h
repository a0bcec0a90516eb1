/* SPDX-License-Identifier: MIT */
/* A temporary file for data that does not fit in memory. The file has no name, so nothing remains on the disk however
 * the program ends. The file is made in $TMPDIR, else in /var/tmp, because /tmp is often in memory. */
#ifndef PYREEL_FORMATS_SCRATCH_TEMPFILE_H
#define PYREEL_FORMATS_SCRATCH_TEMPFILE_H

#include "formats/base/fault.h"

#include <stddef.h>
#include <stdint.h>

/* Creates a temporary file, open for reading and writing. Returns the file descriptor, which the caller closes, or -1
 * with the reason in `why`. */
int tempfile_create(struct fault *why);

/* Writes `size` bytes at the offset `at`. Returns false with the reason in `why` when not all bytes could be written.
 */
bool tempfile_write(int fd, uint64_t at, const void *bytes, size_t size, struct fault *why);

/* Reads `size` bytes at the offset `at`. Returns false with the reason in `why` when the file cannot be read or has
 * fewer bytes. */
bool tempfile_read(int fd, uint64_t at, void *bytes, size_t size, struct fault *why);

#endif
