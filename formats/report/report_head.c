/* SPDX-License-Identifier: MIT */
#include "formats/report/report_head.h"

#include "formats/base/alloc.h"
#include "formats/model/exactness.h"
#include "formats/report/report_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HELD_MOST     110 /* percent of the time in which one lock can be held, with the looks' roundings */
#define MOSTLY_WAITED 0.1 /* of the time of the busiest group: less CPU time, and the head says that it waited */
#define UNSURE_LEAST  1   /* percent of samples whose waits are not known, so that the head says so */

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void head_add_line(struct report *report, const char *label, struct text text)
{
    report->facts = alloc_grow(report->facts, &report->facts_room, report->facts_count + 1, sizeof(*report->facts));
    report->facts[report->facts_count++] = (struct report_fact){ label, text };
}

static void add_program(struct report *report)
{
    const struct process *process = tables_first_process(report->tables);
    const size_t count = tables_count_programs(report->tables);
    if (count > 1)
        head_add_line(report, "programs",
                      report_say(report, "%zu processes; the first is %.*s", count, (int)process->command.size,
                                 process->command.size ? process->command.bytes : ""));
    else if (process->command.size)
        head_add_line(report, "program", report_keep(report, process->command));
}

/* The versions of CPython; several processes may have several. */
static struct text python_of(struct report *report)
{
    const struct tables *tables = report->tables;
    const struct process *first = tables_first_process(tables);
    char version[32];
    if (!first->number)
        return (struct text){ "", 0 };
    event_python_version_text(version, first->python_version);
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.python_version &&
            tables->processes[i].process.python_version != first->python_version)
            return report_say(report, ", CPython %s and others", version);
    return report_say(report, ", CPython %s%s", version, first->build & BUILD_FREE_THREADED ? " free-threaded" : "");
}

static void add_recording(struct report *report, const struct report_origin *origin)
{
    const struct tables *tables = report->tables;
    const struct recording *recording = &tables->recording;
    const struct text python = python_of(report);
    char started[32], several[64] = "";
    event_date_text(started, recording->start_unix_ns);
    if (origin->recordings > 1)
        snprintf(several, sizeof(several), "%zu recordings, the first ", origin->recordings);
    head_add_line(report, "recorded",
                  report_say(report, "%s%s, %.3f s%.*s, mode %.*s", several,
                             origin->undated_by ? origin->undated_by
                             : started[0]       ? started
                                                : "at an unknown time",
                             seconds(tables_duration_ns(tables)), (int)python.size, python.bytes,
                             (int)recording->mode.size, recording->mode.size ? recording->mode.bytes : ""));
    if (origin->filters)
        head_add_line(report, "part", report_say(report, "only what %s keeps", origin->filters));
    if (!origin->complete)
        head_add_line(report, "damage", TEXT("parts of the recording are missing"));
}

static void head_add_exactness(struct report *report)
{
    const struct tables *tables = report->tables;
    const struct exactness exactness = exactness_of(tables);
    char room[EXACTNESS_ROOM];
    exactness_rate(room, &exactness);
    head_add_line(report, "samples",
                  report_say(report, "%" PRIu64 "%s%s; %" PRIu64 " missed, %" PRIu64 " failed", report->all->samples,
                             room[0] ? ", " : "", room, tables->missed, tables->failed));
    if (exactness_share(room, &exactness)[0])
        head_add_line(report, "exact", report_say(report, "%s", room));
    if (exactness_missed(room, &exactness)[0])
        head_add_line(report, "missed", report_say(report, "%s", room));
    for (enum exactness_stand stand = 0; stand < STANDS; stand++)
        if (exactness_stand(room, tables, stand)[0])
            head_add_line(report, exactness_stand_labels[stand], report_say(report, "%s", room));
}

void report_sum_up(const struct report *report, uint64_t sums[SUMS])
{
    memset(sums, 0, SUMS * sizeof(*sums));
    for (size_t i = 0; i < report->found.count; i++)
        for (size_t sum = 0; sum < SUMS; sum++)
            sums[sum] += report->found.rows[i].sums[sum];
}

/* How long the lock was held and waited for. */
static struct text lock_of(struct report *report, const uint64_t *sums)
{
    const double duration_ns = (double)tables_duration_ns(report->tables);
    if (!tables_have_one_lock(report->tables) || duration_ns <= 0 || !aggregate_knows(report->all, SUM_GIL_NS))
        return (struct text){ "", 0 };
    double held = 100 * (double)sums[SUM_GIL_NS] / duration_ns;
    if (held > HELD_MOST)
        return (struct text){ "", 0 };
    if (held > 100)
        held = 100;
    if (!aggregate_knows(report->all, SUM_GIL_WAIT_NS))
        return report_say(report, "; GIL held %.0f %% of the time", held);
    return report_say(report, "; GIL held %.0f %% of the time, threads waited for it %.3f s", held,
                      seconds(sums[SUM_GIL_WAIT_NS]));
}

static void add_threads(struct report *report, bool has_account)
{
    uint64_t sums[SUMS];
    size_t threads = 0, tasks = 0;
    const double duration_ns = (double)tables_duration_ns(report->tables);
    report_sum_up(report, sums);
    for (size_t i = 0; i < report->found.count; i++)
        *(report->found.rows[i].task.size ? &tasks : &threads) += report->found.rows[i].threads;
    struct text cpu = { "", 0 };
    if (!has_account && aggregate_knows(report->all, SUM_CPU_NS))
        cpu = report_say(report, "; CPU %.3f s", seconds(sums[SUM_CPU_NS]));
    if (cpu.size && duration_ns > 0)
        cpu = report_say(report, "%.*s (%.0f %% of a processor)", (int)cpu.size, cpu.bytes,
                         100 * (double)sums[SUM_CPU_NS] / duration_ns);
    const struct text lock = lock_of(report, sums);
    const struct text count = tasks ? report_say(report, "%zu, and %zu tasks with stacks of their own", threads, tasks)
                                    : report_say(report, "%zu", threads);
    head_add_line(report, "threads",
                  report_say(report, "%.*s%.*s%.*s", (int)count.size, count.bytes, (int)cpu.size, cpu.bytes,
                             (int)lock.size, lock.bytes));
}

/* The samples of which nobody knows whether the thread waited. */
static uint64_t waiting_unknown(const struct aggregate *all)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < all->count; i++)
        samples += all->rows[i].group == WAITING_UNKNOWN ? all->rows[i].sums[SUM_SAMPLES] : 0;
    return samples;
}

/* Where the CPU time of the processes went. */
static void add_account(struct report *report, const struct report_origin *origin)
{
    const struct account *account = &report->account;
    const double duration_ns = (double)tables_duration_ns(report->tables);
    char room[ACCOUNT_ROOM];
    if (report_knows_account(report, origin) && duration_ns > 0)
        head_add_line(report, "CPU",
                      report_say(report, "%.3f s (%.0f %% of a processor): %s", seconds(account->cpu_ns),
                                 100 * (double)account->cpu_ns / duration_ns, account_text(room, account)));
}

/* Why the report chose its weight, and what else there is. */
static struct text why_chosen(struct report *report)
{
    if (report->style.weighted)
        return (struct text){ "", 0 };
    if (report->weight == SUM_SAMPLES)
        return TEXT("; they stand for no time");
    if (report->weight == SUM_CPU_NS)
        return TEXT("; --weight wall shows waits, too");
    const bool cpu = aggregate_knows(report->all, SUM_CPU_NS);
    return report_say(report, "; %s%s", report->why_not_cpu,
                      report->without_waits ? ", and --weight wall shows waits, too"
                      : cpu                 ? ": --weight cpu shows what ran"
                                            : "");
}

/* Adds the line that says which weight the numbers have, and which other weights there are. */
static void add_weight(struct report *report)
{
    const uint64_t unknown = report->all->samples - aggregate_known(report->all, report->weight);
    const struct text known = unknown ? report_say(report, " of the %.1f %% of samples of which it is known",
                                                   100 - 100 * (double)unknown / (double)report->all->samples)
                                      : (struct text){ "", 0 };
    const double unsure = 100 * (double)waiting_unknown(report->all) / (double)report->all->samples;
    struct text waits = { "", 0 };
    if (report->without_waits && unsure >= UNSURE_LEAST)
        waits = report_say(report, "; of %.1f %% of samples nobody knows whether the thread waited", unsure);
    const struct text chosen = why_chosen(report);
    if (report->weight == SUM_SAMPLES)
        head_add_line(
            report, "numbers",
            report_say(report, "samples, %" PRIu64 " in all%.*s", report->whole, (int)chosen.size, chosen.bytes));
    else
        head_add_line(report, "times",
                      report_say(report, "%s%.*s, %.3f s in all%.*s%.*s", report_weight_label(report), (int)known.size,
                                 known.bytes, seconds(report->whole), (int)waits.size, waits.bytes, (int)chosen.size,
                                 chosen.bytes));
}

void report_add_head(struct report *report, const struct report_origin *origin)
{
    add_program(report);
    add_recording(report, origin);
    head_add_exactness(report);
    add_threads(report, report_knows_account(report, origin));
    add_account(report, origin);
    add_weight(report);
}
