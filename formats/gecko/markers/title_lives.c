/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/title_lives.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

static void add_life_of_title(struct title_lives *lives, uint32_t process, struct text title, uint64_t since_ns)
{
    lives->rows = alloc_grow(lives->rows, &lives->room, lives->count + 1, sizeof(*lives->rows));
    lives->rows[lives->count++] = (struct title_life){ process, intern_text(&lives->texts, title), since_ns };
}

void title_lives_take(struct title_lives *lives, const struct tables *tables, const struct change *change)
{
    const uint32_t number = change->number;
    if (number >= tables->processes_count || tables->processes[number].titles.count == 0 || change->name.size == 0)
        return;
    const struct process_row *row = &tables->processes[number];
    lives->begun = alloc_grow(lives->begun, &lives->begun_room, (size_t)number + 1, sizeof(*lives->begun));
    if (!lives->begun[number])
        add_life_of_title(lives, number, row->titles.rows[0].title, row->process.start_ns);
    lives->begun[number] = true;
    add_life_of_title(lives, number, change->name, change->time_ns);
}

void title_lives_settle(const struct title_lives *lives, const struct tables *tables, const uint32_t *threads,
                        uint64_t end_ns, struct marker_store *store)
{
    uint64_t *ends_ns = alloc_zeroed(tables->processes_count + 1,
                                     sizeof(*ends_ns)); /* of the life before, by process */
    for (size_t i = lives->count; i-- > 0;) {
        const struct title_life *life = &lives->rows[i];
        const uint64_t last_ns = tables->processes[life->process].end_ns;
        const uint64_t until_ns = ends_ns[life->process] ? ends_ns[life->process] : last_ns ? last_ns : end_ns;
        ends_ns[life->process] = life->since_ns;
        if (!threads[life->process] || until_ns < life->since_ns)
            continue;
        const struct marker marker = { .kind = MARKER_TITLE,
                                       .thread = threads[life->process],
                                       .start_ns = life->since_ns,
                                       .end_ns = until_ns,
                                       .weight = until_ns - life->since_ns,
                                       .subject = life->process,
                                       .other = (uint32_t)i + 1 };
        marker_store_add(store, &marker);
    }
    free(ends_ns);
}

void title_lives_free(struct title_lives *lives)
{
    free(lives->rows);
    free(lives->begun);
    intern_free(&lives->texts);
    *lives = (struct title_lives){ 0 };
}
