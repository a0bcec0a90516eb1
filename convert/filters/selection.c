/* SPDX-License-Identifier: MIT */
#include "convert/filters/selection.h"

#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/model/program_name.h"
#include "formats/names/name_list.h"

#include <stdlib.h>
#include <string.h>

bool selection_has_names(const struct selection *selection)
{
    return selection->processes || selection->threads;
}

bool selection_has_last(const struct selection *selection)
{
    return selection->last_ns || selection->last_share > 0;
}

bool selection_is_partial(const struct selection *selection)
{
    return selection_has_names(selection) || selection->from_ns || selection->to_ns ||
           selection_needs_length(selection);
}

bool selection_has_time(const struct selection *selection, uint64_t time_ns)
{
    return time_ns >= selection->from_ns && (selection->to_ns == 0 || time_ns < selection->to_ns);
}

static struct text service_of(const struct process *process)
{
    struct text lines = process->attributes, name, value;
    while (process_take_attribute(&lines, &name, &value))
        if (text_equal(name, TEXT("service.name")))
            return value;
    return (struct text){ 0 };
}

static bool has_process(const struct selection *selection, const struct process *process)
{
    char *title = program_name_title(process->command);
    const struct text service = service_of(process);
    const bool has = name_list_has(selection->processes, text_of(title), process->pid) ||
                     (service.size && name_list_has(selection->processes, service, process->pid));
    free(title);
    return has;
}

bool selection_has_thread(const struct selection *selection, const struct tables *tables, uint32_t number)
{
    const struct thread *thread = &tables->threads[number].thread;
    return (!selection->threads ||
            name_list_has(selection->threads, tables_thread_name(tables, number), thread->tid)) &&
           (!selection->processes || has_process(selection, &tables->processes[thread->process].process));
}

/* ---- times ---- */

bool selection_parse_time(const char *text, uint64_t *time_ns, double *share)
{
    *time_ns = 0;
    *share = 0;
    return strchr(text, '%') ? arguments_parse_share(text, 1, share) : arguments_parse_time(text, time_ns);
}

bool selection_needs_length(const struct selection *selection)
{
    return selection->from_share > 0 || selection->to_share > 0 || selection_has_last(selection);
}

/* A share of the length; at least 1 ns, because 0 would mean the end in `to_ns`. */
static uint64_t share_ns(double share, uint64_t length_ns)
{
    const uint64_t time_ns = (uint64_t)(share * (double)length_ns + 0.5);
    return time_ns ? time_ns : 1;
}

/* Makes a beginning of --last: so long before the end of the part. */
static void settle_last(struct selection *selection, uint64_t length_ns)
{
    const uint64_t end_ns = selection->to_ns && selection->to_ns < length_ns ? selection->to_ns : length_ns;
    const uint64_t last_ns = selection->last_share > 0 ? share_ns(selection->last_share, length_ns)
                                                       : selection->last_ns;
    selection->from_ns = last_ns < end_ns ? end_ns - last_ns : 0;
    selection->last_ns = 0;
    selection->last_share = 0;
}

bool selection_settle(struct selection *selection, uint64_t length_ns, struct fault *why)
{
    if (selection->from_share > 0)
        selection->from_ns = share_ns(selection->from_share, length_ns);
    if (selection->to_share > 0 && selection->to_share < 1)
        selection->to_ns = share_ns(selection->to_share, length_ns);
    selection->from_share = selection->to_share = 0;
    if (selection_has_last(selection))
        settle_last(selection, length_ns);
    const bool fits = selection->to_ns == 0 || selection->from_ns < selection->to_ns;
    return fits || length_ns == 0 ||
           fault(why, "--to must be later than --from: in %.3f s these are %.3f s and %.3f s", (double)length_ns / 1e9,
                 (double)selection->to_ns / 1e9, (double)selection->from_ns / 1e9);
}
