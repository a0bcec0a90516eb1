/* SPDX-License-Identifier: MIT */
#include "formats/flame/flame.h"

#include "formats/base/alloc.h"
#include "formats/flame/flame_difference.h"
#include "formats/flame/flame_sources.h"
#include "formats/flame/flame_tree.h"
#include "formats/flame/packed.h"
#include "formats/flame/page/flame_page.h"
#include "formats/flame/page_nodes.h"
#include "formats/flame/short_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REST_FRAME "<rest>"
#define ONE_WEIGHT "a comparison is of one weight: choose another one with --weight"

/* The weights in the order of the page's menu: times, and then samples. */
static enum aggregate_sum weight_at(size_t place)
{
    return (enum aggregate_sum)((place + SUM_WALL_NS) % SUMS);
}

struct flame {
    const struct tables *tables;
    const struct aggregate *aggregate;
    const struct compare *compare; /* NULL: nothing is compared */
    const struct flame_style *style;
    struct json_emitter json;

    struct flame_tree shown;
    struct page_nodes nodes;
    struct flame_difference difference;
    bool known[SUMS]; /* the sums that the page has */

    struct intern strings;    /* those of the page; the number - 1 is the index */
    bool *codes;              /* by code of the entries: the page has it, ... */
    uint32_t *functions;      /* ... and its index + 1 */
    size_t functions_count;   /* without the function of rests */
    uint32_t *frames;         /* by entry: index + 1; 0: the page does not have it */
    size_t frames_count;      /* without the frame of rests */
    uint32_t *frame_entries;  /* by index: the entry */
    uint32_t *function_codes; /* by index: the code */
    struct bytes scratch;
};

/* ---- texts ---- */

/* The index of a text. */
static uint32_t flame_string_index(struct flame *flame, struct text text)
{
    bool added;
    const struct text kept = short_text(text, &flame->scratch);
    return intern_number(&flame->strings, kept.size ? kept.bytes : "", kept.size, &added) - 1;
}

static void emit_short_text(struct flame *flame, const char *key, struct text text)
{
    emit_text(&flame->json, key, short_text(text, &flame->scratch));
}

/* ---- what the page has ---- */

/* Numbers the frames and the functions of all nodes, in the order of the nodes. */
static void number_frames(struct flame *flame)
{
    const struct entries *entries = &flame->shown.entries;
    flame->frames = alloc_zeroed(entries->count + 1, sizeof(*flame->frames));
    flame->frame_entries = alloc_zeroed(entries->count + 1, sizeof(*flame->frame_entries));
    flame->codes = alloc_zeroed(entries->codes_count + 1, sizeof(*flame->codes));
    flame->functions = alloc_zeroed(entries->codes_count + 1, sizeof(*flame->functions));
    flame->function_codes = alloc_zeroed(entries->codes_count + 1, sizeof(*flame->function_codes));
    for (size_t i = 0; i < flame->nodes.count; i++) {
        const struct page_node *row = &flame->nodes.rows[i];
        const uint32_t entry = flame->shown.tree.nodes[row->node].entry;
        if (row->rest || flame->frames[entry])
            continue;
        const uint32_t code = entries->rows[entry].code;
        flame->frame_entries[flame->frames_count++] = entry;
        flame->frames[entry] = (uint32_t)flame->frames_count;
        if (flame->functions[code])
            continue;
        flame->codes[code] = true;
        flame->function_codes[flame->functions_count++] = code;
        flame->functions[code] = (uint32_t)flame->functions_count;
    }
}

static bool has_rests(const struct flame *flame)
{
    return flame->nodes.rests_count > 0;
}

/* ---- columns ---- */

/* Sums of a recording with absurd times stay numbers that are not below 0. */
static void emit_sum(struct json_emitter *json, const char *key, uint64_t sum)
{
    emit_integer(json, key, sum < INT64_MAX ? (int64_t)sum : INT64_MAX);
}

static void emit_functions(struct flame *flame)
{
    struct json_emitter *json = &flame->json;
    const struct shown_code rest = { .name = TEXT(REST_FRAME) };
    static const char *const columns[] = { "name", "file", "path", "line", "kind" };
    emit_open(json, "functions", '{');
    for (size_t column = 0; column < countof(columns); column++) {
        emit_open(json, columns[column], '[');
        for (size_t i = 0; i < flame->functions_count + has_rests(flame); i++) {
            const struct shown_code *code = i < flame->functions_count
                                                ? &flame->shown.entries.codes[flame->function_codes[i]]
                                                : &rest;
            const struct text texts[] = { code->name, code->file, code->path };
            const uint32_t numbers[] = { code->line, code->kind };
            emit_integer(json, NULL,
                         column < countof(texts) ? flame_string_index(flame, texts[column])
                                                 : numbers[column - countof(texts)]);
        }
        emit_close(json, ']');
    }
    emit_close(json, '}');
}

static void flame_emit_frames(struct flame *flame)
{
    struct json_emitter *json = &flame->json;
    emit_open(json, "frames", '{');
    emit_open(json, "function", '[');
    for (size_t i = 0; i < flame->frames_count; i++)
        emit_integer(json, NULL, flame->functions[flame->shown.entries.rows[flame->frame_entries[i]].code] - 1);
    if (has_rests(flame))
        emit_integer(json, NULL, (int64_t)flame->functions_count);
    emit_close(json, ']');
    emit_open(json, "line", '[');
    for (size_t i = 0; i < flame->frames_count; i++)
        emit_integer(json, NULL, flame->shown.entries.rows[flame->frame_entries[i]].line);
    if (has_rests(flame))
        emit_integer(json, NULL, 0);
    emit_close(json, ']');
    emit_close(json, '}');
}

/* The nodes of groups, by index of the group. */
static uint32_t *group_nodes(const struct flame *flame)
{
    uint32_t *nodes = alloc_zeroed(flame->shown.groups.count + 1, sizeof(*nodes));
    for (uint32_t node = flame->shown.tree.nodes[0].child; node; node = flame->shown.tree.nodes[node].next)
        nodes[flame->shown.tree.nodes[node].group] = node;
    return nodes;
}

static void flame_emit_busy(struct flame *flame, const struct group *group)
{
    struct bytes busy = { 0 };
    groups_put_busy(&busy, flame->tables, group);
    if (busy.size)
        emit_short_text(flame, "busy", bytes_text(&busy));
    bytes_free(&busy);
}

/* A group of which --focus leaves nothing has sums of 0. */
static void flame_emit_groups(struct flame *flame)
{
    struct json_emitter *json = &flame->json;
    uint32_t *nodes = group_nodes(flame);
    const size_t runs = flame->compare ? flame->compare->read : 1; /* each run has the same threads once more */
    emit_open(json, "groups", '[');
    for (size_t i = 0; i < flame->shown.groups.count; i++) {
        const struct group *group = &flame->shown.groups.rows[i];
        emit_open(json, NULL, '{');
        emit_short_text(flame, "process", group->process);
        emit_integer(json, "pid", flame->style->ids || !flame->shown.groups.processes ? group->pid : 0);
        emit_short_text(flame, "thread", group->thread);
        if (flame->style->ids)
            emit_integer(json, "tid", group->tid);
        emit_short_text(flame, "task", group->task);
        emit_integer(json, "threads", (int64_t)((group->threads + runs - 1) / runs));
        if (runs == 1)
            flame_emit_busy(flame, group);
        emit_open(json, "sums", '{');
        for (size_t place = 0; place < SUMS; place++) {
            const enum aggregate_sum sum = weight_at(place);
            if (flame->known[sum])
                emit_sum(json, sum_rows[sum].name, nodes[i] ? flame->shown.tree.nodes[nodes[i]].total[sum] : 0);
        }
        emit_close(json, '}');
        emit_close(json, '}');
    }
    emit_close(json, ']');
    free(nodes);
}

static void emit_nodes(struct flame *flame)
{
    struct json_emitter *json = &flame->json;
    const struct page_nodes *nodes = &flame->nodes;
    emit_open(json, "nodes", '{');
    emit_open(json, "parent", '[');
    for (size_t i = 0; i < nodes->count; i++)
        emit_integer(json, NULL, nodes->rows[i].parent ? (int64_t)(i + 1 - nodes->rows[i].parent) : 0);
    emit_close(json, ']');
    emit_open(json, "group", '[');
    for (size_t i = 0; i < nodes->count; i++)
        emit_integer(json, NULL, flame->shown.tree.nodes[nodes->rows[i].node].group);
    emit_close(json, ']');
    emit_open(json, "frame", '[');
    for (size_t i = 0; i < nodes->count; i++) {
        const struct page_node *row = &nodes->rows[i];
        emit_integer(json, NULL,
                     row->rest ? (int64_t)flame->frames_count
                               : (int64_t)flame->frames[flame->shown.tree.nodes[row->node].entry] - 1);
    }
    emit_close(json, ']');
    emit_open(json, "self", '{');
    for (size_t place = 0; place < SUMS; place++) {
        const enum aggregate_sum sum = weight_at(place);
        if (!flame->known[sum])
            continue;
        emit_open(json, sum_rows[sum].name, '[');
        for (size_t i = 0; i < nodes->count; i++)
            emit_sum(json, NULL, page_nodes_self(nodes, &flame->shown.tree, i, sum));
        emit_close(json, ']');
    }
    emit_close(json, '}');
    emit_close(json, '}');
}

/* ---- the rest of the data ---- */

static void flame_emit_weights(struct flame *flame)
{
    struct json_emitter *json = &flame->json;
    char note[256];
    emit_open(json, "weights", '[');
    for (size_t place = 0; place < SUMS; place++) {
        const enum aggregate_sum sum = weight_at(place);
        const uint64_t samples = flame->aggregate->samples, known = aggregate_known(flame->aggregate, sum);
        emit_open(json, NULL, '{');
        emit_text(json, "name", text_of(sum_rows[sum].name));
        emit_text(json, "label", text_of(sum_rows[sum].title));
        emit_text(json, "unit", sum == SUM_SAMPLES ? TEXT("samples") : TEXT("ns"));
        emit_flag(json, "known", flame->known[sum]);
        if (!flame->known[sum]) {
            emit_text(json, "reason", flame->compare ? TEXT(ONE_WEIGHT) : text_of(sum_rows[sum].reason));
        } else if (known < samples) {
            snprintf(note, sizeof(note), "not known of %" PRIu64 " of %" PRIu64 " samples: %s", samples - known,
                     samples, sum_rows[sum].reason);
            emit_text(json, "note", text_of(note));
        }
        emit_close(json, '}');
    }
    emit_close(json, ']');
}

static void emit_kinds(struct json_emitter *json)
{
    emit_open(json, "kinds", '[');
    for (size_t i = 0; i < CODE_KINDS; i++) {
        emit_open(json, NULL, '{');
        emit_text(json, "name", text_of(code_kind_name((enum code_kind)i)));
        emit_text(json, "label", text_of(code_kind_label((enum code_kind)i)));
        emit_close(json, '}');
    }
    emit_close(json, ']');
}

static void emit_pruned(struct flame *flame)
{
    struct json_emitter *json = &flame->json;
    if (!has_rests(flame)) {
        emit_literal(json, "pruned", "null");
        return;
    }
    emit_open(json, "pruned", '{');
    emit_decimal(json, "share", (uint64_t)(flame->nodes.share * 1e9 + 0.5), 9);
    emit_integer(json, "nodes", (int64_t)flame->nodes.pruned);
    emit_integer(json, "function", (int64_t)flame->functions_count);
    emit_close(json, '}');
}

static void emit_difference(struct flame *flame)
{
    struct json_emitter *json = &flame->json;
    if (!flame->compare) {
        emit_literal(json, "difference", "null");
        return;
    }
    emit_open(json, "difference", '{');
    flame_difference_emit(json, &flame->difference, flame->functions);
    emit_open(json, "self", '[');
    for (size_t i = 0; i < flame->nodes.count; i++)
        emit_sum(json, NULL, page_nodes_self(&flame->nodes, &flame->shown.tree, i, SUM_BEFORE));
    emit_close(json, ']');
    emit_close(json, '}');
}

static void flame_emit_strings(struct flame *flame)
{
    emit_open(&flame->json, "strings", '[');
    for (uint32_t i = 1; i <= flame->strings.count; i++)
        emit_text(&flame->json, NULL, flame->strings.texts[i]);
    emit_close(&flame->json, ']');
}

/* The strings come last: what stands before them finds out which strings there are. */
static void flame_emit_all(struct flame *flame, const struct flame_facts *facts, struct flame_made *made)
{
    struct json_emitter *json = &flame->json;
    const struct flame_style *style = flame->style;
    char *title = style->title ? NULL : flame_facts_title(flame->tables, flame->aggregate, flame->compare);
    emit_open(json, NULL, '{');
    emit_integer(json, "version", 1);
    emit_short_text(flame, "title", text_of(title ? title : style->title));
    if (style->weighted)
        emit_text(json, "first", text_of(sum_rows[style->weight].name));
    if (flame->compare)
        flame_difference_emit_facts(json, &flame->difference, facts->filters);
    else
        flame_facts_emit(json, "facts", flame->tables, facts);
    flame_emit_weights(flame);
    emit_kinds(json);
    emit_functions(flame);
    flame_emit_frames(flame);
    flame_emit_groups(flame);
    emit_nodes(flame);
    emit_pruned(flame);
    flame_sources_emit(json, &flame->shown.entries, flame->codes, &flame->strings, style, &made->files);
    emit_difference(flame);
    flame_emit_strings(flame);
    emit_close(json, '}');
    free(title);
}

/* ---- all of it ---- */

/* Compares the sides, and finds out which sums the page has. */
static void find_sums(struct flame *flame)
{
    const bool nothing = flame->aggregate->samples == 0; /* the sums of no samples are known: 0 */
    if (!flame->compare) {
        for (size_t sum = 0; sum < SUMS; sum++)
            flame->known[sum] = aggregate_knows(flame->aggregate, (enum aggregate_sum)sum) || nothing;
        return;
    }
    flame_difference_find(&flame->difference, flame->compare, &flame->shown.tree, flame->style->weight);
    flame->known[flame->style->weight] = true;
}

/* Finds the nodes of the page. Those that matter before matter, too. */
static void find_nodes(struct flame *flame)
{
    const struct flame_style *style = flame->style;
    bool counted[SUMS];
    memcpy(counted, flame->known, sizeof(counted));
    if (flame->compare)
        counted[SUM_BEFORE] = true;
    page_nodes_find(&flame->nodes, &flame->shown.tree, counted, style->least_given ? style->least_share : -1);
    number_frames(flame);
}

static bool write_data(struct flame *flame, struct output *to, const struct flame_facts *facts, struct flame_made *made,
                       struct fault *why)
{
    struct packed packed = { 0 };
    if (!packed_open(&packed, why))
        return false;
    flame->json.to = &packed.plain;
    flame_emit_all(flame, facts, made);
    if (flame->json.bad) {
        packed_abandon(&packed);
        return fault(why, "a text of the recording is not UTF-8");
    }
    return packed_close(&packed, to, why);
}

static void flame_drop(struct flame *flame)
{
    flame_difference_free(&flame->difference);
    page_nodes_free(&flame->nodes);
    flame_tree_free(&flame->shown);
    intern_free(&flame->strings);
    free(flame->codes);
    free(flame->functions);
    free(flame->frames);
    free(flame->frame_entries);
    free(flame->function_codes);
    bytes_free(&flame->scratch);
}

bool flame_write(struct output *to, const struct tables *tables, const struct flame_samples *samples,
                 const struct flame_style *style, const struct flame_facts *facts, struct flame_made *made,
                 struct fault *why)
{
    struct flame flame = {
        .tables = tables, .aggregate = samples->aggregate, .compare = samples->compare, .style = style
    };
    *made = (struct flame_made){ .empty = !flame_tree_make(&flame.shown, ENTRY_LINE, tables, samples, style) };
    bool good = true;
    if (!made->empty) {
        find_sums(&flame);
        find_nodes(&flame);
        made->nodes = flame.nodes.count;
        made->pruned = flame.nodes.pruned;
        made->share = flame.nodes.share;
        output_bytes(to, flame_page_head, flame_page_head_size);
        good = write_data(&flame, to, facts, made, why);
        output_bytes(to, flame_page_tail, flame_page_tail_size);
    }
    flame_drop(&flame);
    return good;
}
