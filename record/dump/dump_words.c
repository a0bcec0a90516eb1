/* SPDX-License-Identifier: MIT */
#include "record/dump/dump_words.h"

#include "formats/model/attribute.h"

size_t dump_words(const struct dumped *dumped, const struct dumped_row *row, const char *words[DUMP_WORDS_MOST])
{
    const bool free_threaded = dumped_process(dumped)->build & BUILD_FREE_THREADED;
    const uint32_t status = row->status;
    size_t count = 0;
    if (attribute_is(status, ATTRIBUTE_TASK_WAITS)) {
        words[count++] = "waiting";
        return count;
    }
    const bool has_lock = attribute_is(status, ATTRIBUTE_GIL), waits = attribute_is(status, ATTRIBUTE_GIL_WAIT);
    if (has_lock)
        words[count++] = free_threaded ? "attached" : "has the GIL";
    if (waits)
        words[count++] = "waiting for the GIL";
    if (!waits && attribute_known(status, ATTRIBUTE_CPU) && !standing_is_stopped(&dumped->standing))
        words[count++] = attribute_is(status, ATTRIBUTE_CPU) ? "working" : "idle";
    if (attribute_is(status, ATTRIBUTE_EXCEPTION))
        words[count++] = "in an exception";
    if (row->collection)
        words[count++] = "in GC";
    return count;
}

const char *dump_words_standing(const struct standing *standing)
{
    switch (standing->state) {
    case 'T':
        return "stopped by a signal, such as SIGSTOP or ^Z: the stacks stay as they are until it is continued";
    case 't':
        return "stopped by a debugger: the stacks stay as they are until the debugger lets it go on";
    case 'D':
        return "uninterruptible: its main thread waits in the kernel, and no signal reaches it";
    default:
        return NULL;
    }
}

const char *dump_words_failure(const struct dumped *dumped, const struct dumped_row *row)
{
    return dumped->core ? "the core file does not have all of its stack" : event_failure_text(row->failure);
}
