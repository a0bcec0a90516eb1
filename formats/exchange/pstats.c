/* SPDX-License-Identifier: MIT */
#include "formats/exchange/pstats.h"

#include "formats/base/alloc.h"
#include "formats/calls/call_tree.h"
#include "formats/exchange/marshal.h"

#include <stdlib.h>

/* The sums of a function, or of a call. */
struct pstats_sums {
    uint64_t leaf, samples;   /* numbers of samples */
    uint64_t self_ns, all_ns; /* of the weight */
    uint32_t above;           /* how often the function or the call is above the present node of a walk */
};

/* A function of the file. */
struct pstats_row {
    struct text file, name;
    uint32_t line;
    struct pstats_sums sums;
    uint32_t calls; /* the latest call of which the function is the callee; 0: none */
};

/* A call: one function stands in a stack directly below another one. */
struct pstats_call {
    uint32_t caller; /* a row */
    uint32_t before; /* the call of the same callee that was found before; 0: none */
    struct pstats_sums sums;
};

struct pstats {
    enum aggregate_sum weight;
    struct entries entries;
    struct groups groups;
    struct call_tree tree;
    uint32_t *row_of; /* by entry */
    struct intern keys;
    struct pstats_row *rows; /* by number of the key; row 0 is unused */
    size_t rows_room;
    struct intern_pairs pairs; /* (caller, callee) */
    struct pstats_call *calls; /* by number of the pair; row 0 is unused */
    size_t calls_room;
};

/* ---- rows ---- */

static uint32_t pstats_add_row(struct pstats *pstats, const struct pstats_row *row, struct bytes *key)
{
    bool added;
    key->size = 0;
    put_text(key, row->file);
    put_text(key, row->name);
    put_number(key, row->line);
    const uint32_t number = intern_number(&pstats->keys, key->at, key->size, &added);
    if (added) {
        pstats->rows = alloc_grow(pstats->rows, &pstats->rows_room, (size_t)number + 1, sizeof(*pstats->rows));
        pstats->rows[number] = *row;
    }
    return number;
}

static void pstats_make_rows(struct pstats *pstats)
{
    const struct entries *entries = &pstats->entries;
    struct bytes key = { 0 };
    pstats->row_of = alloc_zeroed(entries->count + 1, sizeof(*pstats->row_of));
    for (uint32_t i = 1; i < entries->count; i++) {
        const struct shown_code *code = entries_code(entries, i);
        const struct pstats_row row = { .file = code->path.size ? code->path : TEXT("~"),
                                        .name = code->name,
                                        .line = entries_line(entries, i) };
        pstats->row_of[i] = pstats_add_row(pstats, &row, &key);
    }
    bytes_free(&key);
}

static uint32_t row_of_node(const struct pstats *pstats, uint32_t node)
{
    return pstats->row_of[pstats->tree.nodes[node].entry];
}

/* The call that leads to a node; 0: a group or nothing calls it. */
static uint32_t call_of_node(struct pstats *pstats, uint32_t node)
{
    const uint32_t callee = row_of_node(pstats, node);
    const uint32_t caller = callee ? row_of_node(pstats, pstats->tree.nodes[node].parent) : 0;
    bool added;
    if (!caller)
        return 0;
    const uint32_t number = intern_pairs_number(&pstats->pairs, caller, callee, &added);
    if (added) {
        pstats->calls = alloc_grow(pstats->calls, &pstats->calls_room, (size_t)number + 1, sizeof(*pstats->calls));
        pstats->calls[number] = (struct pstats_call){ .caller = caller, .before = pstats->rows[callee].calls };
        pstats->rows[callee].calls = number;
    }
    return number;
}

/* ---- sums ---- */

/* Adds a node. Below another node of the same function or call it counts only as a leaf. */
static void pstats_enter(const struct pstats *pstats, struct pstats_sums *sums, uint32_t node)
{
    const struct call_node *from = &pstats->tree.nodes[node];
    sums->leaf += from->self[SUM_SAMPLES];
    sums->self_ns += from->self[pstats->weight];
    if (sums->above++)
        return;
    sums->samples += from->total[SUM_SAMPLES];
    sums->all_ns += from->total[pstats->weight];
}

/* Walks from the root down, as totals.c does. */
static void sum_up(struct pstats *pstats)
{
    const struct call_tree *tree = &pstats->tree;
    uint32_t node = 0;
    for (bool down = true;;) {
        const uint32_t row = row_of_node(pstats, node), call = call_of_node(pstats, node);
        const struct call_node *at = &tree->nodes[node];
        if (down) {
            pstats_enter(pstats, &pstats->rows[row].sums, node);
            pstats_enter(pstats, &pstats->calls[call].sums, node);
        }
        if (down && at->child) {
            node = at->child;
            continue;
        }
        pstats->rows[row].sums.above--;
        pstats->calls[call].sums.above--;
        if (node == 0)
            return;
        down = at->next != 0;
        node = down ? at->next : at->parent;
    }
}

/* ---- writing ---- */

static void write_key(struct output *to, const struct pstats_row *row)
{
    marshal_begin_tuple(to, 3);
    marshal_text(to, row->file);
    marshal_number(to, row->line);
    marshal_text(to, row->name);
}

static void write_calls(struct output *to, const struct pstats *pstats, uint32_t call)
{
    marshal_begin_dict(to);
    for (; call; call = pstats->calls[call].before) {
        const struct pstats_sums *sums = &pstats->calls[call].sums;
        write_key(to, &pstats->rows[pstats->calls[call].caller]);
        marshal_begin_tuple(to, 4);
        marshal_number(to, sums->samples);
        marshal_number(to, sums->leaf);
        marshal_float(to, (double)sums->self_ns / 1e9);
        marshal_float(to, (double)sums->all_ns / 1e9);
    }
    marshal_end_dict(to);
}

static void write_row(struct output *to, const struct pstats *pstats, const struct pstats_row *row)
{
    const struct pstats_sums *sums = &row->sums;
    write_key(to, row);
    marshal_begin_tuple(to, 5);
    marshal_number(to, sums->leaf);
    marshal_number(to, sums->samples);
    marshal_float(to, (double)sums->self_ns / 1e9);
    marshal_float(to, (double)sums->all_ns / 1e9);
    write_calls(to, pstats, row->calls);
}

static void write_rows(struct output *to, const struct pstats *pstats)
{
    marshal_begin_dict(to);
    for (uint32_t i = 1; i <= pstats->keys.count; i++)
        if (pstats->rows[i].sums.samples || pstats->rows[i].sums.all_ns)
            write_row(to, pstats, &pstats->rows[i]);
    marshal_end_dict(to);
}

static void pstats_free(struct pstats *pstats)
{
    call_tree_free(&pstats->tree);
    groups_free(&pstats->groups);
    entries_free(&pstats->entries);
    intern_free(&pstats->keys);
    intern_pairs_free(&pstats->pairs);
    free(pstats->row_of);
    free(pstats->rows);
    free(pstats->calls);
}

bool pstats_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                  const struct pstats_style *style)
{
    const struct entries_style shown = { .kind = ENTRY_FUNCTION, .full_paths = true, .filter = style->filter };
    struct pstats pstats = { .weight = style->weight == SUM_SAMPLES ? SUM_WALL_NS : style->weight };
    entries_find(&pstats.entries, tables, &shown);
    groups_find(&pstats.groups, tables, aggregate, &(struct groups_style){ .one = true });
    const bool focused = style->filter && style->filter->focus.count;
    const bool left = call_tree_make(&pstats.tree, &pstats.entries, &pstats.groups, aggregate) || !focused;
    if (left) {
        pstats.rows = alloc_grow(NULL, &pstats.rows_room, 1, sizeof(*pstats.rows));
        pstats.calls = alloc_grow(NULL, &pstats.calls_room, 1, sizeof(*pstats.calls));
        pstats_make_rows(&pstats);
        sum_up(&pstats);
        write_rows(to, &pstats);
    }
    pstats_free(&pstats);
    return left;
}

/* A dictionary whose first key is a tuple of three texts or numbers. A file without functions ends at once. */
bool pstats_recognises(struct text head)
{
    return text_begins(head, TEXT("{)\x03")) || text_equal(head, TEXT("{0"));
}
