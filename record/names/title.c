/* SPDX-License-Identifier: MIT */
#include "record/names/title.h"

#include "formats/model/program_name.h"
#include "record/process/meter.h"
#include "record/process/procfs.h"

#define FIRST_WAIT_NS 100000000u  /* until the second look; each wait is twice as long as the one before, ... */
#define WAIT_MOST_NS  1000000000u /* ... up to this one */

static struct text take_command(const struct title *title)
{
    const struct text command = procfs_command(title->pid);
    if (!title->bare || command.size == 0)
        return command;
    const struct text bare = program_name_bare(command);
    text_free(command);
    return bare;
}

void title_open(struct title *title, pid_t pid, bool bare, uint64_t now_ns)
{
    *title = (struct title){ .pid = pid,
                             .bare = bare,
                             .mark = procfs_command_mark(pid),
                             .cpu_ns = METER_UNKNOWN,
                             .due_ns = now_ns + FIRST_WAIT_NS,
                             .wait_ns = FIRST_WAIT_NS };
    title->text = take_command(title);
}

/* The process may write its title during the look. Then the next look is due at once. */
static bool title_take(struct title *title, uint64_t mark)
{
    const struct text text = take_command(title);
    if (procfs_command_mark(title->pid) != mark) {
        title->due_ns = 0;
        text_free(text);
        return false;
    }
    title->mark = mark;
    const bool other = text.size > 0 && !text_equal(text, title->text);
    text_free(other ? title->text : text);
    title->text = other ? text : title->text;
    return other;
}

bool title_changed(struct title *title, uint64_t now_ns, uint64_t cpu_ns)
{
    if (now_ns < title->due_ns || (cpu_ns == title->cpu_ns && cpu_ns != METER_UNKNOWN))
        return false;
    title->wait_ns = title->wait_ns < WAIT_MOST_NS / 2 ? title->wait_ns * 2 : WAIT_MOST_NS;
    title->due_ns = now_ns + title->wait_ns;
    title->cpu_ns = cpu_ns;
    const uint64_t mark = procfs_command_mark(title->pid);
    return mark && mark != title->mark && title_take(title, mark);
}

void title_close(struct title *title)
{
    text_free(title->text);
    *title = (struct title){ 0 };
}
