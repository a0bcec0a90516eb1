/* SPDX-License-Identifier: MIT */
#include "convert/top/reading.h"

#include <string.h>

static bool reading_take(void *self, struct event *event, struct fault *why)
{
    struct reading *reading = self;
    pthread_mutex_lock(&reading->lock);
    reading->model.tables.forgiving = source_is_damaged(&reading->source);
    const bool good = model_take(&reading->model, event, why);
    pthread_mutex_unlock(&reading->lock);
    reading->refused |= !good;
    if (event->kind == EVENT_RECORDING)
        reading->opened = good;
    if (event->kind == EVENT_END && reading->feed)
        reading->feed->stop = true; /* a file that has its end does not grow any more */
    return good;
}

/* Counts what the tables refused as damage, as converters do. False: a file of this kind cannot be damaged. */
static bool forgive(struct reading *reading)
{
    if (!reading->refused || !source_forgive(&reading->source, reading->why.text))
        return false;
    reading->refused = false;
    reading->why.text[0] = '\0';
    return true;
}

static bool read_events(struct reading *reading, const struct sink *sink)
{
    for (;;) {
        const enum source_state state = source_read(&reading->source, sink, &reading->why);
        reading->news++;
        if (state == SOURCE_ENDED)
            return true;
        if (state == SOURCE_STOPPED && !forgive(reading))
            return false;
    }
}

static bool open_recording(struct reading *reading, const struct sink *sink)
{
    const struct source_options options = { .runs = true, .run_ns = CPU_WINDOW_NS }; /* as pyreel-report */
    struct following *following = &reading->following;
    if (reading->feed && following_begin(following, reading->feed, reading->known))
        return source_open_parts(&reading->source, reading->fd, &following->parts, &options, sink, &reading->why);
    return source_open(&reading->source, reading->fd, &options, sink, &reading->why);
}

static void *reading_run(void *self)
{
    struct reading *reading = self;
    const struct sink sink = { .take = reading_take, .self = reading };
    const bool opened = open_recording(reading, &sink);
    reading->failed = !opened || !read_events(reading, &sink);
    if (opened)
        reading->report = source_report(&reading->source);
    pthread_mutex_lock(&reading->lock);
    model_finish(&reading->model);
    pthread_mutex_unlock(&reading->lock);
    source_close(&reading->source);
    following_end(&reading->following);
    reading->ended = true;
    reading->news++;
    return NULL;
}

bool reading_start(struct reading *reading, int fd, struct feed *feed, struct fault *why)
{
    reading->fd = fd;
    reading->feed = feed;
    pthread_mutex_init(&reading->lock, NULL);
    const int failure = pthread_create(&reading->thread, NULL, reading_run, reading);
    reading->running = failure == 0;
    return reading->running || fault(why, "cannot start a thread: %s", strerror(failure));
}

void reading_join(struct reading *reading)
{
    if (reading->running)
        pthread_join(reading->thread, NULL);
    reading->running = false;
}
