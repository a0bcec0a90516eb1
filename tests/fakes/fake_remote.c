/* SPDX-License-Identifier: MIT */
#include "tests/fakes/fake_remote.h"

#include "record/process/clock.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#define REGIONS 64

static struct region {
    uint64_t address;
    unsigned char *bytes;
    size_t size;
} regions[REGIONS];
static size_t regions_count;
static uint64_t hidden_from, hidden_size;
static fake_hook *before_piece;
static void *hook_self;
static enum remote_state answer;
static _Atomic uint64_t stopped_ns, slowness_ns;

void fake_remote_reset(void)
{
    regions_count = 0;
    before_piece = NULL;
    answer = REMOTE_READ;
    stopped_ns = slowness_ns = 0;
    hidden_size = 0;
}

void fake_remote_hide(uint64_t address, size_t size)
{
    hidden_from = address;
    hidden_size = size;
}

void fake_remote_map(uint64_t address, void *bytes, size_t size)
{
    assert(regions_count < REGIONS);
    regions[regions_count++] = (struct region){ address, bytes, size };
}

void fake_remote_unmap(uint64_t address)
{
    for (size_t i = regions_count; i > 0; i--)
        if (regions[i - 1].address == address)
            regions[i - 1] = regions[--regions_count];
}

void fake_remote_hook(fake_hook *hook, void *self)
{
    before_piece = hook;
    hook_self = self;
}

void fake_remote_answer(enum remote_state state)
{
    answer = state;
}

/* ---- time ---- */

void fake_remote_time(uint64_t now_ns, uint64_t read_ns)
{
    stopped_ns = now_ns;
    slowness_ns = read_ns;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
    return stopped_ns ? stopped_ns : read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_unix_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t clock_suspended_ns(void)
{
    return 0;
}

void clock_sleep_until(uint64_t deadline_ns)
{
    stopped_ns = stopped_ns ? deadline_ns : 0;
}

bool clock_sleep_or_readable(uint64_t deadline_ns, int fd, int other)
{
    (void)fd;
    (void)other;
    clock_sleep_until(deadline_ns);
    return false;
}

void clock_be_punctual(void)
{
}

/* ---- memory ---- */

static const struct region *region_of(uint64_t address)
{
    for (size_t i = 0; i < regions_count; i++)
        if (address >= regions[i].address && address - regions[i].address < regions[i].size)
            return &regions[i];
    return NULL;
}

static bool copy_piece(const struct piece *piece)
{
    if (hidden_size && piece->address < hidden_from + hidden_size && hidden_from < piece->address + piece->size)
        return false;
    for (size_t done = 0; done < piece->size;) {
        const uint64_t address = piece->address + done;
        const struct region *region = region_of(address);
        if (!region || address < piece->address)
            return false;
        const size_t offset = (size_t)(address - region->address);
        const size_t left = piece->size - done, there = region->size - offset;
        memcpy((char *)piece->into + done, region->bytes + offset, left < there ? left : there);
        done += left < there ? left : there;
    }
    return true;
}

bool remote_open(struct remote *remote, pid_t pid, struct fault *why)
{
    *remote = (struct remote){ .pid = pid, .memory = -1 };
    if (answer == REMOTE_READ)
        return true;
    errno = answer == REMOTE_GONE ? ESRCH : EPERM;
    return fault(why, "not here");
}

void remote_close(struct remote *remote)
{
    *remote = (struct remote){ .memory = -1 };
}

enum remote_state remote_read_pieces(struct remote *remote, const struct piece *pieces, size_t count, size_t *good)
{
    assert(count <= REMOTE_PIECES);
    remote->calls++;
    remote->pieces += count;
    stopped_ns += stopped_ns ? slowness_ns : 0;
    remote->over |= remote->give_up_ns && clock_now_ns() > remote->give_up_ns;
    if (remote->over && good)
        *good = 0;
    if (remote->over)
        return REMOTE_UNREADABLE;
    size_t whole = 0;
    for (; answer == REMOTE_READ && whole < count; whole++) {
        if (before_piece)
            before_piece(hook_self, &pieces[whole], whole);
        if (!copy_piece(&pieces[whole]))
            break;
        remote->bytes += pieces[whole].size;
    }
    if (good)
        *good = whole;
    if (answer != REMOTE_READ)
        return answer;
    return whole == count ? REMOTE_READ : REMOTE_UNREADABLE;
}

enum remote_state remote_read(struct remote *remote, uint64_t address, void *into, size_t size)
{
    return remote_read_pieces(remote, &(struct piece){ address, (uint32_t)size, into }, 1, NULL);
}

bool remote_same_program(const struct remote *remote, uint64_t address, uint64_t *word)
{
    (void)remote;
    return answer == REMOTE_READ && copy_piece(&(struct piece){ address, sizeof(*word), word });
}
