/* SPDX-License-Identifier: MIT */
#include "convert/diff/diff_output.h"

#include "formats/base/json.h"

#include <math.h>

static json_t *text_json(struct text text)
{
    return text.size ? json_stringn(text.bytes, text.size) : json_null();
}

/* A number; null when it is infinite. */
static json_t *number_json(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static double in_unit(const struct difference *difference, double amount)
{
    return difference->style.weight == SUM_SAMPLES ? amount : amount / 1e9;
}

/* The amount of a second of the wall clock. */
static json_t *per_second(const struct difference *difference, enum compare_side side, double amount)
{
    const double seconds = difference_duration_ns(difference, side) / 1e9;
    return number_json(in_unit(difference, amount) / seconds);
}

static json_t *judged_json(const struct difference *difference, const struct judged *judged)
{
    static const char *const verdicts[VERDICTS] = { "same", "grew", "shrank" };
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "before",
                     number_json(in_unit(difference, judged->before)), "after",
                     number_json(in_unit(difference, judged->after)), "before_share",
                     number_json(difference_share(difference, COMPARE_BEFORE, judged->before)), "after_share",
                     number_json(difference_share(difference, COMPARE_AFTER, judged->after)), "before_per_s",
                     per_second(difference, COMPARE_BEFORE, judged->before), "after_per_s",
                     per_second(difference, COMPARE_AFTER, judged->after), "growth", number_json(judged->growth), "low",
                     judged->tested ? number_json(judged->low) : json_null(), "high",
                     judged->tested ? number_json(judged->high) : json_null(), "verdict",
                     judged->tested ? verdicts[judged->verdict] : "not judged", "recordings",
                     judged->runs ? json_integer(judged->runs) : json_null());
}

/* ---- sides ---- */

static json_t *run_json(const struct compare_run *run)
{
    char python[32];
    json_t *version = run->python_version ? json_string(event_python_version_text(python, run->python_version))
                                          : json_null();
    return json_pack("{s:o, s:o, s:b, s:f, s:I}", "recording", text_json(run->name), "python", version, "whole",
                     (int)run->whole, "duration_s", (double)run->duration_ns / 1e9, "samples",
                     (json_int_t)run->samples);
}

static json_t *side_json(const struct difference *difference, enum compare_side side)
{
    const struct compare *compare = difference->compare;
    const struct judgement *judgement = &difference->items.judgement;
    const double whole = side == COMPARE_BEFORE ? judgement->whole_before : judgement->whole_after;
    json_t *runs = json_array();
    for (size_t i = 0; i < compare->read; i++)
        if (compare->runs[i].side == side)
            json_array_append_new(runs, run_json(&compare->runs[i]));
    return json_pack("{s:o, s:f, s:f}", "runs", runs, "amount", in_unit(difference, whole), "duration_s",
                     difference_duration_ns(difference, side) / 1e9);
}

/* ---- rows ---- */

static json_t *frames_json(const struct difference *difference, uint32_t node)
{
    const struct call_tree *tree = &difference->tree;
    json_t *frames = json_array();
    for (; tree->nodes[node].entry; node = tree->nodes[node].parent) {
        const struct shown_code *code = entries_code(&difference->entries, tree->nodes[node].entry);
        const uint32_t line = entries_line(&difference->entries, tree->nodes[node].entry);
        json_array_insert_new(frames, 0,
                              json_pack("{s:o, s:o, s:o}", "name", text_json(code->name), "file", text_json(code->file),
                                        "line", line ? json_integer(line) : json_null()));
    }
    return frames;
}

static json_t *diff_row_json(const struct difference *difference, const struct diff_row *row)
{
    json_t *all = row->node ? json_pack("{s:o}", "frames", frames_json(difference, row->node))
                            : json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", text_json(row->name), "file",
                                        text_json(row->file), "path", text_json(row->path), "line",
                                        row->line ? json_integer(row->line) : json_null(), "kind",
                                        row->kind ? json_string(row->kind) : json_null());
    json_object_set_new(all, "self", judged_json(difference, &row->judged.self));
    json_object_set_new(all, "total", judged_json(difference, &row->judged.total));
    if (!row->node && difference->style.fails)
        json_object_set_new(all, "fails", json_boolean(row->fails));
    return all;
}

static void diff_table_emit(struct json_emitter *json, const char *key, const struct difference *difference,
                            const struct diff_table *table)
{
    const size_t top = difference->style.top;
    emit_open(json, key, '{');
    emit_integer(json, "grew", (int64_t)table->verdicts[VERDICT_GREW]);
    emit_integer(json, "shrank", (int64_t)table->verdicts[VERDICT_SHRANK]);
    emit_integer(json, "same", (int64_t)table->verdicts[VERDICT_SAME]);
    emit_integer(json, "small", (int64_t)table->small);
    emit_integer(json, "judgements", (int64_t)table->judgement.tests);
    emit_open(json, "rows", '[');
    for (size_t i = 0; i < table->count && !(difference->style.top_given && top && i >= top); i++)
        emit_value(json, NULL, diff_row_json(difference, &table->rows[i]));
    emit_close(json, ']');
    emit_close(json, '}');
}

/* The main scripts that were compared as one file; null: none. */
static json_t *scripts_json(const struct compare *compare)
{
    return compare->one_script ? json_pack("[o, o]", text_json(compare->scripts[COMPARE_BEFORE]),
                                           text_json(compare->scripts[COMPARE_AFTER]))
                               : json_null();
}

bool diff_json(struct output *to, const struct difference *difference, struct fault *why)
{
    struct json_emitter json = { .to = to };
    const struct diff_style *style = &difference->style;
    const struct judgement *judgement = &difference->items.judgement;
    emit_open(&json, NULL, '{');
    emit_text(&json, "format", TEXT("pyreel-diff"));
    emit_integer(&json, "version", 1);
    emit_text(&json, "weight", text_of(sum_rows[style->weight].name));
    emit_text(&json, "unit", style->weight == SUM_SAMPLES ? TEXT("samples") : TEXT("s"));
    emit_text(&json, "compared_by", judgement->by_time ? TEXT("time") : TEXT("work"));
    emit_value(&json, "scale", number_json(judgement->scale));
    emit_value(&json, "confidence", json_real(style->confidence));
    emit_value(&json, "min_share", json_real(style->least_share));
    emit_value(&json, "busy", number_json(judgement->busy));
    emit_value(&json, "fail_over", style->fails ? json_real(style->fail_over) : json_null());
    emit_flag(&json, "failed", difference->failed);
    emit_value(&json, "before", side_json(difference, COMPARE_BEFORE));
    emit_value(&json, "after", side_json(difference, COMPARE_AFTER));
    emit_value(&json, "one_script", scripts_json(difference->compare));
    emit_value(&json, "whole", judged_json(difference, &judgement->whole));
    emit_text(&json, "by", text_of(by_name(style->by)));
    diff_table_emit(&json, "items", difference, &difference->items);
    if (style->paths)
        diff_table_emit(&json, "paths", difference, &difference->paths);
    emit_close(&json, '}');
    output_string(to, "\n");
    return !json.bad || fault(why, "cannot make the JSON");
}
