/* SPDX-License-Identifier: MIT */
#include "convert/parts.h"

#include "formats/base/alloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An input, and what its header says. */
struct headed {
    char *path;
    struct part_header header;
    size_t order; /* among the inputs */
};

static bool take_header(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct part_header *header = self;
    if (event->kind != EVENT_RECORDING || !event->recording.series || !event->recording.part)
        return true;
    header->series = event->recording.series;
    header->part = event->recording.part;
    header->host = text_copy(event->recording.host);
    return true;
}

struct part_header parts_read_header(const char *path)
{
    struct part_header header = { 0 };
    struct stat there;
    if (strcmp(path, "-") == 0 || stat(path, &there) != 0 || !S_ISREG(there.st_mode))
        return header;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return header;
    struct source source;
    const struct source_options options = { 0 };
    const struct sink sink = { .take = take_header, .self = &header };
    header.bytes = (uint64_t)there.st_size;
    source_open(&source, fd, &options, &sink, NULL);
    source_close(&source);
    close(fd);
    return header;
}

bool parts_are_of_one(const struct part_header *a, const struct part_header *b)
{
    return a->part && b->part && a->series == b->series && text_equal(a->host, b->host);
}

/* Orders the parts of a recording behind each other, by their numbers; inputs that are no parts stand first. */
static int compare_headed(const void *one, const void *another)
{
    const struct headed *a = one, *b = another;
    if (a->header.series != b->header.series)
        return a->header.series < b->header.series ? -1 : 1;
    const int order = text_compare(a->header.host, b->header.host);
    if (order)
        return order;
    if (a->header.part != b->header.part)
        return a->header.part < b->header.part ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void add_list(struct part_lists *lists, const struct headed *rows, size_t count)
{
    lists->rows = alloc_grow(lists->rows, &lists->room, lists->count + 1, sizeof(*lists->rows));
    struct part_list *list = &lists->rows[lists->count++];
    *list = (struct part_list){ .parts = { .paths = alloc_zeroed(count, sizeof(char *)),
                                           .numbers = alloc_zeroed(count, sizeof(uint32_t)),
                                           .count = count } };
    for (size_t i = 0; i < count; i++) {
        list->parts.paths[i] = rows[i].path;
        list->parts.numbers[i] = rows[i].header.part;
        list->bytes += rows[i].header.bytes;
    }
}

/* Joins the parts of each recording: the first one keeps its place among the inputs, and the others have no path. */
static void join_parts(struct part_lists *lists, struct headed *rows, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && parts_are_of_one(&rows[i].header, &rows[next].header); next++)
            if (rows[next].header.part == rows[next - 1].header.part)
                fault(&lists->problem, "%s and %s are the same part of a recording; name one of them",
                      rows[next - 1].path, rows[next].path);
        if (next - i < 2)
            continue;
        add_list(lists, rows + i, next - i);
        for (size_t at = i + 1; at < next; at++)
            rows[at].path = NULL;
    }
}

static int compare_order(const void *one, const void *another)
{
    const struct headed *a = one, *b = another;
    return a->order < b->order ? -1 : a->order > b->order;
}

void parts_find(struct part_lists *lists, char **inputs, size_t from, size_t *end, size_t *count)
{
    const size_t before = *end - from;
    struct headed *rows = alloc_zeroed(before + 1, sizeof(*rows));
    for (size_t i = 0; i < before; i++)
        rows[i] = (struct headed){ inputs[from + i], parts_read_header(inputs[from + i]), i };
    qsort(rows, before, sizeof(*rows), compare_headed);
    join_parts(lists, rows, before);
    qsort(rows, before, sizeof(*rows), compare_order);
    size_t left = from;
    for (size_t i = 0; i < before; i++) {
        text_free(rows[i].header.host);
        if (rows[i].path)
            inputs[left++] = rows[i].path;
    }
    free(rows);
    memmove(inputs + left, inputs + *end, (*count - *end) * sizeof(*inputs));
    *count -= *end - left;
    *end = left;
}

const struct part_list *parts_of(const struct part_lists *lists, const char *path)
{
    for (size_t i = 0; i < lists->count; i++)
        if (lists->rows[i].parts.paths[0] == path)
            return &lists->rows[i];
    return NULL;
}

void parts_free(struct part_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++) {
        free(lists->rows[i].parts.paths);
        free(lists->rows[i].parts.numbers);
    }
    free(lists->rows);
    *lists = (struct part_lists){ 0 };
}
