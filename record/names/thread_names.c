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

/* The attributes of a Thread. */
struct named_thread {
    uint64_t object, name; /* addresses */
};

/* Finds the Thread with this _ident and _native_id, and its name. */
static bool find_named(struct dict_reader *reader, uint64_t active, uint64_t ident, uint32_t native_id,
                       struct named_thread *named)
{
    static const struct text wanted[] = { { "_ident", 6 }, { "_native_id", 10 }, { "_name", 5 } };
    uint64_t values[countof(wanted)], number, native;
    const uint64_t thread = dict_find_number(reader, active, ident);
    if (!thread || !dict_find_attributes(reader, thread, wanted, countof(wanted), values) ||
        !dict_read_int(reader, values[0], &number) || number != ident)
        return false;
    if (native_id && (!dict_read_int(reader, values[1], &native) || native != native_id))
        return false;
    *named = (struct named_thread){ thread, values[2] };
    return true;
}

struct text thread_names_find(struct thread_names *names, uint64_t interpreter, uint64_t ident, uint32_t native_id,
                              uint64_t now_ns)
{
    struct dict_reader *reader = &names->reader;
    struct named_thread before, after;
    struct text name = { 0 };
    const uint64_t active = ident ? active_of(names, interpreter, now_ns) : 0;
    if (!active || !find_named(reader, active, ident, native_id, &before) ||
        !dict_read_string(reader, before.name, THREAD_NAMES_LIMIT, &name))
        return (struct text){ 0 };
    /* The text belongs to the thread if the thread had it before and after the text was read: in between, the thread
     * may end, and its name's memory become something else. */
    if (find_named(reader, active, ident, native_id, &after) && after.object == before.object &&
        after.name == before.name)
        return name;
    text_free(name);
    return (struct text){ 0 };
}
