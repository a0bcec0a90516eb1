/* SPDX-License-Identifier: MIT */
#include "record/recording_info.h"

#include "formats/base/alloc.h"
#include "record/host.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "record/unwind/thread_list.h"
#include "record/unwind/thread_status.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* Times in a recording are multiples of a unit. */
#define TIME_UNITS         4       /* most units per interval */
#define TIME_UNIT_LEAST_NS 100000u /* ticks are not more punctual. A shorter interval is one unit */
#define TIME_UNIT_MOST_NS  250000u /* longest unit */

/* The unit for an interval: a whole fraction of the interval, if that is a whole number of nanoseconds. */
static uint64_t time_unit_ns(uint64_t interval_ns)
{
    const uint64_t fitting = interval_ns / TIME_UNIT_LEAST_NS, units = fitting < TIME_UNITS ? fitting : TIME_UNITS;
    const uint64_t unit_ns = units ? interval_ns / units : interval_ns;
    return unit_ns < TIME_UNIT_MOST_NS ? unit_ns : TIME_UNIT_MOST_NS;
}

static struct text chosen_name(const char *const *names, size_t which)
{
    return text_of(names[which]);
}

/* The recorder's own command line. Without arguments of COMMAND, which may hold secrets, it ends with the program. */
static struct text own_command(const struct options *options, char **argv)
{
    int words = 0;
    while (options->no_arguments && words <= optind && argv[words])
        words++;
    if (words == 0)
        return procfs_quote_command(argv);
    char **bare = alloc_zeroed((size_t)words + 1, sizeof(*bare));
    memcpy(bare, argv, (size_t)words * sizeof(*bare));
    const struct text command = procfs_quote_command(bare);
    free(bare);
    return command;
}

void recording_info_describe(struct recording *recording, const struct options *options, char **argv, uint64_t start_ns)
{
    *recording = (struct recording){
        .pyreel_version = TEXT(PYREEL_VERSION),
        .mode = chosen_name(mode_names, options->mode),
        .threads_option = options->names ? text_of(options->names) : chosen_name(threads_names, options->which),
        .command = own_command(options, argv),
        .start_unix_ns = clock_unix_ns(),
        .start_monotonic_ns = start_ns,
        .interval_ns = options->interval_ns,
        .time_unit_ns = time_unit_ns(options->interval_ns),
        .attached = !options->command,
        .process_ticks = options->subprocesses,
    };
    host_describe(recording);
}

void recording_info_forget(struct recording *recording)
{
    text_free(recording->command);
    host_forget(recording);
}
