/* SPDX-License-Identifier: MIT */
#include "record/dump/dumping.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <stdlib.h>

#define STATUS_INTERVAL_NS 1000000000u /* a dump has time to ask for the processor of each thread; 0: do not ask */

static void read_locals(void *self, struct watched *watched)
{
    struct dumping *d = self;
    locals_read(&d->dumped->locals, watched);
}

void dumping_open(struct dumping *d, struct dumped *dumped, pid_t pid, const struct dump_options *options)
{
    const bool freezes = options->blocking || options->locals;
    *d = (struct dumping){ .dumped = dumped };
    d->options = (struct watch_options){ .interval_ns = pid ? STATUS_INTERVAL_NS : 0,
                                         .start_ns = clock_now_ns(),
                                         .which = THREADS_ALL,
                                         .anew = true,
                                         .with_status = true,
                                         .all_names = true,
                                         .plain_threads = true,
                                         .mode = MODE_WALL,
                                         .async = options->async ? ASYNC_ALL : ASYNC_NONE,
                                         .freezes = pid && freezes,
                                         .stands = pid && !freezes,
                                         .c_frames = options->native,
                                         .patient = true,
                                         .while_frozen = options->locals ? read_locals : NULL,
                                         .self = d };
    d->synthetic = (struct synthetic_frames){
        .native = options->native, .gc = true, .depth = DEPTH_LIMIT, .definitions = &d->emitter.definitions
    };
    emitter_open(&d->emitter, dumped_sink(dumped));
    watched_open(&d->watched, pid, NULL, &d->options, &d->emitter, &d->synthetic);
}

void dumping_add_idents(struct dumping *d)
{
    const struct watched *watched = &d->watched;
    const size_t numbers = d->dumped->tables.threads_count;
    uint64_t *idents = alloc_zeroed(numbers + 1, sizeof(*idents)); /* by number of the thread */
    for (uint32_t i = 0; i < watched->thread_list.members_count; i++) {
        const struct emitted_thread *thread = watched_thread_of(watched, i);
        if (thread && thread->number < numbers)
            idents[thread->number] = watched->thread_list.members[i].pointer;
    }
    idents[0] = 0;
    for (size_t i = 0; i < d->dumped->count; i++)
        d->dumped->rows[i].ident = idents[d->dumped->rows[i].thread];
    free(idents);
}

void dumping_tell_tasks(const struct dumping *d, struct fault *why)
{
    if (d->watched.asyncio.refusal.text[0])
        fault(why, "its asyncio tasks are not shown: %s", d->watched.asyncio.refusal.text);
}

void dumping_close(struct dumping *d)
{
    watched_close(&d->watched);
    emitter_close(&d->emitter);
}
