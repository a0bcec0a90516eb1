/* SPDX-License-Identifier: MIT */
#include "record/names/thread_names.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define SEARCH_FIRST_NS    10000000u   /* wait before the second search for the module; doubles ... */
#define SEARCH_MOST_NS     1000000000u /* ... up to this */
#define INTERPRETERS_LIMIT 4096

void thread_names_open(struct thread_names *names, struct remote *remote, const struct layout *layout)
{
    *names = (struct thread_names){ .reader = { .remote = remote, .layout = layout } };
}

void thread_names_close(struct thread_names *names)
{
    dict_reader_free(&names->reader);
    free(names->interpreters);
    *names = (struct thread_names){ 0 };
}

static struct named_interpreter *thread_names_row(struct thread_names *names, uint64_t interpreter)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->interpreters[i].address == interpreter)
            return &names->interpreters[i];
    if (names->count >= INTERPRETERS_LIMIT)
        names->count = 0; /* most of them have ended */
    names->interpreters = alloc_grow(names->interpreters, &names->room, names->count + 1, sizeof(*names->interpreters));
    struct named_interpreter *row = &names->interpreters[names->count++];
    *row = (struct named_interpreter){ .address = interpreter };
    return row;
}

/* Searches the interpreter for threading._active, which stays the same dict while the module lives. */
static uint64_t threading_search(struct dict_reader *reader, uint64_t interpreter)
{
    const struct layout *l = reader->layout;
    uint64_t modules, dict;
    if (remote_read(reader->remote, interpreter + l->interpreter_modules, &modules, sizeof(modules)) != REMOTE_READ)
        return 0;
    const uint64_t module = dict_find_name(reader, modules, TEXT("threading"));
    /* A module begins with its dict. */
    if (!module || remote_read(reader->remote, module + l->object_type + 8, &dict, sizeof(dict)) != REMOTE_READ)
        return 0;
    return dict_find_name(reader, dict, TEXT("_active"));
}

static uint64_t active_of(struct thread_names *names, uint64_t interpreter, uint64_t now_ns)
{
    struct named_interpreter *row = thread_names_row(names, interpreter);
    if (row->active || now_ns < row->search_due_ns)
        return row->active;
    row->search_wait_ns = row->search_wait_ns ? 2 * row->search_wait_ns : SEARCH_FIRST_NS;
    if (row->search_wait_ns > SEARCH_MOST_NS)
        row->search_wait_ns = SEARCH_MOST_NS;
    row->search_due_ns = now_ns + row->search_wait_ns;
    return row->active = threading_search(&names->reader, interpreter);
}

struct text thread_names_find(struct thread_names *names, uint64_t interpreter, uint64_t ident, uint32_t native_id,
                              uint64_t now_ns)
{
    static const struct text wanted[] = { { "_ident", 6 }, { "_native_id", 10 }, { "_name", 5 } };
    struct dict_reader *reader = &names->reader;
    uint64_t values[countof(wanted)], number, native;
    struct text name = { 0 };
    const uint64_t active = ident ? active_of(names, interpreter, now_ns) : 0;
    const uint64_t thread = active ? dict_find_number(reader, active, ident) : 0;
    if (!thread || !dict_find_attributes(reader, thread, wanted, countof(wanted), values) ||
        !dict_read_int(reader, values[0], &number) || number != ident || !dict_read_int(reader, values[1], &native) ||
        native != native_id)
        return name;
    dict_read_string(reader, values[2], THREAD_NAMES_LIMIT, &name);
    return name;
}
