/* SPDX-License-Identifier: MIT */
#include "tests/fakes/story.h"

#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- lines ---- */

__attribute__((format(printf, 2, 3))) static void add_line(struct lines *lines, const char *format, ...)
{
    va_list values;
    lines->rows = alloc_grow(lines->rows, &lines->room, lines->count + 1, sizeof(*lines->rows));
    va_start(values, format);
    assert_true(vasprintf(&lines->rows[lines->count++], format, values) >= 0);
    va_end(values);
}

static void put_lines(struct bytes *to, const struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        put_bytes(to, lines->rows[i], strlen(lines->rows[i]));
        put_bytes(to, "\n", 1);
    }
}

static void free_lines(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->rows[i]);
    free(lines->rows);
    *lines = (struct lines){ 0 };
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- journal ---- */

#define SHOWN(text) (int)(text).size, (text).size ? (text).bytes : ""

static void note_recording(struct lines *to, const struct recording *r)
{
    add_line(to, "recording by '%.*s' on '%.*s' '%.*s' '%.*s' '%.*s'", SHOWN(r->pyreel_version), SHOWN(r->host),
             SHOWN(r->kernel), SHOWN(r->machine), SHOWN(r->processor));
    add_line(to, "mode '%.*s' threads '%.*s' command '%.*s' start %" PRIu64 " %" PRIu64, SHOWN(r->mode),
             SHOWN(r->threads_option), SHOWN(r->command), r->start_unix_ns, r->start_monotonic_ns);
    add_line(to, "interval %" PRIu64 " unit %" PRIu64 " memory %" PRIu64 " processors %" PRIu32 " attached %" PRIu32,
             r->interval_ns, r->time_unit_ns, r->memory_bytes, r->processors, r->attached);
    if (r->process_ticks)
        add_line(to, "ticks of processes");
    if (r->cores)
        add_line(to, "cores %" PRIu32, r->cores);
}

static void note_process(struct lines *to, const struct process *p)
{
    add_line(to, "process %" PRIu32 " pid %" PRIu32 " at %" PRIu64 " version %" PRIx32 " '%.*s' '%.*s' '%.*s'",
             p->number, p->pid, p->start_ns, p->python_version, SHOWN(p->executable), SHOWN(p->command),
             SHOWN(p->folder));
    if (p->build || p->build_id.size)
        add_line(to, "process %" PRIu32 " is of build %" PRIx32 " '%.*s'", p->number, p->build, SHOWN(p->build_id));
    if (p->parent_pid || p->parent)
        add_line(to, "process %" PRIu32 " is a child of %" PRIu32 " pid %" PRIu32, p->number, p->parent, p->parent_pid);
    if (p->attributes.size)
        add_line(to, "process %" PRIu32 " has '%.*s'", p->number, SHOWN(p->attributes));
    if (p->recording.size)
        add_line(to, "process %" PRIu32 " is of '%.*s' interval %" PRIu64, p->number, SHOWN(p->recording),
                 p->interval_ns);
}

static void note_process_end(struct lines *to, const struct process_end *end)
{
    add_line(to, "process %" PRIu32 " ends at %" PRIu64, end->number, end->time_ns);
    if (end->fate)
        add_line(to, "process %" PRIu32 " has fate %d status %d", end->number, (int)end->fate, end->wait_status);
}

static void note_missed(struct lines *to, uint64_t missed, uint32_t process)
{
    if (process)
        add_line(to, "missed %" PRIu64 " of process %" PRIu32, missed, process);
    else
        add_line(to, "missed %" PRIu64, missed);
}

static void note_thread(struct lines *to, const struct thread *t)
{
    char task[24] = "";
    if (t->task)
        snprintf(task, sizeof(task), " task %" PRIu32, t->task);
    add_line(
        to, "thread %" PRIu32 " of %" PRIu32 " tid %" PRIu32 " main %d interpreter %" PRIu64 " at %" PRIu64 " '%.*s'%s",
        t->number, t->process, t->tid, t->main, t->interpreter, t->start_ns, SHOWN(t->name), task);
}

static void note_frame(struct lines *to, const struct frame *f)
{
    add_line(to,
             "frame %" PRIu32 " in %" PRIu32 " line %" PRIu32 "-%" PRIu32 " columns %" PRId32 "-%" PRId32
             " instruction %" PRIu32 " of %" PRIu32,
             f->number, f->function, f->line, f->end_line, f->column, f->end_column, f->instruction, f->base);
}

static void note_end(struct lines *to, const struct end *e)
{
    add_line(to,
             "end: %s at %" PRIu64 ", %" PRIu64 " ticks, %" PRIu64 " samples, %" PRIu64 " missed, %" PRIu64
             " failed, status %d",
             event_end_reason_text(e->reason), e->time_ns, e->ticks, e->samples, e->missed, e->failed, e->wait_status);
}

/* Root first: "<module> (a.py:3); f (a.py:1)". */
static void put_stack(struct bytes *to, const struct tables *tables, uint32_t stack)
{
    if (stack == 0)
        return;
    put_stack(to, tables, tables->stacks[stack].caller);
    const struct frame *frame = &tables->frames[tables->stacks[stack].frame];
    const struct text name = tables_function_name(tables, frame->function);
    const struct text file = tables_function_file(tables, frame->function);
    char *shown = NULL;
    assert_true(asprintf(&shown, "; %.*s (%.*s:%" PRIu32 ")", SHOWN(name), SHOWN(file), frame->line) >= 0);
    put_bytes(to, shown, strlen(shown));
    free(shown);
}

static void note_run(struct journal *journal, const struct run *run)
{
    struct bytes stack = { 0 };
    put_stack(&stack, &journal->tables, run->stack);
    char status[48] = "", task[24] = "", stands[40] = "", collection[32] = "", callback[40] = "", span[80] = "";
    if (run->status || run->cpu_ns)
        snprintf(status, sizeof(status), " status %" PRIx32 " cpu %" PRIu64, run->status, run->cpu_ns);
    if (run->task)
        snprintf(task, sizeof(task), " task %" PRIu32, run->task);
    if (run->collection)
        snprintf(collection, sizeof(collection), " collection %" PRIu32, run->collection);
    if (run->callback_ns)
        snprintf(callback, sizeof(callback), " callback since %" PRIu64, run->callback_ns);
    if (!span_ids_equal(run->span, (struct span_ids){ 0 }))
        snprintf(span, sizeof(span), " span %" PRIx64 ":%" PRIx64 ":%" PRIx64, run->span.trace_high,
                 run->span.trace_low, run->span.id);
    if (run->stands_ns != tables_interval_ns(&journal->tables, run->thread))
        snprintf(stands, sizeof(stands), " stands %" PRIu64, run->stands_ns);
    add_line(&journal->ticks, "%" PRIu64 " thread %" PRIu32 "%s%s%s%s%s%s%.*s", run->time_ns, run->thread, status, task,
             collection, callback, span, stands, (int)stack.size, stack.size ? (const char *)stack.at : "");
    bytes_free(&stack);
}

static void note_tick(struct journal *journal, uint64_t time_ns, uint32_t process)
{
    struct lines *ticks = &journal->ticks;
    if (ticks->count > journal->tick_at)
        qsort(ticks->rows + journal->tick_at, ticks->count - journal->tick_at, sizeof(*ticks->rows), compare_rows);
    if (process)
        add_line(ticks, "%" PRIu64 " tick of %" PRIu32, time_ns, process);
    else
        add_line(ticks, "%" PRIu64 " tick", time_ns);
    journal->tick_at = ticks->count;
}

static void note_failed(struct lines *ticks, const struct failed *failed)
{
    const char *const what = failed->process ? "process" : "thread";
    add_line(ticks, "%" PRIu64 " %s %" PRIu32 " failed: %s", failed->time_ns, what,
             failed->process ? failed->process : failed->thread, event_failure_text(failed->cause));
}

static void note_measure(struct lines *notes, const struct measure *measure)
{
    add_line(notes, "process %" PRIu32 " at %" PRIu64 ": resident %" PRIu64 " cpu %" PRIu64 " recorder %" PRIu64,
             measure->process, measure->time_ns, measure->resident_bytes, measure->cpu_ns, measure->recorder_cpu_ns);
}

static void note_event(struct journal *journal, const struct event *event)
{
    struct lines *notes = &journal->notes;
    switch (event->kind) {
    case EVENT_RECORDING:
        note_recording(notes, &event->recording);
        break;
    case EVENT_PROCESS:
        note_process(notes, &event->process);
        break;
    case EVENT_PROCESS_TITLE:
        add_line(notes, "process %" PRIu32 " at %" PRIu64 " is '%.*s'", event->change.number, event->change.time_ns,
                 SHOWN(event->change.name));
        break;
    case EVENT_PROCESS_ATTRIBUTES:
        add_line(notes, "process %" PRIu32 " at %" PRIu64 " has '%.*s'", event->change.number, event->change.time_ns,
                 SHOWN(event->change.name));
        break;
    case EVENT_PROCESS_END:
        note_process_end(notes, &event->process_end);
        break;
    case EVENT_THREAD:
        note_thread(notes, &event->thread);
        break;
    case EVENT_THREAD_NAME:
        add_line(notes, "thread %" PRIu32 " at %" PRIu64 " is '%.*s'", event->change.number, event->change.time_ns,
                 SHOWN(event->change.name));
        break;
    case EVENT_THREAD_END:
        add_line(notes, "thread %" PRIu32 " ends at %" PRIu64, event->change.number, event->change.time_ns);
        break;
    case EVENT_TASK:
        add_line(notes, "task %" PRIu32 " of %" PRIu32 " at %" PRIu64 " '%.*s'", event->task.number,
                 event->task.process, event->task.start_ns, SHOWN(event->task.name));
        break;
    case EVENT_TASK_WAITER:
        add_line(notes, "task %" PRIu32 " at %" PRIu64 " waits for %" PRIu32 ", one of %" PRIu32 " waiting",
                 event->task_waiter.waiter, event->task_waiter.time_ns, event->task_waiter.task,
                 event->task_waiter.waiters);
        break;
    case EVENT_STRING:
        add_line(notes, "string %" PRIu32 " '%.*s'", event->string.number, SHOWN(event->string.text));
        break;
    case EVENT_FUNCTION:
        add_line(notes, "function %" PRIu32 " %" PRIu32 " %" PRIu32 " line %" PRIu32, event->function.number,
                 event->function.name, event->function.file, event->function.first_line);
        if (event->function.kind)
            add_line(notes, "kind %u module %" PRIu32, event->function.kind, event->function.module);
        if (event->function.address)
            add_line(notes, "from %" PRIx64 " on", event->function.address);
        break;
    case EVENT_FRAME:
        note_frame(notes, &event->frame);
        break;
    case EVENT_MODULE:
        add_line(notes, "module %" PRIu32 " '%.*s' %" PRIu64 " %" PRIu64 " at %" PRIu64 " from %" PRIu64,
                 event->module.path, SHOWN(event->module.build_id), event->module.code_begin, event->module.code_size,
                 event->module.code_offset, event->module.begin);
        break;
    case EVENT_MISSED:
        note_missed(notes, event->missed, event->missed_process);
        break;
    case EVENT_LEFT_OUT:
        add_line(notes, "thread %" PRIu32 " left out %" PRIu64 " until %" PRIu64 " cpu %" PRIu64,
                 event->left_out.thread, event->left_out.ticks, event->left_out.time_ns, event->left_out.cpu_ns);
        break;
    case EVENT_MEASURE:
        note_measure(notes, &event->measure);
        break;
    case EVENT_COUNTER:
        add_line(notes, "figure '%.*s' %" PRIu64, SHOWN(event->counter.name), event->counter.value);
        break;
    case EVENT_RUN:
        if (event->run.stack != STACK_LOST)
            note_run(journal, &event->run);
        break;
    case EVENT_FAILED:
        note_failed(&journal->ticks, &event->failed);
        break;
    case EVENT_TICK:
        note_tick(journal, event->tick_ns, event->tick_process);
        break;
    case EVENT_SERIAL:
        break;
    case EVENT_SAMPLE:
        fail_msg("the tables made no run of a sample");
        break;
    case EVENT_END:
        note_end(notes, &event->end);
        break;
    }
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct journal *journal = self;
    if (!tables_take(&journal->tables, event, why))
        return false;
    note_event(journal, event);
    return true;
}

struct sink journal_sink(struct journal *journal)
{
    return (struct sink){ .take = take, .self = journal };
}

void journal_tell(struct journal *journal, const struct event *story, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event event = story[i];
        struct fault why = { 0 };
        if (!take(journal, &event, &why))
            fail_msg("event %zu of the story: %s", i, why.text);
    }
}

char *journal_ticks(const struct journal *journal)
{
    struct bytes text = { 0 };
    put_lines(&text, &journal->ticks);
    put_bytes(&text, "", 1);
    return (char *)text.at;
}

char *journal_text(const struct journal *journal)
{
    struct bytes text = { 0 };
    put_lines(&text, &journal->notes);
    put_lines(&text, &journal->ticks);
    put_bytes(&text, "", 1);
    return (char *)text.at;
}

void journal_free(struct journal *journal)
{
    free_lines(&journal->notes);
    free_lines(&journal->ticks);
    tables_free(&journal->tables);
    *journal = (struct journal){ 0 };
}

void assert_same_lines(char *ours, char *wanted)
{
    size_t line = 1, at = 0, begin = 0;
    for (; ours[at] && ours[at] == wanted[at]; at++) {
        line += ours[at] == '\n';
        begin = ours[at] == '\n' ? at + 1 : begin;
    }
    if (ours[at] != wanted[at])
        fail_msg("line %zu is '%.*s' and should be '%.*s'", line, (int)strcspn(ours + begin, "\n"), ours + begin,
                 (int)strcspn(wanted + begin, "\n"), wanted + begin);
    free(ours);
    free(wanted);
}

/* ---- files ---- */

int memory_file(const void *bytes, size_t size)
{
    const int fd = memfd_create("story", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(size ? write(fd, bytes, size) : 0, size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

struct bytes file_bytes(int fd)
{
    struct bytes bytes = { 0 };
    char part[65536];
    ssize_t got;
    lseek(fd, 0, SEEK_SET);
    while ((got = read(fd, part, sizeof(part))) > 0)
        put_bytes(&bytes, part, (size_t)got);
    assert_int_equal(got, 0);
    close(fd);
    return bytes;
}

struct bytes stream_of(const struct event *story, size_t count, enum stream_codec codec)
{
    const int fd = memory_file("", 0);
    struct stream_writer writer;
    stream_writer_open(&writer, fd, codec);
    for (size_t i = 0; i < count; i++) {
        struct fault why = { 0 };
        if (!stream_write(&writer, &story[i], &why))
            fail_msg("event %zu of the story: %s", i, why.text);
    }
    stream_writer_close(&writer);
    return file_bytes(fd);
}

struct bytes stream_of_payloads(const struct bytes *header, const void *events, size_t size)
{
    const int fd = memory_file("", 0);
    struct block_writer writer;
    block_writer_open(&writer, fd, CODEC_PLAIN);
    assert_true(block_write(&writer, BLOCK_HEADER, header, NULL));
    if (size > 0)
        assert_true(block_write(&writer, BLOCK_EVENTS, &(struct bytes){ (unsigned char *)events, size, size }, NULL));
    block_writer_close(&writer);
    return file_bytes(fd);
}

/* ---- playback ---- */

static bool take_played(void *self, struct event *event, struct fault *why)
{
    struct playback *playback = self;
    const struct damage *damage = &playback->reader.blocks.damage;
    playback->journal.tables.forgiving = damage->bytes > 0 || damage->blocks > 0;
    playback->refused = !take(&playback->journal, event, why);
    return !playback->refused;
}

static void note_refusal(struct playback *playback)
{
    playback->refused = false;
    stream_reader_forgive(&playback->reader, playback->why.text);
    playback->why = (struct fault){ 0 };
}

void playback_read(struct playback *playback, const void *bytes, size_t size)
{
    const int fd = memory_file(bytes, size);
    const struct sink sink = { .take = take_played, .self = playback };
    playback->opened = stream_reader_open(&playback->reader, fd, (struct text){ 0 }, &sink, &playback->why);
    playback->reader.goes_ahead = playback->ahead;
    enum source_state state = playback->opened ? SOURCE_MORE : SOURCE_ENDED;
    while (state == SOURCE_MORE) {
        state = stream_read_block(&playback->reader, &sink, &playback->why);
        if (state == SOURCE_STOPPED && playback->refused) {
            note_refusal(playback);
            state = SOURCE_MORE;
        }
    }
    assert_int_equal(state, SOURCE_ENDED);
    stream_reader_stop(&playback->reader);
    close(fd);
}

bool playback_whole(const struct playback *playback)
{
    const struct damage *damage = &playback->reader.blocks.damage;
    return playback->opened && playback->reader.complete && damage->bytes == 0 && damage->blocks == 0 &&
           damage->duplicates == 0 && !damage->cut;
}

struct bytes assert_story_comes_back(struct playback *playback, const struct event *story, size_t count,
                                     enum stream_codec codec)
{
    const struct bytes stream = stream_of(story, count, codec);
    struct journal told = { 0 };
    playback_read(playback, stream.at, stream.size);
    journal_tell(&told, story, count);
    assert_same_lines(journal_text(&playback->journal), journal_text(&told));
    assert_true(playback_whole(playback));
    journal_free(&told);
    return stream;
}

void playback_free(struct playback *playback)
{
    journal_free(&playback->journal);
    stream_reader_close(&playback->reader);
    *playback = (struct playback){ 0 };
}
