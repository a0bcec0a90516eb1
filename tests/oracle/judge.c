/* SPDX-License-Identifier: MIT */
/* Judges how C stacks are unwound: judge PID LOOKS. Stops the first thread of a process at random moments, copies its
 * registers and its C stack, and lets it go. Then the recorder's unwinder and libdwfl each find the frames in this
 * copy. Both must find the same return addresses, up to the root.
 *
 * Output: {"looks", "same", "frames", "longer", "other", "no_rule"}. `longer`: libdwfl ended earlier, and had the same
 * so far; `no_rule`: the recorder's unwinder ended at code without a rule, and had the same so far. An example of each
 * is told on standard error. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "record/emit/definitions.h"
#include "record/native/c_stack.h"
#include "record/native/capture.h"
#include "record/process/clock.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES  4096
#define MEAN_US 2000.0

static pid_t judged; /* the process; find_elf() gets nothing of ours */

struct judge {
    pid_t pid;
    struct remote remote;
    struct definitions definitions;
    struct code_map map;
    struct capture capture;
    Dwfl *dwfl;
    struct c_frame frames[FRAMES];
    size_t count;
    enum c_end end;
    uint64_t theirs[FRAMES];
    size_t theirs_count;
    uint64_t looks, same, compared, longer, other, no_rule;
};

/* ---- libdwfl ---- */

/* A file of the process, below its root folder. */
static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
    char below[4200];
    if (name[0] != '/')
        return dwfl_linux_proc_find_elf(module, data, name, base, path, elf);
    snprintf(below, sizeof(below), "/proc/%d/root%s", (int)judged, name);
    int file = open(below, O_RDONLY | O_CLOEXEC);
    if (file < 0) /* after a chroot, the name begins at our root folder */
        file = open(name, O_RDONLY | O_CLOEXEC);
    *path = file >= 0 ? alloc_copy(below, strlen(below)) : NULL;
    return file;
}

static pid_t next_thread(Dwfl *dwfl, void *self, void **thread)
{
    struct judge *judge = self;
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = judge;
    return judge->pid;
}

/* libdwfl reads words of the stack only, and gets them from the copy. */
static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *self)
{
    struct judge *judge = self;
    const struct c_copy *copy = &judge->capture.copy;
    (void)dwfl;
    if (address - copy->begin < copy->size && copy->size - (address - copy->begin) >= sizeof(*word)) {
        memcpy(word, copy->bytes + (address - copy->begin), sizeof(*word));
        return true;
    }
    return false;
}

static bool set_registers(Dwfl_Thread *thread, void *self)
{
    struct judge *judge = self;
    Dwarf_Word words[17];
    for (size_t i = 0; i < 16; i++)
        words[i] = judge->capture.registers.values[i];
    words[16] = judge->capture.registers.pc;
    return dwfl_thread_state_registers(thread, 0, 17, words);
}

static int add_frame(Dwfl_Frame *frame, void *self)
{
    struct judge *judge = self;
    Dwarf_Addr pc;
    bool runs;
    if (!dwfl_frame_pc(frame, &pc, &runs) || judge->theirs_count == FRAMES)
        return DWARF_CB_ABORT;
    if (pc != 0)
        judge->theirs[judge->theirs_count++] = pc - (runs ? 0 : 1);
    return DWARF_CB_OK;
}

static const Dwfl_Thread_Callbacks callbacks = { .next_thread = next_thread,
                                                 .memory_read = read_word,
                                                 .set_initial_registers = set_registers };

static bool list_modules(struct judge *judge)
{
    static const Dwfl_Callbacks files = { .find_elf = find_elf, .find_debuginfo = dwfl_standard_find_debuginfo };
    if (judge->dwfl)
        dwfl_end(judge->dwfl);
    judge->dwfl = dwfl_begin(&files);
    if (dwfl_linux_proc_report(judge->dwfl, judge->pid) != 0)
        return false;
    return dwfl_report_end(judge->dwfl, NULL, NULL) == 0 &&
           dwfl_attach_state(judge->dwfl, NULL, judge->pid, &callbacks, judge);
}

/* ---- looks ---- */

/* Whether both found the same frames. Where one ended earlier, the frames so far count. */
static void compare(struct judge *judge)
{
    const size_t ours = judge->count, theirs = judge->theirs_count, both = ours < theirs ? ours : theirs;
    size_t same = 0;
    while (same < both && judge->frames[same].code->pc == judge->theirs[same])
        same++;
    judge->compared += same;
    const bool whole = same == both;
    uint64_t *kind = !whole                    ? &judge->other
                     : ours == theirs          ? &judge->same
                     : ours > theirs           ? &judge->longer
                     : judge->end == C_NO_RULE ? &judge->no_rule
                                               : &judge->other;
    if (kind != &judge->same && (*kind)++ == 0) {
        fprintf(stderr, "%zu frames, libdwfl %zu, the same %zu:", ours, theirs, same);
        for (size_t i = same < 2 ? 0 : same - 2; i < ours || i < theirs; i++)
            fprintf(stderr, " %" PRIx64 "/%" PRIx64, i < ours ? judge->frames[i].code->pc : 0,
                    i < theirs ? judge->theirs[i] : 0);
        fprintf(stderr, "\n");
    } else if (kind == &judge->same) {
        judge->same++;
    }
}

/* Copies the whole stack, as far as it is known to reach. */
static bool judge_capture(struct judge *judge)
{
    static const atomic_bool stop;
    judge->capture.wanted = (struct captured){ .tid = judge->pid };
    if (capture_begin(&judge->capture))
        capture_finish(&judge->capture, &stop);
    return capture_take(&judge->capture, 0) != NULL;
}

static bool judge_look(struct judge *judge)
{
    struct capture *capture = &judge->capture;
    /* A thread that sleeps is not stopped, and has no registers but two. */
    const bool captured = judge_capture(judge) && capture->registers.known == (1u << CFI_REGISTERS) - 1;
    const bool fresh = captured && code_map_refresh(&judge->map, clock_now_ns());
    if (captured && (fresh || judge->looks % 64 == 0) && !list_modules(judge))
        return false;
    if (captured) {
        judge->end = c_stack_unwind(&judge->map, &capture->registers, &capture->copy, 0, judge->frames, FRAMES,
                                    &judge->count, NULL);
        judge->theirs_count = 0;
        dwfl_getthread_frames(judge->dwfl, judge->pid, add_frame, judge);
        compare(judge);
        judge->looks++;
    }
    capture_drop(capture);
    return true;
}

int main(int argc, char **argv)
{
    static struct judge judge;
    struct fault why = { 0 };
    startup(EXIT_FAILURE);
    const uint64_t wanted = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    judge.pid = judged = argc == 3 ? atoi(argv[1]) : 0;
    if (judge.pid <= 0 || wanted == 0) {
        fprintf(stderr, "usage: judge PID LOOKS\n");
        return EXIT_MISUSE;
    }
    if (!remote_open(&judge.remote, judge.pid, &why)) {
        fprintf(stderr, "judge: %s\n", why.text);
        return EXIT_FAILURE;
    }
    code_map_open(&judge.map, &judge.remote, &judge.definitions);
    capture_open(&judge.capture, &judge.remote, false);
    bool good = true;
    for (uint64_t tries = 0; good && judge.looks < wanted && tries < 4 * wanted; tries++) {
        usleep((useconds_t)(drand48() * 2 * MEAN_US));
        good = judge_look(&judge);
    }
    printf("{\"looks\": %" PRIu64 ", \"same\": %" PRIu64 ", \"frames\": %" PRIu64 ", \"longer\": %" PRIu64
           ", \"other\": %" PRIu64 ", \"no_rule\": %" PRIu64 "}\n",
           judge.looks, judge.same, judge.compared, judge.longer, judge.other, judge.no_rule);
    code_map_close(&judge.map);
    capture_close(&judge.capture);
    definitions_free(&judge.definitions);
    remote_close(&judge.remote);
    dwfl_end(judge.dwfl);
    return good ? 0 : EXIT_FAILURE;
}
