/* SPDX-License-Identifier: MIT */
/* The times that samples stand for, as the weights of samples. If each sample stands for one interval, the viewer adds
 * up samples; otherwise, milliseconds. Weights differ when recordings are merged, and when the recorder left ticks out.
 */
#include "formats/gecko/gecko_internal.h"

/* The column has the total time of all samples so far. Then consecutive samples with the same weight have the same
 * step, and the spool stores them as one count. */
void gecko_weights_take(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample)
{
    const bool usual = sample->stands_ns == tables_interval_ns(gecko->tables, sample->thread);
    thread->stands_ns = usual ? 0 : sample->stands_ns;
    if (thread->weights.count == 0 && usual)
        return;
    if (thread->weights.count == 0)
        thread->weights_from = thread->samples.count;
    gecko->weighted = true;
    const struct spool_sample row = { .time = thread->weights.last.time + sample->stands_ns };
    spool_add(&gecko->spool, &thread->weights, row);
}

bool gecko_weights_differ(const struct gecko *gecko)
{
    return gecko->weighted || tables_intervals_differ(gecko->tables);
}

void gecko_weights_emit(struct gecko *gecko, uint32_t number, struct spool_reader *reader)
{
    const struct gecko_thread *thread = gecko_thread(gecko, number);
    const uint64_t usual = thread->weights.count ? thread->weights_from : thread->samples.count;
    const uint64_t interval_ns = number ? tables_interval_ns(gecko->tables, number) : 0;
    struct spool_sample row;
    uint64_t before = 0;
    for (uint64_t i = 0; i < usual; i++)
        gecko_emit_ms(&gecko->json, NULL, interval_ns);
    for (spool_rewind(reader, &gecko->spool, &thread->weights); spool_next(reader, &row); before = row.time)
        gecko_emit_ms(&gecko->json, NULL, row.time - before);
}
