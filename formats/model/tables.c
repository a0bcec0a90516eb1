/* SPDX-License-Identifier: MIT */
#include "formats/model/tables.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"
#include "formats/model/known.h"
#include "formats/names/demangle.h"

#include <inttypes.h>
#include <stdlib.h>

#define JUMPS_LIMIT  4194304u /* skipped numbers in total, schemas/stream.md section 5 */
#define STACKS_LIMIT (UINT32_MAX - 1)

/* Checks that `number` is the next number, and counts it. After a loss, `number` may be a later one: the skipped rows
 * are zeroed, so that their .number is 0. */
static bool next_number(struct tables *tables, const char *kind, uint32_t number, size_t *count, struct fault *why)
{
    const size_t expected = *count ? *count : 1;
    if (number == 0 || number < expected)
        return fault(why, "%s %" PRIu32 " is defined twice", kind, number);
    const size_t jump = number - expected;
    if (jump > 0 && (!tables->forgiving || jump > JUMPS_LIMIT - tables->jumped))
        return fault(why, "%s %" PRIu32 " is defined out of order (expected %zu)", kind, number, expected);
    tables->jumped += (uint32_t)jump;
    *count = (size_t)number + 1;
    return true;
}

static void tables_drop(struct text *text)
{
    text_free(*text);
    *text = (struct text){ 0 };
}

static bool tables_take_recording(struct tables *tables, const struct recording *given, struct fault *why)
{
    if (tables->has_recording)
        return fault(why, "the recording has two descriptions");
    struct recording *recording = &tables->recording;
    *recording = *given;
    recording->pyreel_version = text_copy(given->pyreel_version);
    recording->host = text_copy(given->host);
    recording->kernel = text_copy(given->kernel);
    recording->machine = text_copy(given->machine);
    recording->processor = text_copy(given->processor);
    recording->mode = text_copy(given->mode);
    recording->threads_option = text_copy(given->threads_option);
    recording->command = text_copy(given->command);
    tables->has_recording = true;
    return true;
}

static bool known_process(const struct tables *tables, uint32_t number)
{
    return number < tables->processes_count && tables->processes[number].process.number;
}

/* NULL: the thread is not known. */
static struct thread_row *find_thread(const struct tables *tables, uint32_t number)
{
    struct thread_row *row = number < tables->threads_count ? &tables->threads[number] : NULL;
    return row && row->thread.number ? row : NULL;
}

static bool known_task(const struct tables *tables, uint32_t number)
{
    return number < tables->tasks_count && tables->tasks[number].task.number;
}

static bool known_string(const struct tables *tables, uint32_t number)
{
    return number < tables->strings_count && tables->strings[number].bytes;
}

/* An event names something undefined. That is a mistake in the file, unless definitions were lost: then the event is
 * lost, too. */
static bool is_loss(const struct tables *tables, const char *what, uint32_t number, struct fault *why)
{
    return tables->forgiving || fault(why, "%s %" PRIu32 " refers to something that is not defined", what, number);
}

static bool tables_take_process(struct tables *tables, const struct process *given, struct fault *why)
{
    const bool known_parent = !given->parent || known_process(tables, given->parent);
    if (!known_parent && !is_loss(tables, "process", given->number, why))
        return false;
    if (!next_number(tables, "process", given->number, &tables->processes_count, why))
        return false;
    tables->processes = alloc_grow(tables->processes, &tables->processes_room, tables->processes_count,
                                   sizeof(*tables->processes));
    struct process *process = &tables->processes[given->number].process;
    *process = *given;
    process->parent = known_parent ? given->parent : 0;
    process->executable = text_copy(given->executable);
    process->command = text_copy(given->command);
    process->folder = text_copy(given->folder);
    process->build_id = text_copy(given->build_id);
    process->attributes = text_copy(given->attributes);
    process->recording = text_copy(given->recording);
    return true;
}

/* The entry that has the life of a new entry's thread: the thread's first entry that has not ended, or has a later
 * entry that has not ended. A later thread with the same tid has a life of its own. */
static uint32_t find_life(struct tables *tables, const struct thread *thread)
{
    if (!thread->tid || thread->task)
        return thread->number;
    const uint32_t known = intern_pairs_find(&tables->lives, thread->process, thread->tid);
    if (known && tables->threads[known].open) {
        tables->threads[known].wall.shared = true;
        return known;
    }
    if (known)
        intern_pairs_slot(&tables->lives, thread->process, thread->tid)->number = thread->number;
    else
        intern_pairs_add(&tables->lives, thread->process, thread->tid, thread->number);
    return thread->number;
}

static bool tables_take_thread(struct tables *tables, const struct thread *given, struct fault *why)
{
    const bool whole = known_process(tables, given->process) && (!given->task || known_task(tables, given->task));
    if (!whole && !is_loss(tables, "thread", given->number, why))
        return false;
    if (!next_number(tables, "thread", given->number, &tables->threads_count, why))
        return false;
    tables->threads = alloc_grow(tables->threads, &tables->threads_room, tables->threads_count,
                                 sizeof(*tables->threads));
    if (!whole)
        return true;
    struct thread *thread = &tables->threads[given->number].thread;
    *thread = *given;
    thread->name = text_copy(given->name);
    tables->threads[given->number].never_said = attribute_never_said(
        tables->processes[given->process].process.python_version);
    const uint32_t life = tables->threads[given->number].life = find_life(tables, given);
    tables->threads[life].open++;
    return true;
}

static bool tables_take_process_end(struct tables *tables, const struct process_end *end, struct fault *why)
{
    if (!known_process(tables, end->number))
        return is_loss(tables, "the end of process", end->number, why);
    struct process_row *row = &tables->processes[end->number];
    row->end_ns = end->time_ns;
    row->fate = end->fate;
    row->wait_status = end->wait_status;
    return true;
}

/* A process that has erased its title keeps the one before: "" tells nobody who it is. */
static bool tables_take_title(struct tables *tables, const struct change *change, struct fault *why)
{
    if (!known_process(tables, change->number))
        return is_loss(tables, "a title of process", change->number, why);
    struct process_row *row = &tables->processes[change->number];
    struct process *process = &row->process;
    if (change->name.size == 0 || text_equal(change->name, process->command))
        return true;
    const uint64_t from_ns = tables->recording.from_ns;
    if (row->titles.count == 0)
        titles_add(&row->titles, process->command, process->start_ns > from_ns ? process->start_ns : from_ns);
    titles_add(&row->titles, change->name, change->time_ns);
    tables_drop(&process->command);
    process->command = text_copy(change->name);
    return true;
}

static bool tables_take_attributes(struct tables *tables, const struct change *change, struct fault *why)
{
    if (!known_process(tables, change->number))
        return is_loss(tables, "the attributes of process", change->number, why);
    struct process *process = &tables->processes[change->number].process;
    tables_drop(&process->attributes);
    process->attributes = text_copy(change->name);
    return true;
}

static bool take_thread_change(struct tables *tables, enum event_kind kind, const struct change *change,
                               struct fault *why)
{
    struct thread_row *row = find_thread(tables, change->number);
    if (!row)
        return is_loss(tables, "a change of thread", change->number, why);
    if (kind == EVENT_THREAD_END) {
        row->end_ns = change->time_ns;
        if (tables->threads[row->life].open)
            tables->threads[row->life].open--;
        return true;
    }
    tables_drop(&row->thread.name);
    row->thread.name = text_copy(change->name);
    if (row->thread.main)
        row->thread.main = change->own_name ? MAIN_THREAD_NAMED : MAIN_THREAD;
    return true;
}

static bool tables_take_task(struct tables *tables, const struct task *given, struct fault *why)
{
    const bool whole = known_process(tables, given->process);
    if (!whole && !is_loss(tables, "task", given->number, why))
        return false;
    if (!next_number(tables, "task", given->number, &tables->tasks_count, why))
        return false;
    tables->tasks = alloc_grow(tables->tasks, &tables->tasks_room, tables->tasks_count, sizeof(*tables->tasks));
    if (!whole)
        return true;
    struct task *task = &tables->tasks[given->number].task;
    *task = *given;
    task->name = text_copy(given->name);
    return true;
}

static bool tables_take_task_waiter(struct tables *tables, struct task_waiter *given, struct fault *why)
{
    const uint32_t task = given->task;
    if (!known_task(tables, task) || (given->waiter && !known_task(tables, given->waiter))) {
        given->task = 0;
        return is_loss(tables, "who waits for task", task, why);
    }
    if (given->waiter) {
        tables->tasks[task].waiter = given->waiter;
        tables->tasks[task].waiters = given->waiters;
    }
    return true;
}

static bool tables_take_string(struct tables *tables, const struct string *given, struct fault *why)
{
    if (!next_number(tables, "string", given->number, &tables->strings_count, why))
        return false;
    tables->strings = alloc_grow(tables->strings, &tables->strings_room, tables->strings_count,
                                 sizeof(*tables->strings));
    tables->strings[given->number] = text_copy(given->text);
    return true;
}

/* Makes the name of a function of C++ or Rust readable. */
static void make_readable(struct tables *tables, uint32_t string)
{
    struct bytes readable = { 0 };
    if (tables_linker_name(tables, string).size == 0 || !demangle(tables->strings[string], &readable))
        return;
    tables->linker_names = alloc_grow(tables->linker_names, &tables->linker_names_room, (size_t)string + 1,
                                      sizeof(*tables->linker_names));
    tables->linker_names[string] = tables->strings[string];
    tables->strings[string] = text_copy(bytes_text(&readable));
    bytes_free(&readable);
}

struct text tables_linker_name(const struct tables *tables, uint32_t string)
{
    const bool other = string < tables->linker_names_room && tables->linker_names[string].size > 0;
    return other ? tables->linker_names[string] : tables_string(tables, string);
}

static bool tables_take_function(struct tables *tables, const struct function *given, struct fault *why)
{
    const bool whole = known_string(tables, given->name) && (!given->file || known_string(tables, given->file)) &&
                       (!given->module || known_string(tables, given->module));
    if (!whole && !is_loss(tables, "function", given->number, why))
        return false;
    if (!next_number(tables, "function", given->number, &tables->functions_count, why))
        return false;
    tables->functions = alloc_grow(tables->functions, &tables->functions_room, tables->functions_count,
                                   sizeof(*tables->functions));
    if (whole)
        tables->functions[given->number] = *given;
    if (whole && given->module)
        make_readable(tables, given->name);
    return true;
}

static bool tables_take_frame(struct tables *tables, const struct frame *given, struct fault *why)
{
    const bool whole = given->function < tables->functions_count && tables->functions[given->function].number &&
                       (!given->instruction || known_string(tables, given->instruction)) &&
                       (!given->base || known_string(tables, given->base)) &&
                       (!given->symbol || given->symbol < tables->functions_count);
    if (!whole && !is_loss(tables, "frame", given->number, why))
        return false;
    if (!next_number(tables, "frame", given->number, &tables->frames_count, why))
        return false;
    tables->frames = alloc_grow(tables->frames, &tables->frames_room, tables->frames_count, sizeof(*tables->frames));
    if (whole)
        tables->frames[given->number] = *given;
    return true;
}

const struct module *tables_module(const struct tables *tables, uint32_t path)
{
    const uint32_t row = path ? intern_pairs_find(&tables->module_rows, path, 0) : 0;
    return row ? &tables->modules[row - 1] : NULL;
}

/* Takes a second note of a module. If the notes differ, two files were at its path, and an address may be of either:
 * the module is not known any more. */
static void settle_module(struct module *known, const struct module *given)
{
    if (known_same_module(known, given))
        return;
    text_free(known->build_id);
    *known = (struct module){ .path = known->path };
}

static bool tables_take_module(struct tables *tables, const struct module *given, struct fault *why)
{
    bool added;
    if (!known_string(tables, given->path))
        return is_loss(tables, "module", given->path, why);
    const uint32_t row = intern_pairs_number(&tables->module_rows, given->path, 0, &added);
    if (!added) {
        settle_module(&tables->modules[row - 1], given);
        return true;
    }
    tables->modules = alloc_grow(tables->modules, &tables->modules_room, row, sizeof(*tables->modules));
    tables->modules[row - 1] = *given;
    tables->modules[row - 1].build_id = text_copy(given->build_id);
    tables->modules_count = row;
    return true;
}

/* Whether the frame is undefined. Gaps between defined frames exist only after a loss. */
static bool is_lost_frame(const struct tables *tables, uint32_t frame)
{
    return frame == 0 || frame >= tables->frames_count || (tables->forgiving && !tables->frames[frame].number);
}

/* The number of the stack that consists of `caller` and `frame`. A stack on a lost caller or a lost frame is lost. A
 * lost stack is not even looked up: only an added stack can trigger new hash factors, so long searches for absent
 * stacks would never become faster. */
static uint32_t tables_fold(struct tables *tables, uint32_t caller, uint32_t frame)
{
    if (caller == STACK_LOST || is_lost_frame(tables, frame))
        return STACK_LOST;
    const uint32_t known = stack_index_find(&tables->stack_index, tables->stacks, caller, frame);
    if (known)
        return known;
    const uint32_t number = tables->stacks_count ? (uint32_t)tables->stacks_count : 1;
    tables->stacks_count = (size_t)number + 1;
    stack_index_add(&tables->stack_index, &tables->stacks, &tables->stacks_room, number,
                    (struct stack){ caller, frame });
    return number;
}

/* Checks the task of a sample. A sample whose task was lost still has a true stack, so only the task is cleared. */
static bool check_task(const struct tables *tables, struct run *run, struct fault *why)
{
    if (run->task == 0 || known_task(tables, run->task))
        return true;
    run->task = 0;
    return is_loss(tables, "the task of a sample of thread", run->thread, why);
}

/* Notes the latest time. A run comes behind later samples, and another merged recording may be older. */
static void tables_note_time(struct tables *tables, uint64_t time_ns)
{
    if (tables->last_ns < time_ns)
        tables->last_ns = time_ns;
}

static void sum_states(struct tables *tables, struct thread_row *row, const struct run *run)
{
    if (!(run->status & STATUS_RECORDED))
        return;
    tables->states_known = true;
    /* A look at a thread that is in another interpreter has no wall-clock time here, but is a look. */
    const bool elsewhere = attribute_is(run->status, ATTRIBUTE_ELSEWHERE);
    const double looked_ns = elsewhere ? (double)run->stands_ns * (double)run->count : (double)run->wall_ns;
    for (enum attribute i = 0; i < ATTRIBUTE_STATES; i++) {
        row->states[i].known_ns += attribute_known(run->status, i) ? looked_ns : 0;
        row->states[i].was_ns += attribute_is(run->status, i) ? looked_ns : 0;
    }
}

/* Samples of a process that are rare, because the process sleeps, count less for the rate. */
static void note_rate(struct process_ticks *own, const struct run *run)
{
    own->rates_mhz += run->count * (UINT64_C(1000000000000) / run->stands_ns);
}

static void count_run(struct tables *tables, const struct run *run)
{
    struct thread_row *row = &tables->threads[run->thread];
    const uint64_t count = run->count;
    row->samples += count;
    row->cpu_ns += run->cpu_ns;
    row->wall_ns += run->wall_ns;
    row->cpu_known |= attribute_known(run->status, ATTRIBUTE_CPU_TIME);
    tables->samples += count;
    if (tables->sums_states)
        sum_states(tables, row, run);
    if (tables->recording.process_ticks && count > 0)
        note_rate(&tables->processes[row->thread.process].own, run);
    if (run->task == 0)
        return;
    tables->tasks[run->task].samples += count;
    tables->tasks[run->task].thread = run->thread;
}

/* Finds the number of a sample's whole stack, for the sample's run, and notes the stack as that of the thread. */
static bool tables_take_stack(struct tables *tables, struct thread_row *row, const struct sample *sample,
                              struct run *run, struct fault *why)
{
    if (sample->keep > row->depth || sample->pushed > STACK_DEPTH_LIMIT - sample->keep)
        return fault(why, "a sample keeps %" PRIu32 " frames of a stack of %" PRIu32, sample->keep, row->depth);
    if (tables->stacks_count + sample->pushed > STACKS_LIMIT)
        return fault(why, "there are more distinct stacks than this program can count");

    row->depth = sample->keep + sample->pushed;
    row->stacks = alloc_grow(row->stacks, &row->stacks_room, row->depth, sizeof(*row->stacks));
    uint32_t stack = sample->keep ? row->stacks[sample->keep - 1] : 0;
    for (uint32_t i = 0; i < sample->pushed; i++) {
        stack = tables_fold(tables, stack, sample->frames[i]);
        row->stacks[sample->keep + i] = stack;
    }
    run->stack = stack;
    return stack != STACK_LOST || is_loss(tables, "a sample of thread", sample->thread, why);
}

/* Finds the times of a sample's run. */
static void tables_take_times(struct tables *tables, struct thread_row *row, const struct sample *sample,
                              struct run *run)
{
    if (run->stands_ns == 0)
        run->stands_ns = tables_interval_ns(tables, run->thread);
    /* Also of a sample that a pass leaves out: ticks that are missed next are as long. */
    tables->stands_ns = run->stands_ns;
    if (tables->recording.process_ticks)
        tables->processes[row->thread.process].own.stands_ns = run->stands_ns;
    struct wall *wall = &tables->threads[row->life].wall;
    run->wall_ns = wall_take(wall, run, sample_first_ns(sample), !row->looked);
    run->until_ns = wall->until_ns;
    row->looked = true;
    tables_note_time(tables, run->time_ns);
}

/* Makes a run of a sample. */
static bool tables_take_sample(struct tables *tables, struct event *event, struct fault *why)
{
    const struct sample *sample = &event->sample;
    struct thread_row *row = find_thread(tables, sample->thread);
    struct run run = { .thread = sample->thread,
                       .stack = STACK_LOST,
                       .task = sample->task,
                       .status = sample->status,
                       .time_ns = sample->time_ns,
                       .count = sample->count,
                       .stands_ns = sample->stands_ns,
                       .cpu_ns = sample->cpu_ns,
                       .counted_ns = sample->cpu_ns,
                       .collection = sample->collection,
                       .callback_ns = sample->callback_ns,
                       .span = sample->span,
                       .fresh = sample->fresh };
    if (!row) {
        tables->lost_samples += run.count;
        if (!is_loss(tables, "a sample of thread", run.thread, why))
            return false;
    } else {
        run.status |= run.status & STATUS_RECORDED ? row->never_said : 0;
        if (!tables_take_stack(tables, row, sample, &run, why) || !check_task(tables, &run, why))
            return false;
        tables_take_times(tables, row, sample, &run);
        *(run.stack == STACK_LOST ? &tables->lost_samples : &tables->defined) += run.count;
    }
    event->kind = EVENT_RUN;
    event->run = run;
    return true;
}

static void count_left_out(struct tables *tables, const struct left_out *given)
{
    struct thread_row *row = find_thread(tables, given->thread);
    if (!row)
        return; /* its definition is lost */
    row->left_out += given->ticks;
    row->cpu_ns += given->cpu_ns;
    row->cpu_known |= given->cpu_ns > 0;
    tables->left_out += given->ticks;
}

/* Takes an amount that grows. A smaller one becomes the latest one: the CPU time of a process may be read in another
 * order than the clock's, by a few microseconds. */
static void take_growing(uint64_t *amount, uint64_t *latest, uint64_t *first)
{
    if (*amount == MEASURE_UNKNOWN)
        return;
    if (*latest == MEASURE_UNKNOWN)
        *first = *amount;
    else if (*amount < *latest)
        *amount = *latest;
    *latest = *amount;
}

static void add_measure(struct measures *sums, struct measure *measure)
{
    if (sums->count++ == 0)
        *sums = (struct measures){ .count = 1,
                                   .latest = { 0, 0, MEASURE_UNKNOWN, MEASURE_UNKNOWN, MEASURE_UNKNOWN },
                                   .most_resident_bytes = MEASURE_UNKNOWN,
                                   .first_cpu_ns = MEASURE_UNKNOWN,
                                   .first_recorder_cpu_ns = MEASURE_UNKNOWN };
    struct measure *latest = &sums->latest;
    latest->process = measure->process;
    latest->time_ns = measure->time_ns;
    take_growing(&measure->cpu_ns, &latest->cpu_ns, &sums->first_cpu_ns);
    take_growing(&measure->recorder_cpu_ns, &latest->recorder_cpu_ns, &sums->first_recorder_cpu_ns);
    if (measure->resident_bytes == MEASURE_UNKNOWN)
        return;
    latest->resident_bytes = measure->resident_bytes;
    if (sums->most_resident_bytes == MEASURE_UNKNOWN || measure->resident_bytes > sums->most_resident_bytes)
        sums->most_resident_bytes = measure->resident_bytes;
}

static bool tables_take_measure(struct tables *tables, struct measure *measure, struct fault *why)
{
    const uint32_t process = measure->process;
    tables_note_time(tables, measure->time_ns);
    if (known_process(tables, process)) {
        add_measure(&tables->processes[process].measures, measure);
        return true;
    }
    measure->process = 0;
    return is_loss(tables, "a measure of process", process, why);
}

static void count_failure(struct tables *tables, const struct failed *failed)
{
    tables->failed++;
    tables->failures[failed->cause < FAILURE_KINDS ? failed->cause : 0]++;
}

/* Counts missed ticks of a process; 0: of all processes. */
static void count_missed(struct tables *tables, uint64_t missed, uint32_t process)
{
    struct process_ticks *own = known_process(tables, process) ? &tables->processes[process].own : NULL;
    const uint64_t latest_ns = own ? own->stands_ns : tables->stands_ns;
    const uint64_t missed_ns = missed * (latest_ns ? latest_ns : tables->recording.interval_ns);
    tables->missed += missed;
    tables->missed_ns += missed_ns;
    if (!own)
        return;
    own->missed += missed;
    own->missed_ns += missed_ns;
}

/* Sets the stack of CPU time. A frame whose definition was lost is no frame. */
static void take_left_out_stack(struct tables *tables, struct left_out *left_out)
{
    if (is_lost_frame(tables, left_out->frame))
        left_out->frame = 0;
    left_out->stack = left_out->frame ? tables_fold(tables, 0, left_out->frame) : 0;
}

bool tables_define(struct tables *tables, struct event *event, struct fault *why)
{
    switch (event->kind) {
    case EVENT_RECORDING:
        return tables_take_recording(tables, &event->recording, why);
    case EVENT_PROCESS:
        return tables_take_process(tables, &event->process, why);
    case EVENT_PROCESS_TITLE:
        return tables_take_title(tables, &event->change, why);
    case EVENT_PROCESS_END:
        return tables_take_process_end(tables, &event->process_end, why);
    case EVENT_THREAD:
        return tables_take_thread(tables, &event->thread, why);
    case EVENT_PROCESS_ATTRIBUTES:
        return tables_take_attributes(tables, &event->change, why);
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_END:
        return take_thread_change(tables, event->kind, &event->change, why);
    case EVENT_TASK:
        return tables_take_task(tables, &event->task, why);
    case EVENT_TASK_WAITER:
        return tables_take_task_waiter(tables, &event->task_waiter, why);
    case EVENT_STRING:
        return tables_take_string(tables, &event->string, why);
    case EVENT_FUNCTION:
        return tables_take_function(tables, &event->function, why);
    case EVENT_FRAME:
        return tables_take_frame(tables, &event->frame, why);
    case EVENT_MODULE:
        return tables_take_module(tables, &event->module, why);
    case EVENT_SAMPLE:
        return tables_take_sample(tables, event, why);
    case EVENT_LEFT_OUT:
        take_left_out_stack(tables, &event->left_out);
        return find_thread(tables, event->left_out.thread) ||
               is_loss(tables, "a change of thread", event->left_out.thread, why);
    case EVENT_MEASURE:
        return tables_take_measure(tables, &event->measure, why);
    case EVENT_FAILED:
        count_failure(tables, &event->failed);
        return true;
    case EVENT_MISSED:
        count_missed(tables, event->missed, event->missed_process);
        return true;
    case EVENT_TICK:
        tables->ticks += 1 + event->more_ticks;
        if (known_process(tables, event->tick_process))
            tables->processes[event->tick_process].own.ticks += 1 + event->more_ticks;
        tables_note_time(tables, event->tick_ns);
        return true;
    case EVENT_COUNTER:
        return counters_set(&tables->counters, event->counter.name, event->counter.value, why);
    case EVENT_SERIAL:
        return true;
    case EVENT_RUN:
        break; /* made behind the tables */
    case EVENT_END:
        tables->end = event->end;
        return true;
    }
    return fault(why, "an event of unknown kind %d", (int)event->kind);
}

void tables_count(struct tables *tables, const struct event *event)
{
    if (event->kind == EVENT_RUN && event->run.stack != STACK_LOST)
        count_run(tables, &event->run);
    else if (event->kind == EVENT_LEFT_OUT)
        count_left_out(tables, &event->left_out);
}

bool tables_take(struct tables *tables, struct event *event, struct fault *why)
{
    if (!tables_define(tables, event, why))
        return false;
    tables_count(tables, event);
    return true;
}

static void settle_title(const struct tables *tables, struct process_row *row)
{
    if (row->titles.count == 0)
        return;
    const struct text title = titles_longest(&row->titles, row->end_ns ? row->end_ns : tables_end_ns(tables));
    tables_drop(&row->process.command);
    row->process.command = text_copy(title);
}

void tables_end_taking(struct tables *tables)
{
    id_index_free(&tables->stack_index);
    for (size_t i = 1; i < tables->processes_count; i++)
        settle_title(tables, &tables->processes[i]);
}

struct text tables_string(const struct tables *tables, uint32_t string)
{
    return known_string(tables, string) ? tables->strings[string] : (struct text){ 0 };
}

const struct task_row *tables_task(const struct tables *tables, uint32_t task)
{
    static const struct task_row none;
    return known_task(tables, task) ? &tables->tasks[task] : &none;
}

struct text tables_thread_name(const struct tables *tables, uint32_t thread)
{
    const struct thread *row = &tables->threads[thread].thread;
    if (row->main == MAIN_THREAD)
        return TEXT("MainThread");
    if (row->name.size)
        return row->name;
    return row->task ? TEXT("Task") : TEXT("Thread");
}

bool tables_have_instructions(const struct tables *tables)
{
    for (size_t i = 1; i < tables->frames_count; i++)
        if (tables->frames[i].instruction)
            return true;
    return false;
}

uint64_t tables_interval_ns(const struct tables *tables, uint32_t thread)
{
    const uint64_t interval_ns = tables->processes[tables->threads[thread].thread.process].process.interval_ns;
    return interval_ns ? interval_ns : tables->recording.interval_ns;
}

bool tables_intervals_differ(const struct tables *tables)
{
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.interval_ns &&
            tables->processes[i].process.interval_ns != tables->recording.interval_ns)
            return true;
    return false;
}

uint64_t tables_life_ns(const struct tables *tables, uint32_t process)
{
    const struct process_row *row = &tables->processes[process];
    const uint64_t last_ns = tables_end_ns(tables), first_ns = tables->recording.from_ns;
    const uint64_t end_ns = row->end_ns && row->end_ns < last_ns ? row->end_ns : last_ns;
    const uint64_t start_ns = row->process.start_ns > first_ns ? row->process.start_ns : first_ns;
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

bool tables_not_sampled(const struct tables *tables, uint32_t stack)
{
    const bool only = stack && tables->stacks[stack].caller == 0;
    const uint32_t frame = only ? tables->stacks[stack].frame : 0;
    return frame && tables_kind(tables, frame) == KIND_HOLE &&
           text_equal(tables_function_name(tables, tables->frames[frame].function), TEXT(NOT_SAMPLED));
}

uint64_t tables_measured_cpu_ns(const struct tables *tables, uint32_t process)
{
    const struct measures *measures = &tables->processes[process].measures;
    const bool known = measures->count > 0 && measures->latest.cpu_ns != MEASURE_UNKNOWN;
    return known ? measures->latest.cpu_ns - measures->first_cpu_ns : MEASURE_UNKNOWN;
}

size_t tables_count_processes(const struct tables *tables)
{
    size_t count = 0;
    for (size_t i = 1; i < tables->processes_count; i++)
        count += tables->processes[i].process.number != 0;
    return count;
}

size_t tables_count_programs(const struct tables *tables)
{
    size_t count = tables_count_processes(tables);
    for (size_t i = 1; i < tables->processes_count; i++)
        count -= process_is_others(&tables->processes[i].process);
    return count;
}

size_t tables_count_roots(const struct tables *tables)
{
    size_t count = 0;
    for (size_t i = 1; i < tables->processes_count; i++) {
        const struct process *process = &tables->processes[i].process;
        count += process->number && !process->parent && !process_is_others(process);
    }
    return count;
}

bool tables_have_one_lock(const struct tables *tables)
{
    for (size_t i = 1; i < tables->threads_count; i++)
        if (tables->threads[i].thread.interpreter)
            return false;
    return tables_count_programs(tables) == 1 && !(tables_first_process(tables)->build & BUILD_FREE_THREADED);
}

const struct process *tables_first_process(const struct tables *tables)
{
    static const struct process none;
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.number)
            return &tables->processes[i].process;
    return &none;
}

static void free_recording(struct recording *recording)
{
    tables_drop(&recording->pyreel_version);
    tables_drop(&recording->host);
    tables_drop(&recording->kernel);
    tables_drop(&recording->machine);
    tables_drop(&recording->processor);
    tables_drop(&recording->mode);
    tables_drop(&recording->threads_option);
    tables_drop(&recording->command);
}

void tables_free(struct tables *tables)
{
    if (tables->has_recording)
        free_recording(&tables->recording);
    for (size_t i = 0; i < tables->strings_count; i++)
        tables_drop(&tables->strings[i]);
    for (size_t i = 0; i < tables->linker_names_room; i++)
        tables_drop(&tables->linker_names[i]);
    free(tables->linker_names);
    for (size_t i = 0; i < tables->modules_count; i++)
        tables_drop(&tables->modules[i].build_id);
    for (size_t i = 0; i < tables->processes_count; i++) {
        tables_drop(&tables->processes[i].process.executable);
        tables_drop(&tables->processes[i].process.command);
        tables_drop(&tables->processes[i].process.folder);
        tables_drop(&tables->processes[i].process.build_id);
        tables_drop(&tables->processes[i].process.attributes);
        tables_drop(&tables->processes[i].process.recording);
        titles_free(&tables->processes[i].titles);
    }
    for (size_t i = 0; i < tables->threads_count; i++) {
        tables_drop(&tables->threads[i].thread.name);
        free(tables->threads[i].stacks);
    }
    for (size_t i = 0; i < tables->tasks_count; i++)
        tables_drop(&tables->tasks[i].task.name);
    free(tables->strings);
    free(tables->functions);
    free(tables->frames);
    free(tables->processes);
    free(tables->threads);
    free(tables->tasks);
    free(tables->stacks);
    id_index_free(&tables->stack_index);
    intern_pairs_free(&tables->module_rows);
    free(tables->modules);
    intern_pairs_free(&tables->lives);
    counters_free(&tables->counters);
    *tables = (struct tables){ 0 };
}
