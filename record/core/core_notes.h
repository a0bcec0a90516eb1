/* SPDX-License-Identifier: MIT */
/* The notes of a core file: threads, mapped files, and what the process was. */
#ifndef PYREEL_RECORD_CORE_CORE_NOTES_H
#define PYREEL_RECORD_CORE_CORE_NOTES_H

#include "record/core/core_file.h"

/* Takes the notes of a segment of `size` bytes, at this offset of the core file. Damaged notes end it. */
void core_notes_take(struct core_file *core, uint64_t offset, uint64_t size);

/* Reads bytes of the core file itself. False when they are not there. */
bool core_notes_read(const struct core_file *core, uint64_t offset, void *into, size_t size);

#endif
