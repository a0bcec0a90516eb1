/* SPDX-License-Identifier: MIT */
#include "record/progress.h"

#include "formats/base/utf8.h"
#include "record/emit/definitions.h"
#include "record/python/target.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define UPDATE_NS     250000000u
#define LEAST_HALT_NS 50000000u /* a shorter halt is not mentioned: it would be 0.0 s */
#define BEFORE_NS     10000000u /* so much CPU time before first looks is told, ... */
#define EXACT_USUAL   0.9       /* the part of samples that are exact in nearly all recordings */
#define BEFORE_PART   100       /* ... if it is more than 1 % of the recording's time */

void progress_start(struct progress *progress, bool quiet)
{
    *progress = (struct progress){ .shown = !quiet && isatty(STDERR_FILENO), .quiet = quiet };
}

const char *progress_size_text(char *room, uint64_t bytes)
{
    static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1000 && unit < 4; unit++)
        size /= 1000;
    snprintf(room, 32, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
    return room;
}

/* The most characters of the status line. A longer line would wrap, and an update would leave its first part behind. */
static int line_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
}

static void tell_full(struct progress *progress)
{
    progress_clear(progress);
    progress->told_full = true;
    fputs("pyreel-record: warning: the names and lines of the program's functions take " DEFINITIONS_LIMIT_TEXT
          " of memory, the most that is used for them: from now on, new functions are shown as <more functions>\n",
          stderr);
}

void progress_update(struct progress *progress, const struct progress_totals *f)
{
    progress->due_ns = f->elapsed_ns + UPDATE_NS;
    if (f->full && !progress->told_full && !progress->quiet)
        tell_full(progress);
    if (!progress->shown)
        return;
    progress->drawn = true;
    static const char *const states[HALT_KINDS] = { "", " (the program is stopped)",
                                                    " (a debugger has stopped the program)",
                                                    " (the program is frozen)" };
    const double seconds = (double)f->elapsed_ns / 1e9;
    char size[32];
    char line[256];
    snprintf(line, sizeof(line),
             "recording %.1f s%s, %" PRIu64 " samples, %.0f ticks/s, %" PRIu64 " missed, %" PRIu64 " failed, %s",
             seconds, states[f->halt], f->samples, f->reached_hz, f->missed, f->failed,
             progress_size_text(size, f->bytes));
    fprintf(stderr, "\r%.*s\x1b[K", line_width(), line);
}

/* Says how often the quota of the program was used up, and for how long the machine was suspended. */
static void summarise_limits(const struct progress_totals *f)
{
    const struct quota_hit *hit = &f->quota;
    if (hit->counts.throttled > hit->counts.periods / 20)
        fprintf(stderr,
                "pyreel-record: the quota of the program's cgroup was used up in %" PRIu64 " of %" PRIu64
                " periods: threads that were to run waited for the next period\n",
                hit->counts.throttled, hit->counts.periods);
    if (f->suspended_ns > 0)
        fprintf(stderr, "pyreel-record: the machine was suspended for %.1f s, which is no time of the recording\n",
                (double)f->suspended_ns / 1e9);
}

/* Says for how long the program stood still, and for how long a signal had stopped the recorder. */
static void summarise_halts(const struct progress_totals *f)
{
    static const struct {
        const char *what, *by;
    } halts[HALT_KINDS] = { [HALT_SIGNAL] = { "stopped", "a signal" },
                            [HALT_TRACER] = { "stopped", "a debugger" },
                            [HALT_FROZEN] = { "frozen", "its cgroup" } };
    if (f->paused_ns >= LEAST_HALT_NS)
        fprintf(stderr, "pyreel-record: the recording paused for %.1f s of %.1f s\n", (double)f->paused_ns / 1e9,
                (double)f->elapsed_ns / 1e9);
    for (enum halt_kind kind = HALT_NONE + 1; kind < HALT_KINDS; kind++)
        if (f->halted_ns[kind] >= LEAST_HALT_NS)
            fprintf(stderr, "pyreel-record: the program was %s for %.1f s of %.1f s, by %s\n", halts[kind].what,
                    (double)f->halted_ns[kind] / 1e9, (double)f->elapsed_ns / 1e9, halts[kind].by);
}

/* How often a process of a tree was looked at. */
static void tell_looks(const struct progress_totals *f)
{
    const double looks_hz = f->ticked_ns ? (double)f->ticks * 1e9 / (double)f->ticked_ns : 0;
    if (f->follows && f->processes > 1 && f->ticks > 0)
        fprintf(stderr,
                "pyreel-record: each of the %" PRIu64 " processes was looked at %.*f times per second, on average\n",
                f->processes, looks_hz < 10, looks_hz);
}

/* How many samples have C functions. */
static void tell_c_functions(const struct progress_totals *f, bool verbose)
{
    const uint64_t samples = f->samples - f->outside; /* of threads that ran Python */
    const bool late = f->c_late > f->samples / 50, refused = f->c_refused > f->samples / 50;
    if (!f->native || samples == 0 || !(verbose || late || refused))
        return;
    fprintf(stderr, "pyreel-record: %.1f %% of the samples have their C functions%s%s\n",
            floor(1000 * (double)f->c_samples / (double)samples) / 10,
            late ? "; threads often stopped too late, because others had the processors" : "",
            refused ? "; threads could not be stopped: another program may trace them (gdb, strace)" : "");
}

/* The part of a processor's time that samples took from the program. */
static double overhead(const struct progress_totals *f)
{
    return f->elapsed_ns ? (double)f->taken_ns / (double)f->elapsed_ns : 0;
}

/* Whether samples were left out to stay within the limit. */
static bool progress_is_limited(const struct progress_totals *f)
{
    return f->left_out > f->ticks / 20 && overhead(f) > f->limit / 2;
}

/* How many samples are exact. Most are, and then only --verbose says so. */
static void tell_exactness(const struct progress_totals *f, bool verbose)
{
    const double exact = f->samples ? (double)f->exact / (double)f->samples : 0;
    if (f->samples == 0 || f->elapsed_ns == 0)
        return;
    if (f->limit <= 0)
        fprintf(stderr, "pyreel-record: the program was read while it ran: shares of functions that last a few "
                        "microseconds are approximate (see --disturb)\n");
    else if (verbose || exact < EXACT_USUAL)
        fprintf(stderr, "pyreel-record: %.1f %% of the samples are exact (one proven moment)%s%s\n",
                floor(1000 * exact) / 10, /* 99.96 % must not print as 100 % */
                f->refusal && exact < EXACT_USUAL ? ": " : "", f->refusal && exact < EXACT_USUAL ? f->refusal : "");
    if (verbose && f->limit > 0)
        fprintf(stderr, "pyreel-record: sampling took %.2f %% of a processor from the program\n", 100 * overhead(f));
    if (verbose && progress_is_limited(f))
        fprintf(
            stderr,
            "pyreel-record: %.*f of %.0f ticks per second%s: more ticks would take more than %.3g %% of a processor "
            "from the program%s\n",
            f->reached_hz < 10, f->reached_hz, f->asked_hz, f->follows ? " of a process" : "", 100 * f->limit,
            f->blocking ? "" : " (raise the limit with --disturb)");
}

double progress_missed(const struct progress_totals *f)
{
    return f->missed_ns > f->ticked_ns / 50 ? (double)f->missed_ns / (double)f->ticked_ns : 0;
}

/* Warns of missed ticks. They bias the profile: a program that computes keeps the processor from the recorder, and a
 * program that sleeps does not. */
static void summarise_missed(const struct progress_totals *f)
{
    if (progress_missed(f) > 0)
        fprintf(stderr, "pyreel-record: warning: %.0f %% of the time was missed: %s\n", 100 * progress_missed(f),
                f->cause);
}

static const char *nothing_seen(const struct progress_totals *f)
{
    if (f->refused)
        return "no Python could be read";
    if (f->paused)
        return "the recording paused to the end";
    return f->follows ? "no Python was seen" : "no Python was seen in the command itself (-f records child processes)";
}

/* Says why there is no sample, as far as that is known. */
static void tell_no_sample(const struct progress_totals *f, enum end_reason reason)
{
    fputs("pyreel-record: no sample was taken: ", stderr);
    if (f->processes == 0 || f->paused)
        fprintf(stderr, "%s\n", nothing_seen(f));
    else if (f->failed > 0)
        fprintf(stderr, "%" PRIu64 " looks at threads failed (pyreel-info says how)\n", f->failed);
    else if (f->ticks > 0)
        fprintf(stderr, "in none of %" PRIu64 " ticks was there a Python thread%s\n", f->ticks,
                f->selects ? " that --mode and --threads keep" : "");
    else if (f->missed > 0)
        fputs("all ticks were missed\n", stderr);
    else
        fprintf(stderr, "%s ended before the first tick\n", reason == END_TARGET ? "the program" : "the recording");
}

/* How often there was a sample, and at what cost: "79 a second, limited to 1 % overhead". */
static void write_rate(char *room, size_t size, const struct progress_totals *f)
{
    const double hz = f->elapsed_ns ? (double)f->ticks * 1e9 / (double)f->elapsed_ns : 0;
    const double shown_hz = f->follows ? f->reached_hz : hz;
    const int digits = shown_hz < 10;
    if (f->limit > 0 && progress_is_limited(f))
        snprintf(room, size, "%.*f a second%s, limited to %.3g %% overhead", digits, shown_hz,
                 f->follows ? " of a process" : "", 100 * f->limit);
    else if (f->limit > 0)
        snprintf(room, size, "%.*f a second%s, %.2g %% overhead", digits, shown_hz, f->follows ? " of a process" : "",
                 100 * overhead(f));
    else
        snprintf(room, size, "%.*f a second%s, no overhead", digits, shown_hz, f->follows ? " of a process" : "");
}

/* What is missing: "2 missed, 1 failed". */
static void write_missing(char *room, size_t size, const struct progress_totals *f)
{
    if (f->missed && f->failed)
        snprintf(room, size, "%" PRIu64 " missed, %" PRIu64 " failed", f->missed, f->failed);
    else if (f->missed)
        snprintf(room, size, "%" PRIu64 " missed", f->missed);
    else if (f->failed)
        snprintf(room, size, "%" PRIu64 " failed", f->failed);
    else
        snprintf(room, size, "none missed");
}

/* What ended the recording, unless the user expects nothing else. */
static void tell_end(const struct progress_totals *f, enum end_reason reason)
{
    if (f->killed_by && reason == END_TARGET)
        fprintf(stderr, "pyreel-record: the program was ended by SIG%s (%s)\n",
                sigabbrev_np(f->killed_by) ? sigabbrev_np(f->killed_by) : "?", strsignal(f->killed_by));
    else if (f->runs_on || (reason != END_TARGET && reason != END_SIGNAL && reason != END_DURATION))
        fprintf(stderr, "pyreel-record: the recording ended: %s\n", event_end_reason_text(reason));
}

/* All figures, for --verbose. */
static void tell_figures(const struct progress_totals *f, enum end_reason reason)
{
    char size[32];
    fprintf(stderr,
            "pyreel-record: %" PRIu64 " thread%s, %" PRIu64 " ticks, %" PRIu64 " missed, %" PRIu64
            " failed samples, %s; %s\n",
            f->threads, f->threads == 1 ? "" : "s", f->ticks, f->missed, f->failed, progress_size_text(size, f->bytes),
            event_end_reason_text(reason));
    tell_looks(f);
}

void progress_summary(const struct progress_totals *f, const char *path, enum end_reason reason, bool verbose)
{
    char rate[96], missing[64];
    write_rate(rate, sizeof(rate), f);
    write_missing(missing, sizeof(missing), f);
    fprintf(stderr, "pyreel-record: %s: %" PRIu64 " samples in %.1f s (%s), %s\n", utf8_shown(path), f->samples,
            (double)f->elapsed_ns / 1e9, rate, missing);
    if (verbose)
        tell_figures(f, reason);
    tell_end(f, reason);
    tell_exactness(f, verbose);
    tell_c_functions(f, verbose);
    summarise_halts(f);
    summarise_limits(f);
    summarise_missed(f);
    if (f->before_ns > BEFORE_NS && f->before_ns > f->elapsed_ns / BEFORE_PART)
        fprintf(
            stderr,
            "pyreel-record: up to %.3f s of CPU time is in no sample: the process used it before the first look at the "
            "process%s\n",
            (double)f->before_ns / 1e9, f->processes > 1 ? "es" : "");
    if (f->passed > 0)
        fprintf(stderr, "pyreel-record: %" PRIu64 " process%s, Python or not, ended before the first look\n", f->passed,
                f->passed == 1 ? "" : "es");
    if (f->cut > 0)
        fprintf(stderr,
                "pyreel-record: warning: a process had more than %d interpreters: the threads of some were not read "
                "in %" PRIu64 " ticks\n",
                TARGET_INTERPRETERS, f->cut);
    if (f->no_room > 0)
        fprintf(stderr,
                "pyreel-record: warning: %" PRIu64 " times, a new function or line had no room: they are shown as "
                "<more functions>, or as a function without a line\n",
                f->no_room);
    if (f->samples == 0 && reason != END_ERROR)
        tell_no_sample(f, reason);
}

void progress_nothing(const struct progress_totals *f, enum end_reason reason)
{
    fprintf(stderr, "pyreel-record: %s, so there is no recording; %s\n", nothing_seen(f),
            event_end_reason_text(reason));
}

void progress_clear(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\x1b[K", stderr);
    progress->drawn = false;
}
