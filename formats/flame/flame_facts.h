/* SPDX-License-Identifier: MIT */
/* The facts of a recording that the page shows above the graph: what was recorded, when, how exact it is, and what is
 * missing. They are those of pyreel-info, in its words.
 *
 *     ["Command", "python3 mixed.py"], ["Exact", "99.9 % of samples were one proven moment; ..."] */
#ifndef PYREEL_FORMATS_FLAME_FLAME_FACTS_H
#define PYREEL_FORMATS_FLAME_FLAME_FACTS_H

#include "formats/base/json.h"
#include "formats/model/aggregate.h"
#include "formats/model/source_kind.h"
#include "formats/model/tables.h"

/* What the tables do not say. Texts are borrowed. */
struct flame_facts {
    const struct source_report *report; /* NULL: several recordings are merged */
    size_t recordings;                  /* number of files */
    const char *filters;                /* the options that leave out samples; NULL: none */
    bool whole;                         /* no recording is damaged, cut off or left out, as far as is known */
};

/* The programs that the page shows, those of the processes that have samples: "app.py", "app.py and 2 more". `alone`:
 * the first one only. The caller frees the text. */
char *flame_facts_title(const struct tables *tables, const struct aggregate *aggregate, bool alone);

/* Writes a fact, in an open array; nothing when there is no value. Long values are cut. */
void flame_facts_emit_one(struct json_emitter *json, const char *name, struct text value);
void flame_facts_emit_formatted(struct json_emitter *json, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the array of facts as a member `key`. */
void flame_facts_emit(struct json_emitter *json, const char *key, const struct tables *tables,
                      const struct flame_facts *facts);

#endif
