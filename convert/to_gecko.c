/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"
#include "convert/filters/sanitize.h"
#include "convert/sharing/share.h"
#include "convert/viewer/links.h"
#include "convert/viewer/show.h"
#include "convert/viewer/spot.h"
#include "formats/base/alloc.h"
#include "formats/gecko/gecko.h"
#include "formats/model/aggregate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JSON_MOST ((uint64_t)400 * 1000 * 1000) /* bytes of JSON beyond which the viewer reads a profile slowly */

enum own_option {
    OPTION_OPEN = OPTION_OWN,
    OPTION_SERVE,
    OPTION_VIEW,
    OPTION_PROFILER_URL,
    OPTION_MARKERS,
    OPTION_MIN_GIL_WAIT,
    OPTION_TASKS,
    OPTION_OPCODES,
    OPTION_EMBED_SOURCES,
    OPTION_PATH_MAP,
    OPTION_SOURCE_REPO,
    OPTION_FULL_PATHS,
    OPTION_COMPACT,
    OPTION_RAW_GECKO,
    OPTION_MAX_SAMPLES,
    OPTION_WEIGHT,
    OPTION_DIFF,
    OPTION_SCALE,
    OPTION_SANITIZE,
    OPTION_UPLOAD,
    OPTION_DELETE,
    OPTION_LINK_FOR,
    OPTION_SERVER,
    OPTION_MAX_UPLOAD,
    OPTION_TIMEOUT,
};

static const struct argument options[] = {
    { OPTION_OPEN, 0, "open", NULL, 0, "show the profile in a browser; upload nothing" },
    { OPTION_SERVE, 0, "serve", NULL, 0, "as --open, but start no browser" },
    { OPTION_VIEW, 0, "view", "VIEW", 0, "show this first: my-code|gil|gc|imports|flame" },
    { OPTION_MARKERS, 0, "markers", "few|all|none", 0, "all: also each change of a thread's state (few)" },
    { OPTION_MIN_GIL_WAIT, 0, "min-gil-wait", "TIME", 0, "mark waits for the GIL from TIME on (5ms)" },
    { OPTION_TASKS, 0, "tasks", "lives|tracks", 0, "show tasks as markers, or as threads (lives)" },
    { OPTION_PROFILER_URL, 0, "profiler-url", "URL", 0,
      "use a viewer of your own: http://127.0.0.1:4242\n"
      "(https://profiler.firefox.com)" },
    { OPTION_OPCODES, 0, "opcodes", "[=frames]", 0,
      "show instructions: as subcategories, or with\n"
      "=frames as a frame at the leaf of each stack" },
    { OPTION_EMBED_SOURCES, 0, "embed-sources", NULL, 0,
      "put the text of source files into the profile,\n"
      "to see samples by line" },
    { OPTION_PATH_MAP, 0, "path-map", "FROM=TO", 0,
      "find files of the folder FROM in TO on this\n"
      "machine: /app=/home/me/app" },
    { OPTION_SOURCE_REPO, 0, "source-repo", "R=FOLDER", 0,
      "let the viewer fetch FOLDER from the public\n"
      "repository R: github.com/me/app@v1.2=/srv/app" },
    { OPTION_COMPACT, 0, "compact", NULL, 0,
      "write a file that is a quarter smaller, for\n"
      "viewers since July 2026" },
    { OPTION_RAW_GECKO, 0, "raw-gecko", NULL, 0,
      "write the format of Firefox's own profiler, for\n"
      "tools that read no other" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "name files of the standard library by their paths" },
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0,
      "what trees add up: samples|wall|cpu (samples;\n"
      "wall where samples stand for different times)" },
    { OPTION_DIFF, 0, "diff", NULL, 0,
      "compare two recordings, BASE and NEW: where NEW\n"
      "is slower (above 0) or faster (below 0)" },
    { OPTION_SCALE, 0, "scale", "WHAT", 0,
      "what --diff makes equal: a second of time, or\n"
      "all work: time|work (time for whole runs)" },
    { OPTION_MAX_SAMPLES, 0, "max-samples", "N", 0,
      "keep at most N samples, 500k or 2M, drawn at\n"
      "random in equal parts of the time; each stands\n"
      "for those left out" },
    { OPTION_SANITIZE, 0, "sanitize", NULL, 0, "leave out command lines, host, users, folders" },
    { OPTION_UPLOAD, 0, "upload", NULL, 0,
      "send the profile to the profile store; print the\n"
      "link, with which everybody sees the profile" },
    { OPTION_DELETE, 0, "delete", "LINK", 0, "take a profile back that --upload sent" },
    { OPTION_LINK_FOR, 0, "link-for", "URL", 0, "print the link that shows the profile at URL" },
    { OPTION_SERVER, 0, "server", "URL", 0,
      "use the store at URL\n"
      "(https://api.profiler.firefox.com)" },
    { OPTION_MAX_UPLOAD, 0, "max-upload", "BYTES", 0, "send no more than BYTES: 50M, 1G (150 MiB)" },
    { OPTION_TIMEOUT, 0, "timeout", "TIME", 0, "wait so long for a silent store: 90, 5m (1m)" },
    { 0 },
};

/* The values of this program's own options. */
struct wanted {
    struct gecko_style style;
    bool open, serve;
    enum view view;
    const char *viewer; /* NULL: the usual one */
    bool sanitize;
    bool limits; /* --server, --max-upload or --timeout was given */
    struct share_wishes share;
};

/* The place of a value in a list of words that ends in NULL; -1: the list does not have it. */
static int place_of(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    return -1;
}

static bool apply_markers(struct gecko_style *style, const char *value)
{
    static const char *const words[] = {
        [GECKO_MARKERS_FEW] = "few", [GECKO_MARKERS_ALL] = "all", [GECKO_MARKERS_NONE] = "none", NULL
    };
    const int place = place_of(value, words);
    style->markers = place < 0 ? GECKO_MARKERS_FEW : (enum gecko_markers)place;
    return place >= 0;
}

static bool apply_tasks(struct gecko_style *style, const char *value)
{
    static const char *const words[] = { "lives", "tracks", NULL };
    const int place = place_of(value, words);
    style->task_tracks = place == 1;
    return place >= 0;
}

static bool apply_scale(struct gecko_style *style, const char *value)
{
    static const char *const words[] = { "time", "work", NULL };
    const int place = place_of(value, words);
    style->scale = place == 0 ? GECKO_SCALE_TIME : GECKO_SCALE_WORK;
    return place >= 0;
}

/* 0 stands for the default, so the shortest minimum is a nanosecond: it leaves no wait out. */
static bool apply_gil_wait(struct gecko_style *style, const char *value)
{
    if (!arguments_parse_time(value, &style->gil_wait_ns))
        return false;
    style->gil_wait_ns += style->gil_wait_ns == 0;
    return true;
}

/* Parses a size or a count: "20000", "500k", "1.5G". False when the text is no number from 1 to 10^12. */
static bool parse_size(const char *text, uint64_t *bytes)
{
    char *end;
    const size_t digits = strspn(text, "0123456789.");
    const double number = strtod(text, &end);
    const char *const units = "kmg", *const unit = *end ? strchr(units, *end | 0x20) : NULL;
    double size = number;
    for (const char *u = units; unit && u <= unit; u++)
        size *= 1000;
    if (digits == 0 || end != text + digits || (*end && (!unit || end[1])) || !(size >= 1 && size <= 1e12))
        return false;
    *bytes = (uint64_t)size;
    return true;
}

static bool apply(struct settings *settings, int number, const char *value)
{
    struct wanted *wanted = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_OPEN:
        return wanted->open = true;
    case OPTION_SERVE:
        return wanted->serve = true;
    case OPTION_VIEW:
        return (wanted->view = link_view_named(value)) != VIEW_NONE;
    case OPTION_PROFILER_URL:
        wanted->viewer = value;
        return link_viewer_fits(value);
    case OPTION_MARKERS:
        return apply_markers(&wanted->style, value);
    case OPTION_MIN_GIL_WAIT:
        return apply_gil_wait(&wanted->style, value);
    case OPTION_TASKS:
        return apply_tasks(&wanted->style, value);
    case OPTION_SANITIZE:
        return wanted->sanitize = true;
    case OPTION_UPLOAD:
        return wanted->share.upload = true;
    case OPTION_DELETE:
        wanted->share.delete_link = value;
        return *value != '\0';
    case OPTION_LINK_FOR:
        wanted->share.link_for = value;
        return *value != '\0';
    case OPTION_SERVER:
        wanted->share.server = value;
        return wanted->limits = true;
    case OPTION_MAX_UPLOAD:
        wanted->limits = true;
        return parse_size(value, &wanted->share.limit_bytes);
    case OPTION_TIMEOUT:
        wanted->limits = true;
        return arguments_parse_time(value, &wanted->share.timeout_ns) && wanted->share.timeout_ns > 0;
    case OPTION_OPCODES:
        settings->opcodes = true;
        wanted->style.opcodes = value ? GECKO_OPCODES_FRAMES : GECKO_OPCODES_SUBCATEGORIES;
        return !value || strcmp(value, "frames") == 0;
    case OPTION_EMBED_SOURCES:
        return wanted->style.embed_sources = true;
    case OPTION_PATH_MAP:
        return source_folders_add_map(&wanted->style.path_maps, value);
    case OPTION_SOURCE_REPO:
        return source_folders_add_repository(&wanted->style.repositories, value);
    case OPTION_COMPACT:
        return wanted->style.compact = true;
    case OPTION_RAW_GECKO:
        return wanted->style.raw = true;
    case OPTION_FULL_PATHS:
        return wanted->style.full_paths = true;
    case OPTION_WEIGHT:
        return (wanted->style.weight = gecko_weight_named(value)) != GECKO_WEIGHT_USUAL;
    case OPTION_DIFF:
        return wanted->style.compare = true;
    case OPTION_SCALE:
        return apply_scale(&wanted->style, value);
    case OPTION_MAX_SAMPLES:
        return parse_size(value, &wanted->style.max_samples);
    }
    return false;
}

/* The options for sharing, as the room of sharing takes them. */
static struct share_wishes wishes_of(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    struct share_wishes wishes = wanted->share;
    wishes.program = "pyreel-gecko";
    wishes.quiet = settings->quiet;
    wishes.sanitized = wanted->sanitize;
    wishes.view = wanted->view;
    wishes.viewer = wanted->viewer;
    return wishes;
}

static bool ends_in_gz(const char *path)
{
    return strlen(path) > 3 && strcmp(path + strlen(path) - 3, ".gz") == 0;
}

/* Why the options of sharing cannot be used together; NULL: they can. */
static const char *sharing_problem(const struct settings *settings)
{
    static struct fault why;
    const struct wanted *wanted = settings->wanted;
    const struct share_wishes wishes = wishes_of(settings);
    const bool alone = wishes.delete_link || wishes.link_for;
    if (wishes.upload + (wishes.delete_link != NULL) + (wishes.link_for != NULL) + (wanted->open || wanted->serve) > 1)
        return "--upload, --delete, --link-for and --open (or --serve) are for one thing each; name one of them";
    if (alone && settings->inputs_count > 0)
        return "--delete and --link-for take no recording";
    if (wanted->limits && !wishes.upload && !wishes.delete_link)
        return "--server, --max-upload and --timeout are for --upload and --delete; name one of them";
    if (wishes.upload && settings->output && !ends_in_gz(settings->output))
        return "the store takes gzip'd profiles; name a FILE.gz with -o, or leave out -o to write no file";
    return share_check(&wishes, &why) ? NULL : why.text;
}

/* Why the options of a comparison cannot be used together; NULL: they can. */
static const char *diff_problem(const struct settings *settings)
{
    const struct gecko_style *style = &((const struct wanted *)settings->wanted)->style;
    if (style->compare && settings->inputs_count != 2)
        return "--diff compares two recordings; name BASE and NEW, in this order";
    if (style->compare && style->weight == GECKO_WEIGHT_SAMPLES)
        return "--diff compares times; use --weight wall or --weight cpu";
    if (style->scale != GECKO_SCALE_USUAL && !style->compare)
        return "--scale says how --diff compares; name --diff";
    return NULL;
}

/* Why a raw profile cannot have this style; NULL: it can. */
static const char *raw_problem(const struct gecko_style *style)
{
    if (style->compact)
        return "--raw-gecko and --compact are two formats; choose one of them";
    if (style->compare)
        return "samples have no weights in the format of --raw-gecko; leave out --diff";
    if (style->embed_sources)
        return "the format of --raw-gecko has no source files; leave out --embed-sources";
    if (style->weight || style->max_samples)
        return "samples have no weights in the format of --raw-gecko; leave out --weight and --max-samples";
    return NULL;
}

static const char *problem(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    const bool shows = wanted->open || wanted->serve, links = shows || wanted->share.upload || wanted->share.link_for;
    if (wanted->view && !links)
        return "--view chooses how --open, --serve and links show the profile; name --open, --serve, --upload or "
               "--link-for";
    if (wanted->viewer && !links)
        return "--profiler-url chooses the viewer of --open, --serve and links; name --open, --serve, --upload or "
               "--link-for";
    if (shows && settings->output && output_is_standard(settings->output))
        return "--open and --serve need a file, and -o names standard output; name another file, or leave out -o";
    if (wanted->sanitize && wanted->style.embed_sources)
        return "--sanitize leaves out what --embed-sources puts in; choose one of them";
    if (wanted->style.raw && raw_problem(&wanted->style))
        return raw_problem(&wanted->style);
    const char *diff = diff_problem(settings);
    return diff ? diff : sharing_problem(settings);
}

static bool compares(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    return wanted->style.compare;
}

static bool without_input(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    return wanted->share.delete_link || wanted->share.link_for;
}

static int before(const struct settings *settings)
{
    const struct share_wishes wishes = wishes_of(settings);
    return share_first(&wishes);
}

/* Whether the profile is sent while it is made, and no file is written. */
static bool streams(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    return wanted->share.upload && !settings->output;
}

static bool keeps(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    return (wanted->open || wanted->serve) && !settings->output;
}

struct to_gecko {
    struct conversion *conversion;
    const struct wanted *wanted;
    struct gecko *gecko;
    struct spot spot;         /* of the view */
    struct intern recordings; /* the numbers of merged recordings, by name, for --sanitize */
    uint64_t json_bytes;      /* of the profile */
};

static void *start(struct conversion *conversion)
{
    struct to_gecko *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->wanted = conversion->settings.wanted;
    to->spot.view = to->wanted->view;
    const struct settings *settings = &conversion->settings;
    const bool by_state = settings->mode == KEPT_CPU || settings->mode == KEPT_EXCEPTION;
    struct gecko_style style = to->wanted->style;
    const struct selection *selection = &settings->selection;
    if (style.scale == GECKO_SCALE_USUAL && (selection->from_ns || selection->to_ns))
        style.scale = GECKO_SCALE_WORK; /* no whole runs */
    style.leaves_out = by_state || settings->selection.threads;
    to->gecko = gecko_start(&conversion->tables, &conversion->output, style);
    return to;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct to_gecko *to = self;
    if (!gecko_take(to->gecko, event, why))
        return false;
    spot_take(&to->spot, &to->conversion->tables, event, gecko_host(to->gecko));
    return true;
}

/* The facts of the finished profile that links carry. `lines` has room for GECKO_SELECTED_MOST. */
static struct link_profile link_profile_of(const struct to_gecko *to, uint32_t *lines)
{
    const char *missing = spot_missing(&to->spot);
    if (missing)
        fprintf(stderr, "%s: warning: the recording has %s; the viewer shows the flame graph\n",
                to->conversion->converter->name, missing);
    return spot_profile(&to->spot, to->gecko, &to->conversion->tables, lines);
}

/* The files whose text may be in the profile: those of the program. */
static struct disclosed_sources sources_of(const struct to_gecko *to)
{
    return to->wanted->style.embed_sources ? disclosed_texts_of(&to->conversion->tables)
                                           : (struct disclosed_sources){ 0 };
}

/* With --strict a recording that is not whole is not shared. */
static bool check_sharing(const struct to_gecko *to, struct fault *why)
{
    const struct conversion *conversion = to->conversion;
    const bool whole = conversion->whole && conversion->report.complete && conversion->report.damage.blocks == 0 &&
                       !conversion->tables.cut;
    return whole || !conversion->settings.strict ||
           fault(why, "a recording is damaged or incomplete, so --strict uploads nothing");
}

/* Sends the profile while it is made. */
static bool stream(struct to_gecko *to, struct fault *why)
{
    struct conversion *conversion = to->conversion;
    const struct share_wishes wishes = wishes_of(&conversion->settings);
    struct share *share = check_sharing(to, why)
                              ? share_begin(&wishes, &conversion->tables, sources_of(to), &conversion->output, why)
                              : NULL;
    if (!share)
        return false;
    if (!gecko_finish(to->gecko, why)) {
        share_cut(share, &conversion->output);
        return false;
    }
    uint32_t lines[GECKO_SELECTED_MOST];
    const struct link_profile profile = link_profile_of(to, lines);
    return share_end(share, &conversion->output, &profile, why);
}

static uint32_t host(const void *self)
{
    const struct to_gecko *to = self;
    return gecko_host(to->gecko);
}

static bool take_placed(void *self, struct event *event, struct fault *why)
{
    struct to_gecko *to = self;
    return gecko_take_placed(to->gecko, event, why);
}

static void take_recording(void *self, struct tables *recording, struct text name)
{
    struct to_gecko *to = self;
    char room[SANITIZE_NAME_ROOM];
    if (to->wanted->sanitize) {
        sanitize_description(recording, &to->recordings);
        name = sanitize_recording_name(&to->recordings, name, room);
    }
    gecko_take_recording(to->gecko, recording, name);
}

/* Tells which samples --max-samples left out. */
static void tell_of_thinning(const struct to_gecko *to)
{
    const uint64_t every = gecko_kept_one_of(to->gecko);
    if (every > 1 && !to->conversion->settings.quiet)
        fprintf(stderr,
                "pyreel-gecko: %" PRIu64 " of %" PRIu64 " samples are in the profile: of each %" PRIu64
                " in a row of a thread one is drawn at random, and stands for all\n",
                gecko_kept_samples(to->gecko), to->conversion->tables.samples, every);
}

/* Says how the recordings were compared, and warns of what else may make a difference. */
static void tell_of_comparison(const struct to_gecko *to)
{
    const struct gecko_compared compared = gecko_compared(to->gecko);
    const char *name = to->conversion->converter->name;
    char base[32], new[32];
    if (!to->conversion->settings.quiet)
        fprintf(stderr, "%s: compared by %s: each second of %s counts %.4g, each of %s counts 1\n", name,
                compared.by_work ? "work" : "time", compared.base, -compared.factor, compared.new);
    if (compared.base_python != compared.new_python)
        fprintf(stderr, "%s: warning: BASE ran with Python %s and NEW with Python %s\n", name,
                event_python_version_text(base, compared.base_python),
                event_python_version_text(new, compared.new_python));
    if (compared.hosts_differ)
        fprintf(stderr, "%s: warning: BASE and NEW ran on different hosts\n", name);
}

/* Tells that samples count alike which stand for different times. */
static void tell_of_weights(const struct to_gecko *to)
{
    if (gecko_loses_weights(to->gecko) && !to->conversion->settings.quiet)
        fprintf(stderr, "pyreel-gecko: the samples stand for different times, and the format of --raw-gecko cannot say "
                        "so: each sample counts as one\n");
}

static bool finish(void *self, struct fault *why)
{
    struct to_gecko *to = self;
    if (to->wanted->style.weight == GECKO_WEIGHT_CPU && !gecko_knows_cpu(to->gecko))
        return fault(why, "--weight cpu cannot be applied to %s: %s", to->conversion->settings.input,
                     aggregate_reason(SUM_CPU_NS));
    if (to->wanted->sanitize)
        sanitize_tables(&to->conversion->tables, &to->wanted->style.repositories, &to->recordings);
    const bool good = streams(&to->conversion->settings) ? stream(to, why) : gecko_finish(to->gecko, why);
    to->json_bytes = to->conversion->output.flushed + to->conversion->output.used;
    if (good) {
        tell_of_thinning(to);
        tell_of_weights(to);
        if (to->wanted->style.compare)
            tell_of_comparison(to);
        embedding_warn(stderr, to->conversion->converter->name, gecko_embedded(to->gecko));
    }
    return good;
}

/* Warns of a profile that is too large for the viewer or for the store of profiles. */
static void closed(void *self, const char *path, uint64_t bytes)
{
    const struct to_gecko *to = self;
    const bool too_large = ends_in_gz(path) && bytes > SHARE_LIMIT;
    if (to->conversion->settings.quiet || (to->json_bytes <= JSON_MOST && !too_large))
        return;
    fprintf(stderr, "pyreel-gecko: warning: the profile has %" PRIu64 " MB of JSON", to->json_bytes / 1000000);
    if (to->json_bytes > JSON_MOST)
        fprintf(stderr, ", and the viewer takes long to read more than %" PRIu64 " MB", JSON_MOST / 1000000);
    if (too_large)
        fprintf(stderr, "; packed it has %" PRIu64 " MiB, and the profile store takes at most %" PRIu64 " MiB",
                bytes >> 20, SHARE_LIMIT >> 20);
    fprintf(stderr, "; make it smaller with --max-samples, --from and --to, --threads, or --mode cpu\n");
}

/* Shows the profile, the file `fd`. */
static bool show(const struct to_gecko *to, int fd, struct fault *why)
{
    uint32_t lines[GECKO_SELECTED_MOST];
    const struct shown shown = {
        .program = to->conversion->converter->name,
        .viewer = to->wanted->viewer ? to->wanted->viewer : LINK_VIEWER,
        .view = to->wanted->view,
        .profile = link_profile_of(to, lines),
        .fd = fd,
        .browser = to->wanted->open,
        .quiet = to->conversion->settings.quiet,
    };
    return show_profile(&shown, why);
}

/* Sends the profile, the file at `path`. */
static bool send_file(const struct to_gecko *to, const char *path, struct fault *why)
{
    uint32_t lines[GECKO_SELECTED_MOST];
    const struct link_profile profile = link_profile_of(to, lines);
    const struct share_wishes wishes = wishes_of(&to->conversion->settings);
    const struct embedded_files *embedded = gecko_embedded(to->gecko);
    const struct disclosed_sources sources = { .count = embedded->count[SOURCE_READ],
                                               .example = embedded->first[SOURCE_READ] };
    return check_sharing(to, why) && share_file(&wishes, &to->conversion->tables, sources, path, &profile, why);
}

static bool after(void *self, const char *path, struct fault *why)
{
    const struct to_gecko *to = self;
    if (to->wanted->share.upload)
        return streams(&to->conversion->settings) || send_file(to, path, why);
    if (!to->wanted->open && !to->wanted->serve)
        return true;
    if (!path)
        return show(to, to->conversion->kept_fd, why);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 ? show(to, fd, why) : fault(why, "cannot read %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

static void drop(void *self)
{
    struct to_gecko *to = self;
    gecko_drop(to->gecko);
    spot_free(&to->spot);
    intern_free(&to->recordings);
    free(to);
}

/* A profile begins with its libraries. */
static bool recognises(struct text head)
{
    return text_begins(head, TEXT("{\"libs\":"));
}

static const struct converter to_gecko = {
    .name = "pyreel-gecko",
    .makes = "Writes a profile for the Firefox Profiler (profiler.firefox.com).",
    .suffix = ".json.gz",
    .recognises = recognises,
    .packing = PACKING_BY_NAME,
    .takes = TAKES_MODE | TAKES_SELECTION,
    .several = SEVERAL_MERGED,
    .options = options,
    .wanted_size = sizeof(struct wanted),
    .apply = apply,
    .problem = problem,
    .without_input = without_input,
    .compares = compares,
    .before = before,
    .splits = streams,
    .keeps = keeps,
    .places_cpu = true,
    .stretches = true,
    .start = start,
    .take = take,
    .host = host,
    .take_placed = take_placed,
    .take_recording = take_recording,
    .closed = closed,
    .finish = finish,
    .after = after,
    .drop = drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_gecko);
}
