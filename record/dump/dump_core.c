/* SPDX-License-Identifier: MIT */
#include "record/dump/dump_core.h"

#include "formats/base/utf8.h"
#include "record/core/core_file.h"
#include "record/dump/dumping.h"
#include "record/process/clock.h"

#include <string.h>
#include <sys/stat.h>

/* Source lines of a core file that root owns are those that everyone may read. The group of a user is not known. */
#define NOBODY   ((uid_t)65534)
#define NO_GROUP ((gid_t)-2)

#define LOOKS 2 /* the first look at tasks finds out what to read */

/* ---- what the core file says besides its memory ---- */

/* Replaces an owned text by a copy of one that is not trusted. */
static void set_text(struct text *to, const char *from)
{
    text_free(*to);
    *to = utf8_clean(text_of(from));
}

static void core_describe(struct dumped *dumped, const struct core_file *core)
{
    struct stat stat;
    const struct core_mapped *program = core_file_program(core);
    dumped->pid = core->pid;
    dumped->place = (struct place){ .known = true, .ours = !dumped->foreign, .user = NOBODY, .group = NO_GROUP };
    dumped->cut = core->cut;
    if (core->threads_count > 0) {
        dumped->signal = core->threads[0].signal;
        dumped->signal_tid = core->threads[0].tid;
    }
    if (fstat(core->fd, &stat) == 0) {
        dumped->unix_ns = (uint64_t)stat.st_mtim.tv_sec * 1000000000u + (uint64_t)stat.st_mtim.tv_nsec;
        dumped->place.began_ns = dumped->unix_ns;
        /* Anybody can make a core file that says it is root's, and the owner of a copy of it may be root. */
        if (stat.st_uid != 0)
            dumped->place.user = stat.st_uid;
    }
    if (dumped->tables.processes_count < 2)
        return;
    struct process *process = &dumped->tables.processes[1].process;
    set_text(&process->command, core->arguments[0] ? core->arguments : core->name);
    set_text(&process->executable, program ? program->path : "");
}

/* ---- the dump ---- */

static bool dump_core_look(struct dumping *d, const struct dump_options *options, struct fault *why)
{
    struct watched *watched = &d->watched;
    if (options->async && !asyncio_possible(&watched->target.runtime.layout, why)) {
        target_close(&watched->target);
        return false;
    }
    watched_attach(watched);
    bool good = true;
    for (int i = 0; i < LOOKS && good; i++) {
        dumped_again(d->dumped);
        watched_look(watched, clock_now_ns());
        if (options->locals)
            locals_read(&d->dumped->locals, watched);
        good = watched_emit(watched, clock_now_ns() - d->options.start_ns, why);
    }
    locals_number(&d->dumped->locals, watched);
    d->dumped->moment = MOMENT_PROVEN;
    dumping_add_idents(d);
    if (watched->look.state == THREAD_LIST_READ) {
        dumping_tell_tasks(d, why);
        return good;
    }
    return fault(why, "cannot read the list of threads in %s", options->core);
}

static bool core_registers(void *self, pid_t tid, struct c_registers *registers)
{
    const struct dumping *d = self;
    const struct core_file *core = d->core;
    for (size_t i = 0; i < core->threads_count; i++)
        if (core->threads[i].tid == tid)
            return capture_registers(core->threads[i].registers, sizeof(core->threads[i].registers), registers);
    return false;
}

static enum dump_result dump_memory(struct dumped *dumped, struct core_file *core, const struct dump_options *options,
                                    struct fault *why)
{
    struct dumping d;
    struct fault cause = { 0 };
    dumping_open(&d, dumped, 0, options);
    d.core = core;
    d.options.registers = core_registers;
    const enum target_state state = target_open_memory(&d.watched.target, &core_file_kind, core, core->pid, &cause);
    bool good = state == TARGET_READY;
    if (good)
        good = dump_core_look(&d, options, why);
    else if (state == TARGET_UNSUPPORTED)
        fault(why, "cannot read %s: %s", options->core, cause.text);
    else
        core_file_explain(core, options->core, why);
    dumping_close(&d);
    dumped_settle(dumped);
    core_describe(dumped, core);
    return good ? DUMP_DONE : DUMP_FAILED;
}

enum dump_result dump_core(struct dumped *dumped, const struct dump_options *options, struct fault *why)
{
    struct core_file core;
    *dumped = (struct dumped){ .core = options->core, .foreign = options->exe != NULL };
    const enum dump_result result = core_file_open(&core, options->core, options->exe, why)
                                        ? dump_memory(dumped, &core, options, why)
                                        : DUMP_FAILED;
    core_file_close(&core);
    return result;
}
