/* SPDX-License-Identifier: MIT */
#include "convert/inputs.h"

#include "convert/source.h"
#include "formats/base/alloc.h"
#include "formats/base/replaced.h"
#include "formats/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file or a pipe, after a look at it. Returns -1 with the reason. */
static int open_path(const char *path, struct fault *why)
{
    struct stat there;
    const int seen = open(path, O_PATH | O_CLOEXEC);
    int fd = -1;
    if (seen >= 0 && fstat(seen, &there) == 0 && replaced_is_strange_pipe(path, &there))
        fault(why,
              "cannot read %s: it is no file but a pipe, device or socket that another user put into a folder that "
              "everyone can write to",
              path);
    else if (seen >= 0 && S_ISSOCK(there.st_mode))
        fault(why, "cannot read %s: it is a socket; name a recording", path);
    else if (seen < 0 || (fd = replaced_open_seen(seen, path, O_RDONLY)) < 0)
        fault(why, "cannot open %s: %s", path, strerror(errno));
    if (seen >= 0)
        close(seen);
    return fd;
}

int inputs_open_file(const char *path, uint64_t *bytes, struct fault *why)
{
    const int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open_path(path, why);
    struct stat input;
    if (fd < 0)
        return -1;
    if (fstat(fd, &input) != 0)
        fault(why, "cannot open %s: %s", path, strerror(errno));
    else if (S_ISDIR(input.st_mode))
        fault(why, "%s is a folder; name a recording", path);
    else if (fd == STDIN_FILENO && isatty(fd))
        fault(why, "standard input is a terminal: name a recording, or pipe one in");
    else {
        *bytes = S_ISREG(input.st_mode) ? (uint64_t)input.st_size : 0;
        return fd;
    }
    inputs_close_file(fd);
    return -1;
}

bool inputs_open_source(const struct input *input, struct source *source, int fd, const struct source_options *options,
                        const struct sink *to, struct fault *why)
{
    return input->parts ? source_open_parts(source, fd, &input->parts->parts, options, to, why)
                        : source_open(source, fd, options, to, why);
}

void inputs_close_file(int fd)
{
    if (fd > STDIN_FILENO)
        close(fd);
}

/* ---- identity ---- */

struct identity identity_of(const struct tables *tables)
{
    const struct recording *recording = &tables->recording;
    return (struct identity){ .host = text_copy(recording->host),
                              .start_unix_ns = recording->start_unix_ns,
                              .start_monotonic_ns = recording->start_monotonic_ns,
                              .pid = tables_first_process(tables)->pid };
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
    return (a->start_unix_ns || a->start_monotonic_ns) && a->start_unix_ns == b->start_unix_ns &&
           a->start_monotonic_ns == b->start_monotonic_ns && a->pid == b->pid && text_equal(a->host, b->host);
}

/* ---- names ---- */

static struct text file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return (struct text){ name, dot && dot > name ? (size_t)(dot - name) : strlen(name) };
}

/* The length of the folders that all paths have in common, with the last slash; 0: none. */
static size_t common_folders(const struct inputs *inputs)
{
    const char *first = inputs->rows[0].path;
    size_t common = strlen(first);
    for (size_t i = 1; i < inputs->count; i++)
        while (common > 0 && (strncmp(first, inputs->rows[i].path, common) != 0 || first[common - 1] != '/'))
            common--;
    return common;
}

static bool have_distinct_names(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        for (size_t other = 0; other < i; other++)
            if (text_equal(file_name(inputs->rows[i].path), file_name(inputs->rows[other].path)))
                return false;
    return true;
}

/* Names each recording by its file name. If two file names are equal, names all by their paths without the common
 * folders: run/a/x.pyreel and run/b/x.pyreel → a/x.pyreel and b/x.pyreel. File names may be any bytes, and outputs need
 * UTF-8. */
static void name_inputs(struct inputs *inputs)
{
    const bool distinct = have_distinct_names(inputs);
    const size_t common = common_folders(inputs);
    for (size_t i = 0; i < inputs->count; i++) {
        const char *path = inputs->rows[i].path;
        const struct text name = distinct ? file_name(path) : (struct text){ path + common, strlen(path) - common };
        inputs->rows[i].name = utf8_clean(name);
    }
}

/* ---- the first pass ---- */

/* The first pass over one recording. */
struct inputs_look {
    struct input *input;
    const struct selection *selection;
    struct tables tables; /* processes, tasks and threads only */
    bool refused;         /* the tables refused the last event */
};

static void look_at_thread(struct inputs_look *look, uint32_t thread)
{
    struct input *input = look->input;
    if (thread >= look->tables.threads_count || !look->tables.threads[thread].thread.number ||
        !selection_has_thread(look->selection, &look->tables, thread))
        return;
    input->wanted = alloc_grow(input->wanted, &input->wanted_room, (size_t)thread + 1, sizeof(*input->wanted));
    input->wanted[thread] = true;
}

/* A process has another title. */
static void look_at_threads_of(struct inputs_look *look, uint32_t process)
{
    for (uint32_t i = 1; look->selection->processes && i < look->tables.threads_count; i++)
        if (look->tables.threads[i].thread.process == process)
            look_at_thread(look, i);
}

static void inputs_note_time(struct input *input, uint64_t time_ns)
{
    if (input->length_ns < time_ns)
        input->length_ns = time_ns;
}

/* Takes an event of the first pass. An event that the tables refuse ends its block, as in the second pass. Only the
 * second pass reports this damage. */
static bool inputs_take(void *self, struct event *event, struct fault *why)
{
    struct inputs_look *look = self;
    look->tables.forgiving = true;
    switch (event->kind) {
    case EVENT_RECORDING:
    case EVENT_PROCESS:
    case EVENT_TASK:
    case EVENT_THREAD:
    case EVENT_THREAD_NAME:
    case EVENT_PROCESS_TITLE:
    case EVENT_PROCESS_ATTRIBUTES: /* by which --processes may choose */
        look->refused = !tables_take(&look->tables, event, why);
        break;
    case EVENT_TICK:
        inputs_note_time(look->input, event->tick_ns);
        return true;
    case EVENT_MEASURE:
        inputs_note_time(look->input, event->measure.time_ns);
        return true;
    case EVENT_END:
        inputs_note_time(look->input, event->end.time_ns);
        return true;
    default:
        return true;
    }
    if (!look->refused && event->kind == EVENT_THREAD)
        look_at_thread(look, event->thread.number);
    if (!look->refused && event->kind == EVENT_THREAD_NAME)
        look_at_thread(look, event->change.number);
    if (!look->refused && (event->kind == EVENT_PROCESS_TITLE || event->kind == EVENT_PROCESS_ATTRIBUTES))
        look_at_threads_of(look, event->change.number);
    return !look->refused;
}

/* Whether the first pass needs no more events: with --threads and percentages it needs all, else the first process. */
static bool has_seen_enough(const struct inputs_look *look)
{
    return !selection_has_names(look->selection) && !selection_needs_length(look->selection) &&
           look->tables.processes_count > 1;
}

/* Reads the events that the first pass needs, past damaged blocks. */
static void look_at_events(struct inputs_look *look, struct source *source, const struct sink *sink)
{
    enum source_state state = SOURCE_MORE;
    while (!has_seen_enough(look) &&
           (state == SOURCE_MORE ||
            (state == SOURCE_STOPPED && look->refused && source_forgive(source, "events that contradict others")))) {
        look->refused = false;
        state = source_read(source, sink, NULL);
    }
}

static void look_at_file(struct inputs_look *look, int fd)
{
    struct source source;
    const struct source_options options = { .runs = true, .without_status = true, .without_stands = true };
    const struct sink sink = { .take = inputs_take, .self = look };
    struct input *input = look->input;
    input->known = inputs_open_source(input, &source, fd, &options, &sink, NULL);
    if (input->known)
        look_at_events(look, &source, &sink);
    if (input->known)
        input->identity = identity_of(&look->tables);
    input->start_unix_ns = look->tables.recording.start_unix_ns;
    input->interval_ns = look->tables.recording.interval_ns;
    source_close(&source);
}

static void note_start_and_interval(struct inputs *inputs, const struct input *input)
{
    if (!input->known)
        return;
    const uint64_t start_ns = input->start_unix_ns; /* 0: not known */
    if (inputs->start_unix_ns == 0 || (start_ns && start_ns < inputs->start_unix_ns))
        inputs->start_unix_ns = start_ns;
    if (inputs->interval_ns == 0 || input->interval_ns < inputs->interval_ns)
        inputs->interval_ns = input->interval_ns;
}

/* An earlier input that is the same file; NULL: none. Below: an earlier input with the same recording in it. */
static const struct input *find_link(const struct inputs *inputs, const struct input *input)
{
    for (const struct input *twin = inputs->rows; twin < input; twin++)
        if (twin->inode && twin->inode == input->inode && twin->device == input->device)
            return twin;
    return NULL;
}

static const struct input *find_copy(const struct inputs *inputs, const struct input *input)
{
    for (const struct input *twin = inputs->rows; twin < input; twin++)
        if (identity_equal(&twin->identity, &input->identity))
            return twin;
    return NULL;
}

/* Makes the first pass over a recording. A pipe cannot be read twice, so it has no first pass and stays unknown. */
static bool look_at_input(struct inputs *inputs, struct input *input, struct inputs_look *look, struct fault *why)
{
    struct stat there;
    uint64_t bytes;
    const bool exists = strcmp(input->path, "-") != 0 && stat(input->path, &there) == 0;
    const bool pipe = strcmp(input->path, "-") == 0 || (exists && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode));
    if (pipe && selection_needs_length(look->selection))
        return fault(
            why,
            "%s is read only once, so its length is not known: give --from and --to as times, such as 1m30, and no "
            "--last, or name a file",
            strcmp(input->path, "-") == 0 ? "standard input" : input->path);
    if (pipe)
        return true;
    if (exists) {
        input->device = there.st_dev;
        input->inode = there.st_ino;
    }
    const struct input *link = inputs->compared ? NULL : find_link(inputs, input);
    if (link)
        return fault(why, "%s and %s are the same recording, which would be counted twice; name it once", link->path,
                     input->path);
    const int fd = inputs_open_file(input->path, &bytes, why);
    if (fd < 0)
        return false;
    look_at_file(look, fd);
    inputs_close_file(fd);
    const struct input *copy = inputs->compared ? NULL : find_copy(inputs, input);
    if (copy)
        return fault(why,
                     "%s and %s are copies of the same recording (the same process, start and host), which would be "
                     "counted twice; name one of them",
                     copy->path, input->path);
    note_start_and_interval(inputs, input);
    return true;
}

static bool make_first_pass(struct inputs *inputs, const struct selection *selection, struct fault *why)
{
    struct text mode = { 0 }; /* a copy of the first known recording's mode */
    bool good = true;
    for (size_t i = 0; i < inputs->count && good; i++) {
        struct input *input = &inputs->rows[i];
        struct inputs_look look = { .input = input, .selection = selection };
        good = look_at_input(inputs, input, &look, why);
        const struct text own = look.tables.recording.mode;
        inputs->modes_differ |= input->known && mode.bytes && !text_equal(mode, own);
        if (input->known && !mode.bytes)
            mode = text_copy(own);
        tables_free(&look.tables);
    }
    text_free(mode);
    return good;
}

/* ---- order ---- */

/* Compares by the start, recordings without a known start last; then by name, because recordings may have the same
 * start; then by path, because the names of files in other encodings may become the same. */
static int compare_inputs(const void *one, const void *another)
{
    const struct input *a = one, *b = another;
    if (a->start_unix_ns != b->start_unix_ns) /* 0, which is not known, - 1 is the largest number */
        return a->start_unix_ns - 1 < b->start_unix_ns - 1 ? -1 : 1;
    const int order = text_compare(a->name, b->name);
    return order ? order : strcmp(a->path, b->path);
}

void inputs_name(struct inputs *inputs, char **paths, size_t count, const struct part_lists *parts)
{
    *inputs = (struct inputs){ .rows = alloc_zeroed(count, sizeof(*inputs->rows)), .count = count };
    for (size_t i = 0; i < count; i++)
        inputs->rows[i] = (struct input){ .path = paths[i], .parts = parts_of(parts, paths[i]) };
    name_inputs(inputs);
}

bool inputs_open(struct inputs *inputs, char **paths, size_t count, const struct part_lists *parts,
                 const struct selection *selection, bool compared, struct fault *why)
{
    inputs_name(inputs, paths, count, parts);
    inputs->compared = compared;
    const bool needs_first_pass = count > 1 || selection_has_names(selection) || selection_needs_length(selection);
    if (needs_first_pass && !make_first_pass(inputs, selection, why))
        return false;
    if (!compared)
        qsort(inputs->rows, count, sizeof(*inputs->rows), compare_inputs);
    return true;
}

uint64_t inputs_length_ns(const struct inputs *inputs)
{
    uint64_t length_ns = 0;
    for (const struct input *input = inputs->rows; input < inputs->rows + inputs->count; input++) {
        const uint64_t start_ns = input->start_unix_ns;
        const uint64_t offset_ns = start_ns && !inputs->compared ? start_ns - inputs->start_unix_ns : 0;
        const uint64_t end_ns = input->length_ns + offset_ns;
        if (input->known && end_ns > length_ns)
            length_ns = end_ns;
    }
    return length_ns;
}

struct recording inputs_begin(struct inputs *inputs, const struct recording *first)
{
    const uint64_t start_ns = inputs->compared ? first->start_unix_ns : inputs->start_unix_ns;
    struct recording whole = *first;
    if (whole.start_unix_ns == 0 && start_ns) { /* the monotonic start of a recording without a date is useless */
        whole.start_unix_ns = start_ns;
        whole.start_monotonic_ns = 0;
    }
    if (inputs->count > 1 && start_ns && start_ns < whole.start_unix_ns) {
        const uint64_t earlier_ns = whole.start_unix_ns - start_ns;
        whole.start_monotonic_ns -= earlier_ns < whole.start_monotonic_ns ? earlier_ns : whole.start_monotonic_ns;
        whole.start_unix_ns = start_ns;
    }
    if (inputs->interval_ns && inputs->count > 1)
        whole.interval_ns = inputs->interval_ns;
    if (inputs->modes_differ)
        whole.mode = (struct text){ 0 };
    inputs->start_unix_ns = whole.start_unix_ns;
    return whole;
}

uint64_t inputs_offset_ns(struct inputs *inputs, uint64_t start_unix_ns)
{
    if (inputs->compared)
        return 0;
    if (inputs->start_unix_ns == 0)
        inputs->start_unix_ns = start_unix_ns;
    return start_unix_ns > inputs->start_unix_ns ? start_unix_ns - inputs->start_unix_ns : 0;
}

static void inputs_drop(struct input *input)
{
    text_free(input->name);
    text_free(input->identity.host);
    free(input->wanted);
}

void inputs_close(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        inputs_drop(&inputs->rows[i]);
    free(inputs->rows);
    *inputs = (struct inputs){ 0 };
}
