/* SPDX-License-Identifier: MIT */
/* Tables of the hottest functions, lines, files, modules, threads, tasks and instructions. */
#include "formats/report/report_internal.h"

#include "formats/base/alloc.h"
#include "formats/frames/task_frame.h"
#include "formats/frames/waiting.h"

#include <inttypes.h>
#include <stdlib.h>

#define GROUPS_MOST 3    /* groups that have tables of their own; more have one table in common */
#define ROWS_ALONE  10   /* rows of a table unless the user wants another number: of a group alone, ... */
#define ROWS_EACH   6    /* ... of one of several, ... */
#define ROWS_MANY   20   /* ... and where there is one table */
#define LEADS_TOTAL 0.9  /* share of the time below a function that only leads to it, ... */
#define LEADS_SELF  0.01 /* ... and in the function itself */

/* Self, total and waits of each entry, in the unit of the weight. */
struct amounts {
    uint64_t self, total, waits;
};

/* A wait is a call of its own in the tree. In a table it belongs to the function in which the thread waited. */
static void give_waits(const struct report *report, const struct section_calls *calls, uint32_t top,
                       struct amounts *amounts)
{
    const struct call_tree *tree = &calls->tree;
    for (size_t i = 1; i < tree->count; i++) {
        const struct call_node *node = &tree->nodes[i];
        if ((top && node->group != tree->nodes[top].group) || !node->entry ||
            !report_is_wait(&calls->entries, node->entry))
            continue;
        const uint32_t caller = tree->nodes[node->parent].entry;
        amounts[caller].self += report_sum(report, node->self);
        amounts[caller].waits += report_sum(report, node->self);
    }
}

/* Adds up the entries below a node. Returns the amounts by entry, which the caller frees. */
static struct amounts *calls_add_up(const struct report *report, const struct section_calls *calls, uint32_t top)
{
    struct amounts *amounts = alloc_zeroed(calls->entries.count + 1, sizeof(*amounts));
    struct entry_totals *totals = totals_of(&calls->tree, top);
    for (size_t i = 1; i < calls->entries.count; i++)
        amounts[i] = (struct amounts){ .self = report_sum(report, totals[i].self),
                                       .total = report_sum(report, totals[i].total) };
    free(totals);
    give_waits(report, calls, top, amounts);
    return amounts;
}

static unsigned calls_columns(const struct section_calls *calls, const struct amounts *amounts)
{
    const struct entries *entries = &calls->entries;
    unsigned columns = COLUMN_SELF | COLUMN_TOTAL;
    for (size_t i = 1; i < entries->count; i++) {
        columns |= amounts[i].waits ? COLUMN_WAITS : 0u;
        columns |= entries_code(entries, (uint32_t)i)->file.size ? COLUMN_PLACE : 0u;
    }
    return columns;
}

static size_t rows_most(const struct report *report, size_t usual)
{
    return report->style.top || report->style.every_row ? report->style.top : usual;
}

static struct text section_title(struct report *report, enum report_sort sort, struct text group)
{
    return report_say(report, "Hottest %ss by %s %s%s%.*s", by_name(report->style.by),
                      sort == SORT_TOTAL ? "total" : "self", report_weight_label(report), group.size ? ": " : "",
                      (int)group.size, group.bytes);
}

/* What a table is about. */
struct report_tables_subject {
    uint32_t top;     /* node of the tree */
    size_t group;     /* index in report->groups + 1; 0: several groups */
    struct text name; /* of the group */
    size_t usual;     /* rows */
};

/* Whether a function only leads to what takes the time: runpy, the main loop of a web server, the start of a thread. It
 * is code of others, has all of the time, and nothing itself. A ranking by total would begin with these. */
static bool only_leads(const struct report *report, const struct shown_code *code, const struct amounts *amounts,
                       uint64_t whole)
{
    const bool others = code->kind == CODE_LIBRARY || code->kind == CODE_PACKAGE || code->kind == CODE_IMPORT ||
                        code->kind == CODE_ASYNCIO;
    return others && !report->style.every_row && (double)amounts->total >= LEADS_TOTAL * (double)whole &&
           (double)amounts->self <= LEADS_SELF * (double)whole;
}

static void note_leads(struct report *report, struct report_section *section, size_t count)
{
    if (count > 0)
        section->note = report_say(report, "%zu %s%s that only lead%s here %s left out; --tree shows %s", count,
                                   by_name(report->style.by), count == 1 ? "" : "s", count == 1 ? "s" : "",
                                   count == 1 ? "is" : "are", count == 1 ? "it" : "them");
}

/* Adds a table of the entries below a node. */
static void section_add_table(struct report *report, const struct section_calls *calls, enum report_sort sort,
                              const struct report_tables_subject *subject)
{
    struct amounts *amounts = calls_add_up(report, calls, subject->top);
    struct report_section *section = report_add_section(report, SECTION_TABLE, "hottest");
    section->title = section_title(report, sort, subject->name);
    section->rows_are = by_name(report->style.by);
    section->whole = report_sum(report, calls->tree.nodes[subject->top].total);
    section->group = subject->group;
    section->columns = calls_columns(calls, amounts);
    size_t leads = 0;
    for (uint32_t i = 1; i < calls->entries.count; i++) {
        const bool by_total = sort == SORT_TOTAL || report->style.every_row;
        const uint64_t key = by_total ? amounts[i].total : amounts[i].self;
        if (key == 0 || report_is_wait(&calls->entries, i))
            continue;
        if (sort == SORT_TOTAL && only_leads(report, entries_code(&calls->entries, i), &amounts[i], section->whole)) {
            leads++;
            continue;
        }
        struct report_row *row = report_add_row(section);
        report_describe(report, row, &calls->entries, i);
        row->self = amounts[i].self;
        row->total = amounts[i].total;
        row->waits = amounts[i].waits;
    }
    report_sort_rows(section, sort, rows_most(report, subject->usual));
    note_leads(report, section, leads);
    free(amounts);
}

static void add_both(struct report *report, const struct section_calls *calls,
                     const struct report_tables_subject *subject)
{
    if (report->style.sort != SORT_TOTAL)
        section_add_table(report, calls, SORT_SELF, subject);
    if (report->style.sort != SORT_SELF)
        section_add_table(report, calls, SORT_TOTAL, subject);
}

/* ---- threads, processes and tasks ---- */

static struct text row_thread_title(struct report *report, const struct aggregate_row *row)
{
    const struct group *group = &report->found.rows[report->found.by_thread[row->thread] - 1];
    const struct text name = report_thread_name(report, group);
    if (group->task.size || group->threads < 2)
        return name;
    return report_say(report, "%.*s, %zu threads", (int)name.size, name.bytes, group->threads);
}

/* Workers have one title, so the number of the process comes first. */
static struct text row_process_title(struct report *report, const struct aggregate_row *row)
{
    const struct group *group = &report->found.rows[report->found.by_thread[row->thread] - 1];
    const struct process_row *process = &report->tables->processes[report->tables->threads[row->thread].thread.process];
    return report_say(report, "pid %" PRIu32 " %.*s", process->process.pid, (int)group->process.size,
                      group->process.bytes);
}

/* The task that ran, or that has a stack of its own. */
static struct text task_of(struct report *report, const struct aggregate_row *row)
{
    const struct tables *tables = report->tables;
    const uint32_t own = tables->threads[row->thread].thread.task, task = own ? own : row->task;
    if (!task)
        return TEXT("[no task]");
    const struct text name = tables_task(tables, task)->task.name;
    if (!report->style.ids && task_frame_is_automatic(name))
        return TEXT("[tasks without a name]");
    return name.size ? report_keep(report, name) : TEXT("[unknown task]");
}

/* The row with this name; made if absent. `names` has the rows' numbers. */
static struct report_row *row_named(struct report_section *section, struct intern *names, struct text name)
{
    bool added;
    const uint32_t number = intern_number(names, name.bytes, name.size, &added);
    struct report_row *row = added ? report_add_row(section) : &section->rows[number - 1];
    if (added)
        row->name = name;
    return row;
}

/* Rows are threads, processes or tasks. Nothing is above such a row, so the row has no self. */
static void add_names(struct report *report, const struct entries *entries, const char *rows_are, struct text title,
                      struct text (*name_of)(struct report *report, const struct aggregate_row *row), size_t usual)
{
    const struct aggregate aggregate = report_counted(report);
    struct intern names = { 0 };
    struct report_section *section = report_add_section(report, SECTION_TABLE, "groups");
    section->title = title;
    section->rows_are = rows_are;
    section->columns = COLUMN_TOTAL;
    for (size_t i = 0; i < aggregate.count; i++) {
        const struct aggregate_row *from = &aggregate.rows[i];
        if (entries->left_out && entries->left_out[from->stack])
            continue;
        struct report_row *row = row_named(section, &names, name_of(report, from));
        row->self += report_sum(report, from->sums);
        row->total = row->self;
        section->whole += report_sum(report, from->sums);
    }
    intern_free(&names);
    report_sort_rows(section, SORT_TOTAL, rows_most(report, usual));
}

/* A table of threads, processes or tasks. */
static bool add_owners(struct report *report)
{
    static const struct {
        const char *title;
        struct text (*name_of)(struct report *report, const struct aggregate_row *row);
    } owners[BYS] = {
        [BY_THREAD] = { "Threads", row_thread_title },
        [BY_PROCESS] = { "Processes", row_process_title },
        [BY_TASK] = { "Tasks", task_of },
    };
    struct section_calls calls;
    const bool any = section_calls_make(&calls, report, &(struct section_style){ 0 });
    const enum by by = report->style.by;
    if (any)
        add_names(report, &calls.entries, by_name(by),
                  report_say(report, "%s by %s", owners[by].title, report_weight_label(report)), owners[by].name_of,
                  ROWS_MANY);
    section_calls_free(&calls);
    return any;
}

/* ---- native threads ---- */

/* The entry of the call that waited: the innermost frame that is shown and is no native code; 0: there is none. */
static uint32_t call_that_waited(const struct entries *entries, uint32_t stack)
{
    const struct tables *tables = entries->tables;
    for (; stack; stack = tables->stacks[stack].caller) {
        const uint32_t frame = tables->stacks[stack].frame, label = entries->labels[frame];
        const enum frame_kind kind = tables_kind(tables, frame);
        if (label != OUTLINE_DROPPED && kind != KIND_NATIVE && kind != KIND_KERNEL)
            return label & ~OUTLINE_FLAGS;
    }
    return 0;
}

/* Adds up, by the entry that waited: the CPU time of native threads, and how long it waited for them. */
static bool sum_native(const struct report *report, const struct entries *entries, struct amounts *amounts)
{
    bool any = false;
    for (size_t i = 0; i < report->all->count; i++) {
        const struct aggregate_row *row = &report->all->rows[i];
        const bool waited = waiting_of_group(row->group) == WAITS_FOR_NATIVE;
        if (!waited || entries_leave_out(entries, row->stack))
            continue;
        const uint32_t label = call_that_waited(entries, row->stack);
        amounts[label].total += row->native_ns;
        amounts[label].waits += row->sums[SUM_WALL_NS];
        any |= label != 0;
    }
    return any;
}

/* The calls that waited while native threads worked for them. */
static void add_native(struct report *report, const struct entries *entries)
{
    struct amounts *amounts = alloc_zeroed(entries->count + 1, sizeof(*amounts));
    if (report->weight == SUM_SAMPLES || !sum_native(report, entries, amounts)) {
        free(amounts);
        return;
    }
    struct report_section *section = report_add_section(report, SECTION_TABLE, "native");
    section->title = TEXT("CPU time of native threads by the call that waited for them");
    section->rows_are = by_name(report->style.by);
    section->whole = report->account.native_ns;
    section->columns = COLUMN_TOTAL | COLUMN_WAITS | COLUMN_PLACE;
    for (uint32_t i = 1; i < entries->count; i++) {
        if (amounts[i].waits == 0)
            continue;
        struct report_row *row = report_add_row(section);
        report_describe(report, row, entries, i);
        row->total = amounts[i].total;
        row->waits = amounts[i].waits;
    }
    report_sort_rows(section, SORT_TOTAL, rows_most(report, ROWS_EACH));
    free(amounts);
}

/* ---- functions, lines, files, modules ---- */

static size_t count_working(const struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->groups_count; i++)
        count += !report->groups[i].quiet;
    return count;
}

/* The node of a group in the tree; 0: --focus left out all of its samples. */
static uint32_t report_group_node(const struct report *report, const struct call_tree *tree,
                                  const struct report_group *group)
{
    uint32_t node = tree->nodes[0].child;
    while (node && &report->found.rows[tree->nodes[node].group] != group->from)
        node = tree->nodes[node].next;
    return node;
}

/* For programs: one table for all samples, and one for each of several groups. */
static void add_every(struct report *report, const struct section_calls *calls)
{
    const enum report_sort sort = report->style.sort == SORT_TOTAL ? SORT_TOTAL : SORT_SELF;
    section_add_table(report, calls, sort, &(struct report_tables_subject){ .top = 0 });
    for (size_t i = 0; i < report->groups_count && report->groups_count > 1; i++) {
        const struct report_group *group = &report->groups[i];
        const struct report_tables_subject subject = { .top = report_group_node(report, &calls->tree, group),
                                                       .group = i + 1,
                                                       .name = group->name };
        if (subject.top)
            section_add_table(report, calls, sort, &subject);
    }
}

/* Tables for each group that worked and has something to show. Returns whether there is one: --focus may leave none. */
static bool add_of_each(struct report *report, const struct section_calls *calls, size_t working)
{
    const size_t before = report->sections_count;
    for (size_t i = 0; i < report->groups_count; i++) {
        const struct report_group *group = &report->groups[i];
        const struct report_tables_subject subject = { .top = report_group_node(report, &calls->tree, group),
                                                       .group = i + 1,
                                                       .name = group->name,
                                                       .usual = working > 1 ? ROWS_EACH : ROWS_ALONE };
        if (!group->quiet && subject.top && report_sum(report, calls->tree.nodes[subject.top].total) > 0)
            add_both(report, calls, &subject);
    }
    return report->sections_count > before;
}

/* One table for all groups together. */
static void add_of_all(struct report *report, const struct section_calls *calls)
{
    const struct report_tables_subject all = { .usual = ROWS_ALONE };
    add_names(report, &calls->entries, "thread", report_say(report, "Threads by %s", report_weight_label(report)),
              row_thread_title, ROWS_EACH);
    add_both(report, calls, &all);
}

/* Where many groups worked, they have one table, and waits of the others must not bury their work. If those that worked
 * have nothing to show, all groups have one table. */
static bool add_entries(struct report *report, enum entry_kind kind)
{
    const size_t working = count_working(report);
    const bool many = working > GROUPS_MOST && !report->style.every_row;
    struct section_style style = { .kind = kind, .without_quiet = many && report->weight == SUM_WALL_NS };
    struct section_calls calls;
    bool any = section_calls_make(&calls, report, &style);
    if (!any && style.without_quiet) {
        section_calls_free(&calls);
        style.without_quiet = false;
        any = section_calls_make(&calls, report, &style);
    }
    report->names_quiet = true;
    if (any && report->style.every_row)
        add_every(report, &calls);
    else if (any && (many || (!add_of_each(report, &calls, working) && report->groups_count > 0)))
        add_of_all(report, &calls);
    if (any)
        add_native(report, &calls.entries);
    section_calls_free(&calls);
    return any;
}

/* ---- instructions ---- */

/* The instructions of leaves; what has none is a row of its own, so that the sum is the whole. */
static bool add_opcodes(struct report *report)
{
    struct section_calls calls;
    const bool any = section_calls_make(&calls, report, &(struct section_style){ .opcodes = true });
    const uint64_t whole = report_sum(report, calls.tree.nodes[0].total);
    uint64_t named = 0;
    struct amounts *amounts = calls_add_up(report, &calls, 0);
    bool *is_opcode = alloc_zeroed(calls.entries.count + 1, sizeof(*is_opcode));
    for (size_t i = 1; i < report->tables->frames_count; i++)
        is_opcode[calls.entries.opcodes[i]] = true;
    struct report_section *section = report_add_section(report, SECTION_TABLE, "hottest");
    section->title = section_title(report, SORT_SELF, (struct text){ "", 0 });
    section->rows_are = "instruction";
    section->whole = whole;
    section->columns = COLUMN_SELF;
    for (uint32_t i = 1; i < calls.entries.count; i++) {
        if (!is_opcode[i] || !amounts[i].self)
            continue;
        struct report_row *row = report_add_row(section);
        row->name = report_keep(report, entries_code(&calls.entries, i)->name);
        row->self = row->total = amounts[i].self;
        named += amounts[i].self;
    }
    if (whole > named) {
        struct report_row *row = report_add_row(section);
        row->name = TEXT("[not recorded]");
        row->self = row->total = whole - named;
    }
    report_sort_rows(section, SORT_SELF, rows_most(report, ROWS_MANY));
    free(is_opcode);
    free(amounts);
    section_calls_free(&calls);
    return any;
}

bool report_add_tables(struct report *report)
{
    switch (report->style.by) {
    case BY_FUNCTION:
    case BY_LINE:
    case BY_FILE:
    case BY_MODULE:
        return add_entries(report, by_entry_kind(report->style.by));
    case BY_THREAD:
    case BY_PROCESS:
    case BY_TASK:
        return add_owners(report);
    case BY_OPCODE:
        return add_opcodes(report);
    case BYS:
        break;
    }
    return true;
}
