/* SPDX-License-Identifier: MIT */
#include "convert/info/info_summary.h"

#include "convert/info/info_json.h"
#include "convert/info/info_threads.h"
#include "convert/loss.h"
#include "formats/base/utf8.h"
#include "formats/model/exactness.h"
#include "formats/terminal/printable.h"
#include "formats/terminal/width.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMMAND_COLUMNS 60 /* the line is for people */

static void put_path(struct bytes *to, const char *path)
{
    put_printable(to, text_of(path), false);
    put_format(to, ": ");
}

/* The command; of a recording without one, the format of the file. */
static void info_summary_put_program(struct bytes *to, const struct conversion *conversion)
{
    const struct text command = tables_first_process(&conversion->tables)->command;
    const size_t programs = tables_count_roots(&conversion->tables);
    struct bytes shown = { 0 };
    if (programs > 1) {
        put_format(to, "%zu programs", programs);
        return;
    }
    put_printable(&shown, command.size > 0 ? command : text_of(conversion->report.format), false);
    width_put_shortened(to, bytes_text(&shown), COMMAND_COLUMNS, true);
    bytes_free(&shown);
}

/* The unit of a number of things. */
static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* The number of samples, and whose they are: of processes where there are several, else of threads. */
static void put_samples(struct bytes *to, const struct tables *tables)
{
    const uint64_t processes = tables_count_programs(tables), threads = info_threads_count(tables);
    put_format(to, ", %" PRIu64 " sample%s of ", tables->samples, plural(tables->samples));
    if (processes > 1)
        put_format(to, "%" PRIu64 " processes", processes);
    else
        put_format(to, "%" PRIu64 " thread%s", threads, plural(threads));
}

static void put_quality(struct bytes *to, const struct exactness *exactness)
{
    if (exactness->exact_percent >= 0)
        put_format(to, ", %.1f %% exact", exactness_tenths(exactness->exact_percent));
    if (exactness->kept_percent >= 0)
        put_format(to, ", %.1f %% kept", exactness_tenths(exactness->kept_percent));
    if (exactness->asked_hz >= 0 && exactness->reached_hz >= 0)
        put_format(to, exactness->reached_hz < 100 ? ", %.3g of %g Hz" : ", %.0f of %g Hz", exactness->reached_hz,
                   exactness->asked_hz);
}

static void put_account(struct bytes *to, const struct account *account)
{
    if (account_share(account) >= 0)
        put_format(to, ", %.1f %% of the CPU time placed", exactness_tenths(100 * account_share(account)));
}

static void put_completeness(struct bytes *to, const struct conversion *conversion)
{
    const struct source_report *report = &conversion->report;
    const struct tables *tables = &conversion->tables;
    put_format(to, report->complete ? ", complete" : ", not complete: %s", report->ending);
    if (!loss_is_damage(report, tables))
        return;
    put_format(to, ", damaged: %s%" PRIu64 " sample%s lost", tables->missing_estimated ? "about " : "", tables->missing,
               plural(tables->missing));
}

void info_summary_put(struct bytes *to, const struct conversion *conversion, const struct account *account)
{
    const struct tables *tables = &conversion->tables;
    const struct exactness exactness = exactness_of(tables);
    put_path(to, conversion->settings.input);
    info_summary_put_program(to, conversion);
    put_format(to, ", %.3f s", info_seconds(tables_duration_ns(tables)));
    put_samples(to, tables);
    put_quality(to, &exactness);
    put_account(to, account);
    put_completeness(to, conversion);
    put_format(to, "\n");
}

void info_summary_put_failed(struct bytes *to, const char *path, struct text reason)
{
    put_path(to, path);
    put_printable(to, reason, false);
    put_format(to, "\n");
}

/* Says what was not kept. */
static void say_what_went(const struct tables *tables, const struct exactness *exactness)
{
    if (exactness->missed_percent > 0)
        fprintf(stderr, "; %.2g %% of the time was missed", exactness->missed_percent);
    if (tables->failed)
        fprintf(stderr, "; %" PRIu64 " sample%s failed", tables->failed, plural(tables->failed));
    if (tables->missing)
        fprintf(stderr, "; %" PRIu64 " sample%s lost", tables->missing, tables->missing == 1 ? " is" : "s are");
}

/* Whether enough of the CPU time has an owner. */
static bool account_keeps(const struct conversion *conversion, const struct account *account, double least_share)
{
    const double share = account_share(account);
    if (share < 0 || share >= least_share)
        return true;
    fprintf(stderr,
            "%s: %s says of %.1f %% of the CPU time of its processes who used it, and --min-kept asks for %g %%; "
            "%.3f s are not sampled\n",
            conversion->converter->name, utf8_shown(conversion->settings.input), exactness_tenths(100 * share),
            least_share * 100, info_seconds(account->not_sampled_ns - account->others_ns));
    return false;
}

bool info_summary_keeps(const struct conversion *conversion, const struct account *account, double least_share)
{
    const struct tables *tables = &conversion->tables;
    const struct exactness exactness = exactness_of(tables);
    const char *name = conversion->converter->name, *path = utf8_shown(conversion->settings.input);
    if (exactness.kept_percent / 100 >= least_share)
        return account_keeps(conversion, account, least_share);
    if (exactness.kept_percent < 0) {
        fprintf(stderr, "%s: %s has no sample, and --min-kept asks for %g %% of the samples that were due\n", name,
                path, least_share * 100);
        return false;
    }
    fprintf(stderr, "%s: %s has %.1f %% of the samples that were due, and --min-kept asks for %g %%", name, path,
            exactness_tenths(exactness.kept_percent), least_share * 100);
    say_what_went(tables, &exactness);
    fprintf(stderr, "\n");
    return false;
}
