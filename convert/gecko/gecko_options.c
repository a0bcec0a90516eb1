/* SPDX-License-Identifier: MIT */
#include "convert/gecko/gecko_options.h"

#include "formats/base/alloc.h"

#include <string.h>

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
    OPTION_MAX_SAMPLES,
    OPTION_WEIGHT,
    OPTION_SANITIZE,
    OPTION_UPLOAD,
    OPTION_DELETE,
    OPTION_LINK_FOR,
    OPTION_SERVER,
    OPTION_MAX_UPLOAD,
    OPTION_TIMEOUT,
};

const struct argument gecko_options[] = {
    { OPTION_OPEN, 0, "open", NULL, 0, "show the profile in a browser; upload nothing" },
    { OPTION_SERVE, 0, "serve", NULL, 0, "as --open, but start no browser" },
    { OPTION_VIEW, 0, "view", "VIEW", 0, "show this first: my-code|gil|gc|imports|flame" },
    { OPTION_MARKERS, 0, "markers", "few|all|none", 0, "all: also each change of a thread's state (few)" },
    { OPTION_MIN_GIL_WAIT, 0, "min-gil-wait", "TIME", 0, "mark waits for the GIL from TIME on (5ms)" },
    { OPTION_TASKS, 0, "tasks", "lives|rows|tracks", 0, "tasks as markers, in rows, as threads (lives)" },
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
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "name files of the standard library by their paths" },
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0,
      "what trees add up: samples|wall|cpu (cpu; where\n"
      "it is not known: samples, or wall where samples\n"
      "stand for different times)" },
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

/* ---- values ---- */

/* The flag that an option sets, when the option does nothing else; NULL: the option does something else. */
static bool *flag_of(struct gecko_wanted *wanted, enum own_option option)
{
    const struct {
        enum own_option option;
        bool *flag;
    } flags[] = {
        { OPTION_OPEN, &wanted->open },
        { OPTION_SERVE, &wanted->serve },
        { OPTION_EMBED_SOURCES, &wanted->style.embed_sources },
        { OPTION_COMPACT, &wanted->style.compact },
        { OPTION_FULL_PATHS, &wanted->style.full_paths },
        { OPTION_SANITIZE, &wanted->sanitize },
        { OPTION_UPLOAD, &wanted->share.upload },
    };
    for (size_t i = 0; i < countof(flags); i++)
        if (flags[i].option == option)
            return flags[i].flag;
    return NULL;
}

/* The number that a word stands for as the value of an option; -1: the option does not accept the word. */
static int word_value(enum own_option option, const char *word)
{
    static const struct {
        enum own_option option;
        const char *word;
        int value;
    } words[] = {
        { OPTION_MARKERS, "few", GECKO_MARKERS_FEW },   { OPTION_MARKERS, "all", GECKO_MARKERS_ALL },
        { OPTION_MARKERS, "none", GECKO_MARKERS_NONE }, { OPTION_TASKS, "lives", GECKO_TASKS_LIVES },
        { OPTION_TASKS, "rows", GECKO_TASKS_ROWS },     { OPTION_TASKS, "tracks", GECKO_TASKS_TRACKS },
    };
    for (size_t i = 0; i < countof(words); i++)
        if (words[i].option == option && strcmp(words[i].word, word) == 0)
            return words[i].value;
    return -1;
}

/* 0 stands for the default, so the shortest minimum is a nanosecond: it leaves no wait out. */
static bool apply_gil_wait(struct gecko_style *style, const char *value)
{
    if (!arguments_parse_time(value, &style->gil_wait_ns))
        return false;
    style->gil_wait_ns += style->gil_wait_ns == 0;
    return true;
}

/* Applies an option for sharing, or for showing the profile. */
static bool apply_sharing(struct gecko_wanted *wanted, enum own_option option, const char *value)
{
    struct share_wishes *share = &wanted->share;
    wanted->limits |= option == OPTION_SERVER || option == OPTION_MAX_UPLOAD || option == OPTION_TIMEOUT;
    switch (option) {
    case OPTION_VIEW:
        return (wanted->view = link_view_named(value)) != VIEW_NONE;
    case OPTION_PROFILER_URL:
        wanted->viewer = value;
        return link_viewer_fits(value);
    case OPTION_DELETE:
        share->delete_link = value;
        return *value != '\0';
    case OPTION_LINK_FOR:
        share->link_for = value;
        return *value != '\0';
    case OPTION_SERVER:
        share->server = value;
        return true;
    case OPTION_MAX_UPLOAD:
        return arguments_parse_size(value, &share->limit_bytes);
    case OPTION_TIMEOUT:
        return arguments_parse_time(value, &share->timeout_ns) && share->timeout_ns > 0;
    default:
        return false;
    }
}

bool gecko_options_apply(struct settings *settings, int number, const char *value)
{
    const enum own_option option = (enum own_option)number;
    struct gecko_wanted *wanted = settings->wanted;
    struct gecko_style *style = &wanted->style;
    bool *const flag = flag_of(wanted, option);
    if (flag)
        return *flag = true;
    const int word = value ? word_value(option, value) : -1;
    switch (option) {
    case OPTION_MARKERS:
        style->markers = (enum gecko_markers)word;
        return word >= 0;
    case OPTION_TASKS:
        style->tasks = (enum gecko_tasks_shown)word;
        return word >= 0;
    case OPTION_MIN_GIL_WAIT:
        return apply_gil_wait(style, value);
    case OPTION_OPCODES:
        settings->opcodes = true;
        style->opcodes = value ? GECKO_OPCODES_FRAMES : GECKO_OPCODES_SUBCATEGORIES;
        return !value || strcmp(value, "frames") == 0;
    case OPTION_PATH_MAP:
        return source_folders_add_map(&style->path_maps, value);
    case OPTION_SOURCE_REPO:
        return source_folders_add_repository(&style->repositories, value);
    case OPTION_WEIGHT:
        return (style->weight = gecko_weight_named(value)) != GECKO_WEIGHT_USUAL;
    case OPTION_MAX_SAMPLES:
        return arguments_parse_size(value, &style->max_samples);
    default:
        return apply_sharing(wanted, option, value);
    }
}

/* ---- what they mean together ---- */

const struct gecko_wanted *gecko_options_wanted(const struct settings *settings)
{
    return settings->wanted;
}

struct share_wishes gecko_options_wishes(const struct settings *settings)
{
    const struct gecko_wanted *wanted = settings->wanted;
    struct share_wishes wishes = wanted->share;
    wishes.program = "pyreel-gecko";
    wishes.quiet = settings->quiet;
    wishes.sanitized = wanted->sanitize;
    wishes.view = wanted->view;
    wishes.viewer = wanted->viewer;
    return wishes;
}

bool gecko_options_shows(const struct settings *settings)
{
    const struct gecko_wanted *wanted = settings->wanted;
    return wanted->open || wanted->serve;
}

bool gecko_options_streams(const struct settings *settings)
{
    const struct gecko_wanted *wanted = settings->wanted;
    return wanted->share.upload && !settings->output;
}

bool gecko_options_packed(const char *path)
{
    return text_ends(text_of(path), TEXT(".gz"));
}
