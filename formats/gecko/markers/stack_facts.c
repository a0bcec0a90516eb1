/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/stack_facts.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* What a function is. */
enum role {
    ROLE_CODE,      /* any code */
    ROLE_SYNTHETIC, /* a frame that no function has */
    ROLE_GC,
    ROLE_TASK,
    ROLE_TURN, /* BaseEventLoop._run_once */
    ROLE_RUN,  /* Handle._run; since 3.15 also _ThreadSafeHandle._run, which calls it */
};

/* Methods of the event loop: the end of the qualified name, and the end of the file's path. */
static const struct known {
    struct text name, file;
    enum role role;
} known[] = {
    { { "_run_once", 9 }, { "asyncio/base_events.py", 22 }, ROLE_TURN },
    { { "_run", 4 }, { "asyncio/events.py", 17 }, ROLE_RUN },
};

/* Whether `text` is `end`, or ends with a separator and `end`. */
static bool ends(struct text text, struct text end, char separator)
{
    if (text.size < end.size || memcmp(text.bytes + text.size - end.size, end.bytes, end.size) != 0)
        return false;
    return text.size == end.size || text.bytes[text.size - end.size - 1] == separator;
}

static enum role role_of(const struct tables *tables, uint32_t function)
{
    const enum frame_kind kind = tables->functions[function].kind;
    if (kind != KIND_PYTHON)
        return kind == KIND_GC ? ROLE_GC : kind == KIND_TASK ? ROLE_TASK : ROLE_SYNTHETIC;
    const struct text name = tables_function_name(tables, function), file = tables_python_file(tables, function);
    for (size_t i = 0; i < countof(known); i++)
        if (ends(name, known[i].name, '.') && ends(file, known[i].file, '/'))
            return known[i].role;
    return ROLE_CODE;
}

static enum role role_at(struct stack_facts *facts, uint32_t function)
{
    const struct tables *tables = facts->tables;
    facts->functions = alloc_grow(facts->functions, &facts->functions_room, tables->functions_count, 1);
    for (; facts->functions_count < tables->functions_count; facts->functions_count++)
        facts->functions[facts->functions_count] = (unsigned char)role_of(tables, (uint32_t)facts->functions_count);
    return function < facts->functions_count ? facts->functions[function] : ROLE_SYNTHETIC;
}

/* Adds what a frame of code says. */
static void add_code(struct stack_fact *fact, uint32_t function)
{
    if (fact->task && !fact->coroutine)
        fact->coroutine = function;
    if (fact->loop == LOOP_RUN) {
        fact->loop = LOOP_CALLBACK;
        fact->step = function;
    }
}

static void add_frame(struct stack_fact *fact, uint32_t stack, uint32_t function, enum role role)
{
    if (role == ROLE_GC && !fact->gc)
        fact->gc = stack;
    if (role == ROLE_TASK) {
        fact->above = fact->task;
        fact->task = function;
        fact->coroutine = 0;
    }
    if (role == ROLE_TURN) {
        fact->loop = LOOP_TURN;
        fact->step = 0;
        return;
    }
    if (role == ROLE_RUN && (fact->loop == LOOP_TURN || fact->loop == LOOP_RUN)) {
        fact->loop = LOOP_RUN;
        return;
    }
    if (role >= ROLE_TURN || role == ROLE_CODE)
        add_code(fact, function);
}

/* Callers have smaller numbers than the stacks that are built on them. */
const struct stack_fact *stack_facts_of(struct stack_facts *facts, uint32_t stack)
{
    static const struct stack_fact none;
    const struct tables *tables = facts->tables;
    if (stack == 0 || stack >= tables->stacks_count)
        return &none;
    if (stack >= facts->count) {
        facts->facts = alloc_grow(facts->facts, &facts->room, (size_t)stack + 1, sizeof(*facts->facts));
        for (size_t i = facts->count ? facts->count : 1; i <= stack; i++) {
            const uint32_t function = tables->frames[tables->stacks[i].frame].function;
            facts->facts[i] = facts->facts[tables->stacks[i].caller];
            add_frame(&facts->facts[i], (uint32_t)i, function, role_at(facts, function));
        }
        facts->count = (size_t)stack + 1;
    }
    return &facts->facts[stack];
}

void stack_facts_free(struct stack_facts *facts)
{
    free(facts->facts);
    free(facts->functions);
    *facts = (struct stack_facts){ 0 };
}
