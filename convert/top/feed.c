/* SPDX-License-Identifier: MIT */
#include "convert/top/feed.h"

#include "convert/source.h"
#include "formats/base/output.h"
#include "formats/stream/stream_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define NAP_MS     100 /* between two looks at the end of the file */
#define LOCK_NAPS  20  /* so many looks without news, before the lock is looked at */
#define FEED_CHUNK 65536

/* Whether a recorder has the file locked. The lock is tried for a moment: a recorder that starts just then on the same
 * file would be refused. */
static bool is_locked(int file)
{
    if (flock(file, LOCK_SH | LOCK_NB) != 0)
        return true;
    flock(file, LOCK_UN);
    return false;
}

/* Whether the file is one that may grow. */
static bool grows(const char *bytes, size_t size)
{
    return size < SOURCE_HEAD || source_kind_of((struct text){ bytes, size }) == &stream_read_kind;
}

static bool is_as_before(const struct stat *before, const struct stat *now)
{
    return before->st_dev == now->st_dev && before->st_ino == now->st_ino && before->st_size == now->st_size &&
           before->st_mtim.tv_sec == now->st_mtim.tv_sec && before->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

/* Waits for the file of a recorder. False when no recorder will make it any more. */
static bool open_awaited(struct feed *feed)
{
    while (!feed->abandon) {
        const bool last = feed->stop;
        struct stat there;
        if (stat(feed->path, &there) == 0 && there.st_size > 0 && !is_as_before(&feed->there, &there)) {
            feed->file = open(feed->path, O_RDONLY | O_CLOEXEC);
            return feed->file >= 0;
        }
        if (last)
            return false;
        poll(NULL, 0, NAP_MS);
    }
    return false;
}

static void follow(struct feed *feed)
{
    char bytes[FEED_CHUNK];
    unsigned naps = 0;
    bool may_grow = true, first = true;
    while (!feed->abandon) {
        const bool last = feed->stop;
        const ssize_t got = read(feed->file, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || (got == 0 && (last || !may_grow)) ||
            (got > 0 && !output_write_all(feed->to, bytes, (size_t)got)))
            return;
        if (got > 0) {
            may_grow = first ? grows(bytes, (size_t)got) : may_grow;
            first = false;
            naps = 0;
            feed->at_end = false;
            continue;
        }
        feed->at_end = true;
        feed->unwritten = naps >= LOCK_NAPS && (naps % LOCK_NAPS ? feed->unwritten : !is_locked(feed->file));
        naps++;
        poll(NULL, 0, NAP_MS);
    }
}

static void *feed_run(void *self)
{
    struct feed *feed = self;
    if (!feed->awaited || open_awaited(feed))
        follow(feed);
    close(feed->to);
    feed->to = -1;
    return NULL;
}

static bool feed_start(struct feed *feed, struct fault *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fault(why, "cannot make a pipe: %s", strerror(errno));
    feed->from = ends[0];
    feed->to = ends[1];
    const int failure = pthread_create(&feed->thread, NULL, feed_run, feed);
    feed->running = failure == 0;
    if (failure != 0) {
        close(feed->to);
        feed->to = -1;
    }
    return feed->running || fault(why, "cannot start a thread: %s", strerror(failure));
}

bool feed_open(struct feed *feed, const char *path, int file, struct fault *why)
{
    *feed = (struct feed){ .path = path, .file = file, .from = -1, .to = -1 };
    return feed_start(feed, why);
}

void feed_prepare(struct feed *feed, const char *path)
{
    *feed = (struct feed){ .path = path, .awaited = true, .file = -1, .from = -1, .to = -1 };
    if (stat(path, &feed->there) != 0)
        feed->there = (struct stat){ 0 };
}

bool feed_await(struct feed *feed, struct fault *why)
{
    return feed_start(feed, why);
}

/* A thread that still has bytes to give is told that nobody reads. */
void feed_close(struct feed *feed)
{
    if (feed->from >= 0)
        close(feed->from);
    if (feed->running)
        pthread_join(feed->thread, NULL);
    if (feed->file >= 0)
        close(feed->file);
    feed->from = feed->file = -1;
    feed->running = false;
}

int feed_next(struct feed *feed, int file)
{
    feed_close(feed);
    feed->file = file;
    feed->stop = feed->at_end = feed->unwritten = false;
    return file >= 0 && feed_start(feed, NULL) ? fcntl(feed->from, F_DUPFD_CLOEXEC, 0) : -1;
}

bool feed_is_written(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool written = file >= 0 && is_locked(file);
    if (file >= 0)
        close(file);
    return written;
}

void feed_stop(struct feed *feed)
{
    feed->abandon = true;
}
