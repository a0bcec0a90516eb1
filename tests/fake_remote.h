/* SPDX-License-Identifier: MIT */
/* Memory that lies, linked in the place of record/remote.c: a process is a few regions of our own bytes. It can change
 * while it is read: a hook is called before each piece is copied, so a test can be the program that runs on meanwhile.
 */
#ifndef PYREEL_TESTS_FAKE_REMOTE_H
#define PYREEL_TESTS_FAKE_REMOTE_H

#include "record/remote.h"

/* From now on the `size` bytes at `address` are those at `bytes`. Regions that touch are read as one. */
void fake_remote_map(uint64_t address, void *bytes, size_t size);
void fake_remote_unmap(uint64_t address);

/* What is called before each piece of a read; `i` is its place in the call. NULL: nothing. */
typedef void fake_hook(void *self, const struct piece *piece, size_t i);
void fake_remote_hook(fake_hook *hook, void *self);

/* From now on every read answers so, REMOTE_READ: as the memory is. */
void fake_remote_answer(enum remote_state state);

/* Forgets all of the above. */
void fake_remote_reset(void);

#endif
