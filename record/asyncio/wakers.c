/* SPDX-License-Identifier: MIT */
#include "record/asyncio/wakers.h"

#include "formats/base/alloc.h"
#include "record/names/dict.h"

#include <stdlib.h>
#include <string.h>

#define CALLBACKS_MOST (1u << 16) /* of one future */
#define CELLS_MOST     16         /* of a closure */
#define ATTRIBUTES     128        /* of an object that is searched for one */
#define PLACE_READS    12         /* direct reads that the search takes at most */

/* Where objects have their members, in words behind their head; the same in all versions whose callbacks are read. */
enum {
    LIST_SIZE = 0, /* then the address of the items */
    TUPLE_SIZE = 0,
    CELL_VALUE = 0,
    METHOD_FUNCTION = 0,  /* then its object */
    BUILTIN_METHOD = 0,   /* address of a PyMethodDef, which begins with the address of its name; then its object */
    PARTIAL_FUNCTION = 0, /* then the tuple of its arguments */
    FUNCTION_CODE = 4,
    FUNCTION_CLOSURE = 7, /* a tuple of cells; 0: there is none */
};

static const struct layout *wakers_layout(const struct looking *k)
{
    return &k->tasks->target->runtime.layout;
}

/* Reads words of an object, from the n-th one behind its head on. */
static bool wakers_look_at_words(struct looking *k, uint64_t object, uint32_t n, uint64_t *words, uint32_t count)
{
    return await_chain_look(k, object + wakers_layout(k)->object_type + 8 + (uint64_t)n * 8, count * 8, words);
}

static bool look_is(struct looking *k, uint64_t object, enum object_kind wanted, bool *is)
{
    enum object_kind kind;
    *is = false;
    if (object && !await_chain_look_kind(k, object, &kind))
        return false;
    *is = object && kind == wanted;
    return true;
}

/* Reads the first items of a tuple; *count: how many it has, at most `most`, or 0 when the object is no tuple. */
static bool look_at_tuple(struct looking *k, uint64_t tuple, uint64_t *items, uint32_t most, uint32_t *count)
{
    uint64_t size;
    bool is;
    *count = 0;
    if (!look_is(k, tuple, OBJECT_TUPLE, &is) || (is && !wakers_look_at_words(k, tuple, TUPLE_SIZE, &size, 1)))
        return false;
    if (!is || size == 0)
        return true;
    *count = size < most ? (uint32_t)size : most;
    return wakers_look_at_words(k, tuple, wakers_layout(k)->tuple_items / 8, items, *count);
}

bool wakers_look_at_callbacks(struct looking *k, uint64_t first, uint64_t list)
{
    uint64_t words[2];
    bool is;
    if (first)
        await_chain_add_waiter(k, first);
    if (!look_is(k, list, OBJECT_LIST, &is) || (is && !wakers_look_at_words(k, list, LIST_SIZE, words, 2)))
        return false;
    if (!is || words[0] == 0)
        return true;
    if (words[0] > CALLBACKS_MOST)
        return false;
    uint64_t *tuples = alloc_zeroed((size_t)words[0], sizeof(*tuples));
    bool good = await_chain_look(k, words[1], (uint32_t)words[0] * 8, tuples);
    for (uint64_t i = 0; good && i < words[0]; i++) {
        uint64_t callback;
        uint32_t count;
        good = look_at_tuple(k, tuples[i], &callback, 1, &count);
        if (good && count)
            await_chain_add_waiter(k, callback);
    }
    free(tuples);
    return good;
}

/* Adds the callbacks of a future, which wake whoever awaits it. */
static bool look_at_future(struct looking *k, uint64_t future)
{
    const struct asyncio_layout *o = &k->tasks->offsets;
    uint64_t first, list;
    return await_chain_look(k, future + o->future_callback, sizeof(first), &first) &&
           await_chain_look(k, future + o->future_callbacks, sizeof(list), &list) &&
           wakers_look_at_callbacks(k, first, list);
}

/* Finds what the code of a function wakes. */
static bool look_at_function(struct looking *k, uint64_t function, enum wakes *wakes)
{
    uint64_t code;
    bool is;
    *wakes = WAKES_NOBODY;
    if (!look_is(k, function, OBJECT_FUNCTION, &is) ||
        (is && !wakers_look_at_words(k, function, FUNCTION_CODE, &code, 1)))
        return false;
    const struct code *known = is ? await_chain_code(k, (struct executed){ .code = code }) : NULL;
    if (known)
        *wakes = known->wakes;
    return !is || known;
}

/* Finds the only future among the variables of a closure; 0: there is none, or there are several. */
static bool look_at_closure(struct looking *k, uint64_t function, uint64_t *future)
{
    uint64_t closure, cells[CELLS_MOST], value;
    uint32_t count, futures = 0;
    *future = 0;
    if (!wakers_look_at_words(k, function, FUNCTION_CLOSURE, &closure, 1) ||
        !look_at_tuple(k, closure, cells, CELLS_MOST, &count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_cell, is_future = false;
        if (!look_is(k, cells[i], OBJECT_CELL, &is_cell) ||
            (is_cell && (!wakers_look_at_words(k, cells[i], CELL_VALUE, &value, 1) ||
                         !look_is(k, value, OBJECT_FUTURE, &is_future))))
            return false;
        *future = is_future ? value : *future;
        futures += is_future;
    }
    *future = futures == 1 ? *future : 0;
    return true;
}

static bool look_at_partial(struct looking *k, uint64_t object)
{
    uint64_t words[2], argument;
    uint32_t count = 0;
    enum wakes wakes;
    bool is = false;
    if (!wakers_look_at_words(k, object, PARTIAL_FUNCTION, words, 2) || !look_at_function(k, words[0], &wakes))
        return false;
    if (wakes == WAKES_OF_ARGUMENT &&
        (!look_at_tuple(k, words[1], &argument, 1, &count) || (count && !look_is(k, argument, OBJECT_FUTURE, &is))))
        return false;
    return !is || look_at_future(k, argument);
}

/* Adds the task of a TaskGroup. What leads from the object to the place of the value is looked at, too, so that the
 * look holds only while it is the same place. */
static bool look_at_group(struct looking *k, uint64_t group)
{
    const struct layout *l = wakers_layout(k);
    struct dict_reader reader = { .remote = &k->tasks->target->remote, .layout = l, .entries_most = ATTRIBUTES };
    uint64_t type, before, task;
    if (!asyncio_tasks_may_read(k->tasks, PLACE_READS))
        return false;
    const uint64_t place = dict_find_place(&reader, group, TEXT("_parent_task"));
    dict_reader_free(&reader);
    if (!place)
        return true;
    if (!await_chain_look(k, group + l->object_type, sizeof(type), &type) ||
        !await_chain_look(k, group - l->object_dict_before, sizeof(before), &before) ||
        (l->object_values_before && !await_chain_look(k, group - l->object_values_before, sizeof(before), &before)) ||
        !await_chain_look(k, place, sizeof(task), &task))
        return false;
    if (task)
        await_chain_add_waiter(k, task);
    return true;
}

static bool look_at_method(struct looking *k, uint64_t object)
{
    uint64_t words[2];
    enum wakes wakes;
    return wakers_look_at_words(k, object, METHOD_FUNCTION, words, 2) && look_at_function(k, words[0], &wakes) &&
           (wakes != WAKES_OF_GROUP || look_at_group(k, words[1]));
}

static bool look_at_closed(struct looking *k, uint64_t function)
{
    uint64_t future = 0;
    enum wakes wakes;
    return look_at_function(k, function, &wakes) &&
           (wakes != WAKES_OF_CLOSURE || look_at_closure(k, function, &future)) &&
           (!future || look_at_future(k, future));
}

/* Other methods that are built in and bound to a task, such as cancel(), wake nobody. */
static bool look_at_builtin(struct looking *k, uint64_t object)
{
    uint64_t words[2];
    bool wakes;
    if (!wakers_look_at_words(k, object, BUILTIN_METHOD, words, 2) || !await_chain_wakes_self(k, words[0], &wakes))
        return false;
    if (wakes && words[1])
        await_chain_add_waiter(k, words[1]);
    return true;
}

static bool (*const looks[])(struct looking *k, uint64_t object) = {
    [OBJECT_BUILTIN] = look_at_builtin,
    [OBJECT_FUNCTION] = look_at_closed,
    [OBJECT_METHOD] = look_at_method,
    [OBJECT_PARTIAL] = look_at_partial,
};

bool wakers_may_be(enum object_kind kind)
{
    return (size_t)kind < countof(looks) && looks[kind];
}

bool wakers_look_at(struct looking *k, uint64_t object, enum object_kind kind)
{
    return looks[kind](k, object);
}
