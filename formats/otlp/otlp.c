/* SPDX-License-Identifier: MIT */
#include "formats/otlp/otlp.h"

#include "formats/base/alloc.h"
#include "formats/model/task_owner.h"
#include "formats/otlp/otlp_dictionary.h"
#include "formats/otlp/otlp_json.h"
#include "formats/otlp/otlp_resource.h"
#include "formats/pprof/pprof_status.h"

#include <stdlib.h>
#include <string.h>

#define ATTRIBUTES_MOST 8 /* of a sample */

/* A sample of all profiles of a process: a stack with attributes and a link. Rows that look the same are one. */
struct otlp_sample {
    uint32_t process;
    uint32_t attributes; /* number in `sets`, with the span */
    uint32_t node;
    uint32_t rows; /* number of the latest row of the looks, which leads to the others; 0: none */
};

enum { SET_PROCESS, SET_SPAN, OF_SET /* that many stand in front of the places */ };

struct writing {
    const struct tables *tables;
    const struct otlp_looks *looks;
    const struct otlp_style *style;
    struct otlp_dictionary dictionary;
    struct otlp_parts parts;
    struct task_owners owners;
    struct intern sets;        /* of attributes: OF_SET, and places in the dictionary */
    struct intern_pairs index; /* (set, node) -> number of the sample */
    struct otlp_sample *samples;
    size_t samples_room;
    uint32_t *row_before;      /* by row: the row before it in the same sample; 0: none */
    uint64_t start_ns, end_ns; /* of the part, Unix time */
    struct otlp_written written;
};

/* ---- samples ---- */

static uint32_t attribute_set(struct writing *w, const struct otlp_row *row)
{
    const struct thread *thread = &w->tables->threads[row->thread].thread;
    struct otlp_dictionary *to = &w->dictionary;
    int32_t set[OF_SET + ATTRIBUTES_MOST] = { (int32_t)thread->process, (int32_t)row->span };
    size_t count = OF_SET;
    bool added;
    if (thread->tid)
        set[count++] = otlp_dictionary_number_attribute(to, "thread.id", thread->tid);
    set[count++] = otlp_dictionary_text_attribute(to, "thread.name",
                                                  task_owner_name(&w->owners, w->tables, row->thread));
    set[count++] = otlp_dictionary_text_attribute(to, "pyreel.status", pprof_status_name(row->status));
    if (thread->interpreter)
        set[count++] = otlp_dictionary_number_attribute(to, "pyreel.interpreter", thread->interpreter);
    if (row->task) {
        set[count++] = otlp_dictionary_text_attribute(to, "pyreel.task", tables_task(w->tables, row->task)->task.name);
        set[count++] = otlp_dictionary_number_attribute(to, "pyreel.task.id", row->task);
    }
    return intern_number(&w->sets, set, count * sizeof(*set), &added);
}

static void make_samples(struct writing *w)
{
    const uint32_t rows = otlp_looks_rows(w->looks);
    w->row_before = alloc_zeroed((size_t)rows + 1, sizeof(*w->row_before));
    for (uint32_t i = 1; i <= rows; i++) {
        bool added;
        const struct otlp_row *row = &w->looks->rows[i];
        const uint32_t set = attribute_set(w, row), node = otlp_dictionary_node(&w->dictionary, row->stack);
        const uint32_t number = intern_pairs_number(&w->index, set, node, &added);
        w->samples = alloc_grow(w->samples, &w->samples_room, (size_t)number + 1, sizeof(*w->samples));
        struct otlp_sample *sample = &w->samples[number];
        if (added)
            *sample = (struct otlp_sample){ w->tables->threads[row->thread].thread.process, set, node, 0 };
        w->row_before[i] = sample->rows;
        sample->rows = i;
    }
}

/* ---- values ---- */

static uint64_t sample_total(const struct writing *w, const struct otlp_sample *sample, enum aggregate_sum sum)
{
    uint64_t total = 0;
    for (uint32_t row = sample->rows; row; row = w->row_before[row])
        total += w->looks->rows[row].sums[sum];
    return total;
}

static uint64_t within(const struct writing *w, uint64_t time_ns)
{
    const uint64_t unix_ns = w->tables->recording.start_unix_ns + time_ns;
    return unix_ns < w->start_ns ? w->start_ns : unix_ns;
}

/* Fills in each look that has a value, from the latest to the first of each row. */
static void fill_looks(struct writing *w, Pyreel__Otlp__Sample *to, const struct otlp_sample *sample,
                       enum aggregate_sum sum)
{
    const struct otlp_look *looks = w->looks->looks;
    size_t count = 0;
    for (uint32_t row = sample->rows; row; row = w->row_before[row])
        for (uint32_t look = w->looks->rows[row].latest; look; look = looks[look - 1].before)
            count += looks[look - 1].values[sum] > 0;
    to->values = otlp_parts_new(&w->parts, count, sizeof(*to->values));
    to->timestamps_unix_nano = otlp_parts_new(&w->parts, count, sizeof(*to->timestamps_unix_nano));
    to->n_values = to->n_timestamps_unix_nano = count;
    for (uint32_t row = sample->rows; row; row = w->row_before[row])
        for (uint32_t at = w->looks->rows[row].latest; at; at = looks[at - 1].before) {
            const struct otlp_look *look = &looks[at - 1];
            if (look->values[sum] == 0)
                continue;
            to->values[--count] = (int64_t)look->values[sum];
            to->timestamps_unix_nano[count] = within(w, look->time_ns);
        }
}

static void fill_sample(struct writing *w, Pyreel__Otlp__Sample *to, const struct otlp_sample *sample,
                        enum aggregate_sum sum, uint64_t total)
{
    const struct text set = w->sets.texts[sample->attributes];
    const size_t places = set.size / sizeof(int32_t) - OF_SET;
    pyreel__otlp__sample__init(to);
    to->stack_index = otlp_dictionary_stack(&w->dictionary, sample->node);
    to->n_attribute_indices = places;
    to->attribute_indices = otlp_parts_new(&w->parts, places, sizeof(int32_t));
    memcpy(to->attribute_indices, set.bytes + OF_SET * sizeof(int32_t), places * sizeof(int32_t));
    to->link_index = otlp_dictionary_link(&w->dictionary, otlp_looks_span(w->looks, &w->looks->rows[sample->rows]));
    if (w->looks->timed) {
        fill_looks(w, to, sample, sum);
        return;
    }
    to->n_values = 1;
    to->values = otlp_parts_new(&w->parts, 1, sizeof(*to->values));
    to->values[0] = (int64_t)total;
}

/* ---- profiles ---- */

static Pyreel__Otlp__ValueType *otlp_value_type(struct writing *w, enum aggregate_sum sum)
{
    Pyreel__Otlp__ValueType *type = otlp_parts_new(&w->parts, 1, sizeof(*type));
    pyreel__otlp__value_type__init(type);
    type->type_strindex = otlp_dictionary_text(&w->dictionary, sum_rows[sum].name);
    type->unit_strindex = otlp_dictionary_text(&w->dictionary, sum == SUM_SAMPLES ? "count" : "nanoseconds");
    return type;
}

/* `of`: the numbers of the samples of one process. */
static void fill_profile(struct writing *w, Pyreel__Otlp__Profile *to, const uint32_t *of, size_t count,
                         enum aggregate_sum sum)
{
    pyreel__otlp__profile__init(to);
    to->sample_type = otlp_value_type(w, sum);
    to->period_type = otlp_value_type(w, SUM_WALL_NS);
    to->period = (int64_t)w->tables->recording.interval_ns;
    to->time_unix_nano = w->start_ns;
    to->duration_nano = w->end_ns - w->start_ns;
    Pyreel__Otlp__Sample *rows = otlp_parts_new(&w->parts, count, sizeof(*rows));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct otlp_sample *sample = &w->samples[of[i]];
        const uint64_t total = sample_total(w, sample, sum);
        if (total)
            fill_sample(w, &rows[used++], sample, sum, total);
    }
    to->n_samples = used;
    to->samples = (Pyreel__Otlp__Sample **)otlp_parts_list(&w->parts, rows, used, sizeof(*rows));
    w->written.samples += used;
    w->written.profiles++;
}

/* Whether the process has anything of this kind: a profile without values would say that there was none, which is not
 * known of each version of CPython. */
static bool process_has_any(const struct writing *w, const uint32_t *of, size_t count, enum aggregate_sum sum)
{
    for (size_t i = 0; i < count; i++)
        if (sample_total(w, &w->samples[of[i]], sum))
            return true;
    return false;
}

static void fill_scope(struct writing *w, Pyreel__Otlp__ScopeProfiles *to, const uint32_t *of, size_t count)
{
    Pyreel__Otlp__Profile *profiles = otlp_parts_new(&w->parts, SUMS, sizeof(*profiles));
    pyreel__otlp__scope_profiles__init(to);
    to->scope = otlp_parts_new(&w->parts, 1, sizeof(*to->scope));
    pyreel__otlp__instrumentation_scope__init(to->scope);
    to->scope->name = (char *)"pyreel";
    to->scope->version = (char *)PYREEL_VERSION;
    for (enum aggregate_sum sum = 0; sum < SUMS; sum++)
        if (process_has_any(w, of, count, sum))
            fill_profile(w, &profiles[to->n_profiles++], of, count, sum);
    to->profiles = (Pyreel__Otlp__Profile **)otlp_parts_list(&w->parts, profiles, to->n_profiles, sizeof(*profiles));
}

static void fill_resource(struct writing *w, Pyreel__Otlp__ResourceProfiles *to, const uint32_t *of, size_t count,
                          uint64_t unplaced_ns)
{
    pyreel__otlp__resource_profiles__init(to);
    to->resource = otlp_parts_new(&w->parts, 1, sizeof(*to->resource));
    otlp_resource_fill(to->resource, w->tables, w->samples[of[0]].process, unplaced_ns, &w->parts);
    Pyreel__Otlp__ScopeProfiles *scope = otlp_parts_new(&w->parts, 1, sizeof(*scope));
    fill_scope(w, scope, of, count);
    to->n_scope_profiles = 1;
    to->scope_profiles = (Pyreel__Otlp__ScopeProfiles **)otlp_parts_list(&w->parts, scope, 1, sizeof(*scope));
    w->written.resources++;
}

/* ---- the request ---- */

static int by_process(const void *a, const void *b, void *self)
{
    const struct otlp_sample *samples = ((const struct writing *)self)->samples;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (samples[x].process != samples[y].process)
        return samples[x].process < samples[y].process ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void fill_request(struct writing *w, Pyreel__Otlp__ExportProfilesServiceRequest *to)
{
    const size_t count = w->index.count;
    uint32_t *order = otlp_parts_new(&w->parts, count, sizeof(*order));
    Pyreel__Otlp__ResourceProfiles *rows = otlp_parts_new(&w->parts, w->tables->processes_count, sizeof(*rows));
    for (uint32_t i = 0; i < count; i++)
        order[i] = i + 1;
    qsort_r(order, count, sizeof(*order), by_process, w);
    for (size_t first = 0, end = 0; first < count; first = end) {
        const uint32_t process = w->samples[order[first]].process;
        while (end < count && w->samples[order[end]].process == process)
            end++;
        fill_resource(w, &rows[to->n_resource_profiles], order + first, end - first,
                      first == 0 ? w->style->unplaced_cpu_ns : 0);
        to->n_resource_profiles++;
    }
    to->resource_profiles = (Pyreel__Otlp__ResourceProfiles **)otlp_parts_list(&w->parts, rows, to->n_resource_profiles,
                                                                               sizeof(*rows));
    to->dictionary = otlp_parts_new(&w->parts, 1, sizeof(*to->dictionary));
    otlp_dictionary_fill(&w->dictionary, to->dictionary, &w->parts);
}

static void write_request(struct output *to, const struct otlp_style *style,
                          const Pyreel__Otlp__ExportProfilesServiceRequest *request)
{
    if (style->json) {
        otlp_json_write(to, &request->base);
        return;
    }
    const size_t size = pyreel__otlp__export_profiles_service_request__get_packed_size(request);
    uint8_t *packed = alloc_zeroed(size + 1, 1);
    pyreel__otlp__export_profiles_service_request__pack(request, packed);
    output_bytes(to, packed, size);
    free(packed);
}

static void set_times(struct writing *w)
{
    const struct recording *recording = &w->tables->recording;
    const uint64_t last_ns = tables_end_ns(w->tables);
    const uint64_t from_ns = w->style->from_ns > recording->from_ns ? w->style->from_ns : recording->from_ns;
    const uint64_t to_ns = w->style->to_ns && w->style->to_ns < last_ns ? w->style->to_ns : last_ns;
    w->start_ns = recording->start_unix_ns + from_ns;
    w->end_ns = recording->start_unix_ns + (to_ns > from_ns ? to_ns : from_ns);
    for (size_t i = 0; i < w->looks->count; i++) { /* a recording that was cut off ends with its last look */
        const uint64_t time_ns = recording->start_unix_ns + w->looks->looks[i].time_ns;
        w->end_ns = time_ns < w->end_ns ? w->end_ns : time_ns + 1;
    }
}

struct otlp_written otlp_write(struct output *to, const struct tables *tables, const struct otlp_looks *looks,
                               const struct otlp_style *style)
{
    struct writing w = { .tables = tables, .looks = looks, .style = style };
    Pyreel__Otlp__ExportProfilesServiceRequest request = PYREEL__OTLP__EXPORT_PROFILES_SERVICE_REQUEST__INIT;
    set_times(&w);
    otlp_dictionary_start(&w.dictionary, tables, style->detail);
    task_owner_find(&w.owners, tables);
    make_samples(&w);
    fill_request(&w, &request);
    write_request(to, style, &request);
    otlp_parts_free(&w.parts);
    otlp_dictionary_free(&w.dictionary);
    task_owner_free(&w.owners);
    intern_free(&w.sets);
    intern_pairs_free(&w.index);
    free(w.samples);
    free(w.row_before);
    return w.written;
}

struct otlp_answer otlp_answer_read(struct text body)
{
    struct otlp_answer answer = { 0, NULL };
    Pyreel__Otlp__ExportProfilesServiceResponse *said = pyreel__otlp__export_profiles_service_response__unpack(
        NULL, body.size, (const uint8_t *)body.bytes);
    const Pyreel__Otlp__ExportProfilesPartialSuccess *part = said ? said->partial_success : NULL;
    const char *words = part && part->error_message ? part->error_message : "";
    if (part && part->rejected_profiles > 0)
        answer.refused = (uint64_t)part->rejected_profiles;
    answer.words = alloc_copy(words, strlen(words));
    if (said)
        pyreel__otlp__export_profiles_service_response__free_unpacked(said, NULL);
    return answer;
}
