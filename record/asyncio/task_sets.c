/* SPDX-License-Identifier: MIT */
#include "record/asyncio/task_sets.h"

#include "formats/base/alloc.h"
#include "record/asyncio/asyncio.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_LIMIT   (1u << 20) /* of a set */
#define SLOT_WORDS    2          /* object, hash */
#define REMOVED       UINT64_MAX /* the hash of a slot whose object was removed */
#define CURRENT_LIMIT 4096       /* entries of the dict of the tasks that run */
#define DICT_LIMIT    2048       /* entries of a thread's dict */
#define DICT_READS    16         /* direct reads that a search in it takes at most */

/* The members of a set from `fill` on, and those of a dict from ma_used to ma_keys. */
enum { SET_FILL, SET_USED, SET_MASK, SET_TABLE, SET_WORDS };
enum { DICT_USED, DICT_VERSION, DICT_KEYS, DICT_WORDS };

static const struct layout *sets_layout(const struct asyncio *a)
{
    return &a->target->runtime.layout;
}

/* Behind the head of an object. */
static uint64_t members_of(const struct layout *l, uint64_t object)
{
    return object + l->object_type + 8;
}

void task_sets_open(struct task_sets *sets, const struct asyncio *a)
{
    const struct asyncio_module *module = &a->tasks.module;
    *sets = (struct task_sets){
        .reader = { .remote = &a->target->remote, .layout = sets_layout(a), .entries_most = DICT_LIMIT },
        .sets = { { .address = module->tasks, .weak = true }, { .address = module->eager } },
    };
}

void task_sets_close(struct task_sets *sets)
{
    dict_reader_free(&sets->reader);
    for (size_t i = 0; i < countof(sets->sets); i++)
        free(sets->sets[i].known);
    free(sets->loops);
    *sets = (struct task_sets){ 0 };
}

/* ---- the plan ---- */

static size_t words_add(struct asyncio *a, uint64_t address, uint32_t size)
{
    task_memory_add(&a->words, address, size);
    return a->words.count - 1;
}

void task_sets_plan(struct asyncio *a)
{
    struct task_sets *sets = &a->sets;
    const struct layout *l = sets_layout(a);
    sets->moved = false;
    for (struct task_set *set = sets->sets; set < sets->sets + countof(sets->sets); set++) {
        if (!set->address)
            continue;
        set->head_range = words_add(a, members_of(l, set->address), SET_WORDS * 8);
        if (set->slots)
            set->table_range = words_add(a, set->table, (uint32_t)set->slots * SLOT_WORDS * 8);
    }
    for (size_t i = 0; l->thread_dict && i < a->owners_count; i++) {
        sets->loops = alloc_grow(sets->loops, &sets->loops_room, (size_t)a->owners[i] + 1, sizeof(*sets->loops));
        struct thread_loop *loop = &sets->loops[a->owners[i]];
        if (loop->dict)
            loop->range = words_add(a, members_of(l, loop->dict), DICT_WORDS * 8);
    }
}

/* ---- the sets ---- */

/* Reads the slots of a set. NULL: failed. The caller frees them. */
static uint64_t *read_slots(struct asyncio *a, struct task_set *set, uint64_t *slots)
{
    const unsigned char *head = task_memory_at(&a->words, set->head_range);
    if (!head)
        return NULL;
    const uint64_t mask = word_at(head, SET_MASK * 8), table = word_at(head, SET_TABLE * 8);
    *slots = word_at(head, SET_USED * 8) ? mask + 1 : 0;
    if (mask >= SLOTS_LIMIT)
        return NULL;
    uint64_t *words = alloc_zeroed((size_t)*slots + 1, SLOT_WORDS * 8);
    const size_t size = (size_t)*slots * SLOT_WORDS * 8;
    const bool planned = set->slots == mask + 1 && set->table == table;
    const unsigned char *bytes = planned ? task_memory_at(&a->words, set->table_range) : NULL;
    if (!planned) {
        set->table = table;
        set->slots = mask + 1;
        a->sets.moved = true;
    }
    if (size == 0)
        return words;
    if (bytes)
        memcpy(words, bytes, size);
    else if (!asyncio_tasks_read(&a->tasks, table, (uint32_t)size, words)) {
        free(words);
        return NULL;
    }
    return words;
}

/* The task to which a weak reference leads. False when it cannot be read. */
static bool reference_follow(struct asyncio *a, const struct set_slot *known, uint64_t reference, uint64_t *task)
{
    const uint64_t at = members_of(sets_layout(a), reference);
    const struct known_task *row = known->key == reference ? asyncio_tasks_find(&a->tasks, known->task) : NULL;
    if (row && row->listed_at == at)
        return asyncio_tasks_next(&a->tasks, row, task);
    return asyncio_tasks_read(&a->tasks, at, sizeof(*task), task);
}

static bool each_of(struct asyncio *a, struct task_set *set,
                    void (*take)(struct asyncio *asyncio, uint64_t task, uint64_t listed_at))
{
    uint64_t slots = 0;
    uint64_t *const words = read_slots(a, set, &slots);
    bool whole = words;
    set->known = alloc_grow(set->known, &set->known_room, words ? (size_t)slots + 1 : 1, sizeof(*set->known));
    for (uint64_t i = 0; words && i < slots; i++) {
        const uint64_t key = words[i * SLOT_WORDS];
        uint64_t task = key;
        struct set_slot *known = &set->known[i];
        const struct set_slot before = i < set->known_count ? *known : (struct set_slot){ 0 };
        *known = (struct set_slot){ 0 };
        if (key == 0 || words[i * SLOT_WORDS + 1] == REMOVED)
            continue;
        if (set->weak && !reference_follow(a, &before, key, &task)) {
            whole = false;
            continue;
        }
        *known = (struct set_slot){ key, task };
        if (task)
            take(a, task, set->weak ? members_of(sets_layout(a), key) : 0);
    }
    set->known_count = words ? (size_t)slots : 0;
    free(words);
    return whole;
}

bool task_sets_each(struct asyncio *a, void (*take)(struct asyncio *asyncio, uint64_t task, uint64_t listed_at))
{
    bool whole = true;
    for (size_t i = 0; i < countof(a->sets.sets); i++)
        if (a->sets.sets[i].address)
            whole &= each_of(a, &a->sets.sets[i], take);
    return whole;
}

/* ---- event loops ---- */

/* Finds the event loop in a thread's dict. */
static uint64_t loop_in(struct task_sets *sets, uint64_t dict)
{
    const struct layout *l = sets->reader.layout;
    uint64_t loop = dict_find_name(&sets->reader, dict, TEXT("__asyncio_running_event_loop__"));
    if (loop && l->loop_is_held &&
        remote_read(sets->reader.remote, members_of(l, loop), &loop, sizeof(loop)) != REMOTE_READ)
        return 0;
    return loop;
}

/* Takes the dict that a thread has now. While it has the same version, it has the same loop. */
static void take_dict(struct asyncio *a, struct thread_loop *loop, uint64_t dict)
{
    const bool planned = dict && loop->dict == dict;
    const unsigned char *members = planned ? task_memory_at(&a->words, loop->range) : NULL;
    uint64_t version = 0;
    if (members)
        version = word_at(members, DICT_VERSION * 8);
    else if (dict && !asyncio_tasks_read(&a->tasks, members_of(sets_layout(a), dict) + DICT_VERSION * 8, 8, &version))
        version = 0;
    a->sets.moved |= loop->dict != dict;
    if (planned && version == loop->version)
        return;
    const bool may = asyncio_tasks_may_read(&a->tasks, DICT_READS);
    *loop = (struct thread_loop){ .dict = dict, .version = may ? version : 0, .range = loop->range };
    loop->loop = dict && may ? loop_in(&a->sets, dict) : 0;
}

void task_sets_find_loops(struct asyncio *a)
{
    const struct layout *l = sets_layout(a);
    struct task_sets *sets = &a->sets;
    for (size_t i = 0; i < a->owners_count; i++) {
        uint64_t word;
        sets->loops = alloc_grow(sets->loops, &sets->loops_room, (size_t)a->owners[i] + 1, sizeof(*sets->loops));
        struct thread_loop *loop = &sets->loops[a->owners[i]];
        if (!asyncio_word(a, i, &word))
            *loop = (struct thread_loop){ 0 };
        else if (l->thread_dict)
            take_dict(a, loop, word);
        else
            loop->loop = word;
    }
}

uint32_t task_sets_owner(const struct asyncio *a, uint64_t loop)
{
    for (size_t i = 0; loop && i < a->owners_count; i++)
        if (a->sets.loops[a->owners[i]].loop == loop)
            return a->owners[i] + 1;
    return 0;
}

/* ---- the tasks that run ---- */

bool task_sets_current(struct tasks *tasks, uint64_t *current, size_t most, size_t *count)
{
    const struct layout *l = &tasks->target->runtime.layout;
    uint64_t words[DICT_WORDS];
    unsigned char head[DICT_KEYS_HEAD];
    struct dict_table table;
    *count = 0;
    if (!asyncio_tasks_read(tasks, members_of(l, tasks->module.current), sizeof(words), words))
        return false;
    if (words[DICT_USED] == 0)
        return true;
    /* The window of this read has a small table as a whole. */
    if (!asyncio_tasks_read(tasks, words[DICT_KEYS], sizeof(head), head) ||
        !dict_take_table(head, words[DICT_KEYS], &table) || table.count > CURRENT_LIMIT)
        return false;
    for (uint32_t i = 0; i < table.count && *count < most; i++) {
        const uint64_t at = table.entries + ((uint64_t)i * table.words + table.key + 1) * 8;
        uint64_t task;
        if (!asyncio_tasks_read(tasks, at, sizeof(task), &task))
            return false;
        if (task)
            current[(*count)++] = task;
    }
    return true;
}
