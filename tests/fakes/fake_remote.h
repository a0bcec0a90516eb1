/* SPDX-License-Identifier: MIT */
/* Memory that lies, linked in the place of record/process/remote.c: a process is a few regions of our own bytes. It can
 * change while it is read: a hook is called before each piece is copied, so a test can be the program that runs on
 * meanwhile. With it comes a clock, in the place of record/process/clock.c, that a test can stop: how quick a call is
 * must not depend on what else the machine does. */
#ifndef PYREEL_TESTS_FAKES_FAKE_REMOTE_H
#define PYREEL_TESTS_FAKES_FAKE_REMOTE_H

#include "record/process/remote.h"

/* From now on the `size` bytes at `address` are those at `bytes`. Regions that touch are read as one. */
void fake_remote_map(uint64_t address, void *bytes, size_t size);
void fake_remote_unmap(uint64_t address);

/* From now on these bytes can't be read, in whatever region they are; size 0: all can. */
void fake_remote_hide(uint64_t address, size_t size);

/* What is called before each piece of a read; `i` is its place in the call. NULL: nothing. */
typedef void fake_hook(void *self, const struct piece *piece, size_t i);
void fake_remote_hook(fake_hook *hook, void *self);

/* From now on every read answers so, REMOTE_READ: as the memory is. */
void fake_remote_answer(enum remote_state state);

/* From now on it is this time until the next call of this, and each read takes so long. 0, 0: it is as late as it is.
 */
void fake_remote_time(uint64_t now_ns, uint64_t read_ns);

/* Forgets all of the above. */
void fake_remote_reset(void);

#endif
