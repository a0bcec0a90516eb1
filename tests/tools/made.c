/* SPDX-License-Identifier: MIT */
#include "tests/tools/made.h"

#include <fcntl.h>
#include <string.h>

bool made_tell(struct stream_writer *writer, struct event event)
{
    return stream_write(writer, &event, NULL);
}

bool made_begin(struct stream_writer *writer, const char *path, const char *mode, const struct event *beginning,
                size_t count)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    stream_writer_open(writer, fd, CODEC_GROUPED);
    bool good = made_tell(writer,
                          (struct event){ EVENT_RECORDING, .recording = { .pyreel_version = TEXT("0"),
                                                                          .command = TEXT("pyreel-record -p 4242"),
                                                                          .mode = { mode, strlen(mode) },
                                                                          .start_unix_ns = 1700000000000000000,
                                                                          .interval_ns = MS,
                                                                          .time_unit_ns = 1000 } });
    for (size_t i = 0; i < count; i++)
        good = good && made_tell(writer, beginning[i]);
    return good;
}

bool made_end(struct stream_writer *writer, bool good, uint64_t ticks, uint64_t samples)
{
    const struct event end = { EVENT_END, .end = { END_TARGET, ticks * MS, ticks, samples, 0, 0, 0 } };
    good = good && made_tell(writer, end);
    stream_writer_close(writer);
    return good;
}
