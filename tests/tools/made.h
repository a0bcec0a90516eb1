/* SPDX-License-Identifier: MIT */
/* Recordings that programs of ours make event by event, as the recorder of process 4242 would: with ticks of 1 ms. */
#ifndef PYREEL_TESTS_TOOLS_MADE_H
#define PYREEL_TESTS_TOOLS_MADE_H

#include "tests/fakes/story.h"

bool made_tell(struct stream_writer *writer, struct event event);

/* Begins one in a file, in a mode of the recorder, with these events. False when it could not. */
bool made_begin(struct stream_writer *writer, const char *path, const char *mode, const struct event *beginning,
                size_t count);

/* Its end after so many ticks; the writer is closed in any case. False unless all is written and was `good` before. */
bool made_end(struct stream_writer *writer, bool good, uint64_t ticks, uint64_t samples);

#endif
