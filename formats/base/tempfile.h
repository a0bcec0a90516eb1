/* SPDX-License-Identifier: MIT */
/* A file for what does not fit in memory. It has no name, so nothing is left behind however we end. It is put in
 * $TMPDIR, else in /var/tmp, which unlike /tmp is rarely memory itself. */
#ifndef PYREEL_FORMATS_BASE_TEMPFILE_H
#define PYREEL_FORMATS_BASE_TEMPFILE_H

#include "formats/base/fault.h"

#include <stddef.h>
#include <stdint.h>

/* Creates one, open for reading and writing; the caller closes it. -1 with the reason when it can't. */
int tempfile_create(struct fault *why);

/* Writes all of the bytes at this place. False with the reason. */
bool tempfile_write(int fd, uint64_t at, const void *bytes, size_t size, struct fault *why);

/* Reads as many bytes, which must be there. False with the reason. */
bool tempfile_read(int fd, uint64_t at, void *bytes, size_t size, struct fault *why);

#endif
