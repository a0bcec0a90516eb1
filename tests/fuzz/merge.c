/* SPDX-License-Identifier: MIT */
/* The bytes of several recordings → a converter's own main → an output that looks at what it is given, as merged.
 *
 * The first byte says what is asked for: 1 --threads, 2 --from, 4 --to, 8 --mode. Then come the recordings (inputs.h).
 */
#include "convert/convert.h"
#include "formats/base/alloc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_LIMIT 200000
#define FROM_NS      3000000u /* what --from and --to say below */
#define TO_NS        900000000u

enum asked { ASK_THREADS = 1, ASK_FROM = 2, ASK_TO = 4, ASK_MODE = 8 };

/* ---- an output that looks at what it is given ---- */

struct looking {
    const struct conversion *conversion;
    uint64_t events;
    uint64_t *last_ns; /* by thread */
    size_t last_room;
};

static void *start(struct conversion *conversion)
{
    struct looking *looking = alloc_zeroed(1, sizeof(*looking));
    looking->conversion = conversion;
    return looking;
}

/* What every output relies on. A thread's times never go back. */
static void check_run(struct looking *looking, const struct run *run)
{
    const struct tables *tables = &looking->conversion->tables;
    const struct selection *selection = &looking->conversion->settings.selection;
    require(run->stack < tables->stacks_count || run->stack == 0);
    require(tables->threads[run->thread].thread.number == run->thread);
    uint32_t depth = 0;
    for (uint32_t stack = run->stack; stack; stack = tables->stacks[stack].caller, depth++) {
        require(tables->stacks[stack].caller < stack);
        const uint32_t frame = tables->stacks[stack].frame;
        require(frame < tables->frames_count && tables->frames[frame].number == frame);
        require(tables->functions[tables->frames[frame].function].number);
    }
    require(depth == tables->threads[run->thread].depth);
    require(run->task == tables_task(tables, run->task)->task.number);
    require(selection_has_time(selection, run->time_ns));
    looking->last_ns = alloc_grow(looking->last_ns, &looking->last_room, (size_t)run->thread + 1, sizeof(uint64_t));
    require(run->time_ns >= looking->last_ns[run->thread]);
    looking->last_ns[run->thread] = run->time_ns;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct looking *looking = self;
    if (++looking->events > EVENTS_LIMIT)
        return fault(why, "enough");
    if (event->kind == EVENT_RUN)
        check_run(looking, &event->run);
    return true;
}

/* Of several recordings, or a part of one, what no sample has is not there, and all that is there is whole. */
static bool finish(void *self, struct fault *why)
{
    (void)why;
    const struct looking *looking = self;
    const struct tables *tables = &looking->conversion->tables;
    const struct settings *settings = &looking->conversion->settings;
    if (settings->inputs_count == 1 && !selection_is_partial(&settings->selection))
        return true;
    require(tables->lost_samples == 0 && tables->jumped == 0);
    bool *sampled = alloc_zeroed(tables->frames_count + 1, sizeof(*sampled));
    for (uint32_t i = 1; i < tables->stacks_count; i++)
        sampled[tables->stacks[i].frame] = true;
    for (uint32_t i = 1; i < tables->frames_count; i++)
        require(sampled[i]);
    free(sampled);
    for (uint32_t i = 1; i < tables->functions_count; i++)
        require(tables->functions[i].number == i);
    for (uint32_t i = 1; i < tables->threads_count; i++)
        require(tables->threads[i].thread.number == i && tables->threads[i].thread.process < tables->processes_count);
    return true;
}

static void drop(void *self)
{
    struct looking *looking = self;
    free(looking->last_ns);
    free(looking);
}

static const struct converter looker = {
    .name = "looker",
    .takes = TAKES_MODE | TAKES_SELECTION,
    .events.take = take,
    .start = start,
    .finish = finish,
    .drop = drop,
};

/* What passes the tables of its recording passes those of the whole: where it does not, the conversion fails with their
 * words. In a warning they are about a recording, and copies of a recording would be counted twice. */
static void check_messages(char *messages)
{
    char *rest = NULL;
    for (char *line = strtok_r(messages, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        require(strstr(line, ": warning: ") || strstr(line, "counted twice") ||
                !(strstr(line, "defined") || strstr(line, "keeps") || strstr(line, "twice")));
}

/* Runs the converter; what it has to say is kept from the terminal, but not what a sanitizer has. */
static void convert(int argc, char **argv)
{
    FILE *const terminal = stderr;
    char *messages = NULL;
    size_t size = 0;
    stderr = open_memstream(&messages, &size);
    require(stderr != NULL);
    optind = 0;
    const int code = convert_main(argc, argv, &looker);
    fclose(stderr);
    stderr = terminal;
    require(code == EXIT_SUCCESS || size > 0);
    check_messages(messages);
    free(messages);
}

FUZZ_TARGET(merge)
{
    static const char *const asked[][2] = {
        { "--threads", "MainThread,7,worker" }, { "--from", "0.003" }, { "--to", "0.9" }, { "--mode", "cpu" }
    };
    char *argv[4 + 2 * 4 + INPUTS_MOST + 1] = { (char *)"looker", (char *)"-q", (char *)"-o", (char *)"/dev/null" };
    int argc = 4, fds[INPUTS_MOST];
    const size_t count = size > 1 ? put_inputs(bytes + 1, size - 1, fds) : 0;
    for (size_t i = 0; i < 4 && count > 0; i++) {
        if (!(bytes[0] >> i & 1))
            continue;
        argv[argc++] = (char *)asked[i][0];
        argv[argc++] = (char *)asked[i][1];
    }
    with_inputs(convert, argc, argv, fds, count);
    return 0;
}
