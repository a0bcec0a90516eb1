/* SPDX-License-Identifier: MIT */
#include "convert/top/view.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- measures ---- */

static const struct {
    enum window_sum sum;
    const char *label;
} measures[VIEW_MEASURES] = {
    [VIEW_CPU] = { WINDOW_CPU, "CPU time" },
    [VIEW_WALL] = { WINDOW_WALL, "wall-clock time" },
    [VIEW_BUSY] = { WINDOW_BUSY, "wall-clock time without waits" },
    [VIEW_GIL] = { WINDOW_GIL, "time with the GIL" },
    [VIEW_GIL_WAIT] = { WINDOW_GIL_WAIT, "time of waiting for the GIL" },
};

enum view_measure view_measure(const struct view *view, const struct still *still)
{
    if (view->measure_chosen)
        return view->measure;
    if (!still->cpu_known)
        return VIEW_BUSY;
    return still->mostly_waited ? VIEW_WALL : VIEW_CPU;
}

enum window_sum view_sum(enum view_measure measure)
{
    return measures[measure].sum;
}

const char *view_measure_label(enum view_measure measure)
{
    return measures[measure].label;
}

/* ---- rows ---- */

static const struct window_sums *view_sums_of(const struct view *view, const struct still_sums *sums)
{
    return view->all ? &sums->all : &sums->recent;
}

static bool is_same(bool wanted, struct text name, struct text other)
{
    return !wanted || text_equal(name, other);
}

static bool is_whose(const struct view_whose *whose, const struct group *owner)
{
    return (whose->process == 0 || whose->process == owner->number) &&
           is_same(whose->of_thread, whose->thread, owner->label) && is_same(whose->of_task, whose->task, owner->task);
}

static struct view_row *view_add_row(struct view *view)
{
    view->rows = alloc_grow(view->rows, &view->room, view->count + 1, sizeof(*view->rows));
    view->rows[view->count] = (struct view_row){ 0 };
    return &view->rows[view->count++];
}

static bool is_zero(const struct window_sums *sums)
{
    for (size_t i = 0; i < WINDOW_SUMS; i++)
        if (sums->total[i])
            return false;
    return true;
}

/* Adds the row of a function. Returns its index + 1. */
static uint32_t add_function(struct view *view, const struct still *still, uint32_t number)
{
    const struct shown_code *code = &still->codes[number];
    const bool python = code->path.size > 0;
    const struct text file = python ? paths_shorten(&still->paths, code->path) : paths_last_part(code->file);
    *view_add_row(view) = (struct view_row){ .name = code->name, .file = file, .line = code->line, .number = number };
    return (uint32_t)view->count;
}

static uint32_t view_add_line(struct view *view, const struct still *still, uint32_t number)
{
    add_function(view, still, still->entries[number].code);
    if (view->rows[view->count - 1].file.size)
        view->rows[view->count - 1].line = still->entries[number].line;
    return (uint32_t)view->count;
}

/* Without the brackets that tell an instruction from a function in a stack. */
static uint32_t add_instruction(struct view *view, const struct still *still, uint32_t number)
{
    const struct text name = still->codes[still->entries[number].code].name;
    view_add_row(view)->name = (struct text){ name.bytes + 1, name.size - 2 };
    return (uint32_t)view->count;
}

/* Makes a row for each second number of the pairs; add() adds one. */
static void view_make_rows(struct view *view, const struct still *still, enum window_sum sum, enum model_kind kind,
                           uint32_t (*add)(struct view *, const struct still *, uint32_t))
{
    const size_t numbers = kind == MODEL_FUNCTIONS ? still->codes_count : still->entries_count;
    view->by_number = alloc_grow(view->by_number, &view->by_number_room, numbers + 1, sizeof(*view->by_number));
    memset(view->by_number, 0, view->by_number_room * sizeof(*view->by_number));
    for (size_t i = 0; i < still->pairs[kind].count; i++) {
        const struct still_pair *pair = &still->pairs[kind].rows[i];
        const struct window_sums *sums = view_sums_of(view, &pair->sums);
        if (is_zero(sums) || !is_whose(&view->whose, &still->owners[pair->a]))
            continue;
        uint32_t *index = &view->by_number[pair->b];
        if (!*index)
            *index = add(view, still, pair->b);
        window_add_sums(&view->rows[*index - 1].sums, sums);
        view->whole += sums->self[sum];
    }
}

/* Who calls the function, and whom it calls. */
static void make_calls(struct view *view, const struct still *still, enum window_sum sum)
{
    for (size_t i = 0; i < still->pairs[MODEL_FUNCTIONS].count; i++)
        view->whole += view_sums_of(view, &still->pairs[MODEL_FUNCTIONS].rows[i].sums)->self[sum];
    for (size_t i = 0; i < still->pairs[MODEL_CALLS].count; i++) {
        const struct still_pair *call = &still->pairs[MODEL_CALLS].rows[i];
        const struct window_sums *sums = view_sums_of(view, &call->sums);
        const bool caller = call->b == view->function, callee = call->a == view->function;
        if (is_zero(sums) || (!caller && !callee))
            continue;
        add_function(view, still, caller ? call->a : call->b);
        struct view_row *row = &view->rows[view->count - 1];
        row->caller = caller;
        row->callee = callee;
        row->sums = *sums;
    }
}

/* Whether two owners are one row. */
static bool is_one_row(enum view_table table, const struct group *a, const struct group *b)
{
    if (a->number != b->number)
        return false;
    if (table == VIEW_PROCESSES)
        return true;
    if (table == VIEW_TASKS)
        return text_equal(a->task, b->task);
    return text_equal(a->label, b->label);
}

/* By process, thread or task, so that owners of one row follow each other. */
static int compare_owners(const void *left, const void *right, void *view)
{
    const struct group *a = *(const struct group *const *)left, *b = *(const struct group *const *)right;
    const enum view_table table = ((const struct view *)view)->table;
    int order = (a->number > b->number) - (a->number < b->number);
    if (!order && table == VIEW_TASKS)
        order = text_compare(a->task, b->task);
    if (!order && table == VIEW_THREADS)
        order = text_compare(a->label, b->label);
    return order ? order : (a > b) - (a < b);
}

static struct text view_name_of(enum view_table table, const struct group *owner)
{
    if (table == VIEW_PROCESSES)
        return owner->process;
    if (table == VIEW_TASKS)
        return owner->task;
    return owner->label.size ? owner->label : TEXT("<unknown>");
}

static struct view_whose whose_of(enum view_table table, const struct group *owner)
{
    return (struct view_whose){ .process = owner->number,
                                .of_thread = table == VIEW_THREADS,
                                .thread = owner->label,
                                .of_task = table == VIEW_TASKS,
                                .task = owner->task };
}

static void add_owner(struct view *view, const struct group *owner)
{
    const bool process = view->table == VIEW_PROCESSES;
    *view_add_row(view) = (struct view_row){ .name = view_name_of(view->table, owner),
                                             .file = process ? (struct text){ "", 0 } : owner->process,
                                             .pid = owner->pid,
                                             .whose = whose_of(view->table, owner) };
}

/* Drops the rows of those that did nothing. */
static void drop_empty_rows(struct view *view)
{
    size_t kept = 0;
    for (size_t i = 0; i < view->count; i++)
        if (!is_zero(&view->rows[i].sums))
            view->rows[kept++] = view->rows[i];
    view->count = kept;
}

static void make_owners(struct view *view, const struct still *still)
{
    const struct group **owners = alloc_zeroed(still->owners_count + 1, sizeof(const struct group *));
    const struct group *before = NULL;
    size_t count = 0;
    for (size_t i = 0; i < still->owners_count; i++)
        if (is_whose(&view->whose, &still->owners[i]) && (view->table != VIEW_TASKS || still->owners[i].task.size))
            owners[count++] = &still->owners[i];
    qsort_r(owners, count, sizeof(const struct group *), compare_owners, view);
    for (size_t i = 0; i < count; i++) {
        if (!before || !is_one_row(view->table, before, owners[i]))
            add_owner(view, owners[i]);
        before = owners[i];
        struct view_row *row = &view->rows[view->count - 1];
        window_add_sums(&row->sums, view_sums_of(view, &still->by_owner[before - still->owners]));
        if (view->table == VIEW_TASKS || !before->task.size)
            row->threads += before->threads;
    }
    free(owners);
    drop_empty_rows(view);
}

/* ---- filter and order ---- */

/* Whether the text has these bytes somewhere; ASCII letters match whatever their case. */
static bool contains(struct text text, const char *part, size_t size)
{
    for (size_t at = 0; at + size <= text.size; at++) {
        size_t same = 0;
        while (same < size && tolower((unsigned char)text.bytes[at + same]) == tolower((unsigned char)part[same]))
            same++;
        if (same == size)
            return true;
    }
    return false;
}

static void filter_rows(struct view *view)
{
    size_t kept = 0;
    view->matching = view->count;
    for (size_t i = 0; i < view->count; i++)
        if (contains(view->rows[i].name, view->filter, view->filter_size) ||
            contains(view->rows[i].file, view->filter, view->filter_size))
            view->rows[kept++] = view->rows[i];
    view->count = kept;
}

/* How rows are compared. */
struct order {
    enum view_sort sort;
    enum window_sum sum;
};

static int largest(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int view_compare_names(const struct view_row *a, const struct view_row *b)
{
    int order = text_compare(a->name, b->name);
    if (!order)
        order = text_compare(a->file, b->file);
    if (!order)
        order = (a->line > b->line) - (a->line < b->line);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_rows(const void *left, const void *right, void *how)
{
    const struct view_row *a = left, *b = right;
    const struct order *order = how;
    const uint64_t *self_a = a->sums.self, *self_b = b->sums.self;
    const uint64_t *total_a = a->sums.total, *total_b = b->sums.total;
    int result = (b->caller > a->caller) - (b->caller < a->caller);
    if (!result && order->sort == VIEW_BY_SELF)
        result = largest(self_a[order->sum], self_b[order->sum]);
    if (!result && order->sort != VIEW_BY_NAME)
        result = largest(total_a[order->sum], total_b[order->sum]);
    if (!result && order->sort == VIEW_BY_TOTAL)
        result = largest(self_a[order->sum], self_b[order->sum]);
    return result ? result : view_compare_names(a, b);
}

void view_make(struct view *view, const struct still *still)
{
    const enum window_sum sum = view_sum(view_measure(view, still));
    view->count = 0;
    view->whole = 0;
    view->time_ns = view->all ? still->end_ns : still->recent_ns;
    if (view->table == VIEW_FUNCTIONS && view->lines)
        view_make_rows(view, still, sum, MODEL_LINES, view_add_line);
    else if (view->table == VIEW_FUNCTIONS)
        view_make_rows(view, still, sum, MODEL_FUNCTIONS, add_function);
    else if (view->table == VIEW_INSTRUCTIONS)
        view_make_rows(view, still, sum, MODEL_INSTRUCTIONS, add_instruction);
    else if (view->table == VIEW_CALLS)
        make_calls(view, still, sum);
    else
        make_owners(view, still);
    if (view->filter_size)
        filter_rows(view);
    else
        view->matching = view->count;
    struct order order = { view->sort, sum };
    if (view->count)
        qsort_r(view->rows, view->count, sizeof(*view->rows), compare_rows, &order);
    if (view->selected >= view->count)
        view->selected = view->count ? view->count - 1 : 0;
}

/* ---- keys ---- */

static void go_to(struct view *view, enum view_table table)
{
    view->table = table;
    view->selected = view->first = 0;
}

/* Shows the functions of a thread, a process or a task, or the calls of a function. */
static void view_enter(struct view *view)
{
    if (view->selected >= view->count || view->table == VIEW_INSTRUCTIONS)
        return;
    const struct view_row *row = &view->rows[view->selected];
    if (view->table == VIEW_FUNCTIONS || view->table == VIEW_CALLS) {
        view->function = row->number;
        go_to(view, VIEW_CALLS);
    } else {
        view->whose = row->whose;
        view->before = view->table;
        go_to(view, VIEW_FUNCTIONS);
    }
    view->filter_size = 0;
}

/* Goes back to where Enter was pressed. */
static void back(struct view *view)
{
    if (view->table == VIEW_CALLS) {
        go_to(view, VIEW_FUNCTIONS);
        return;
    }
    if (view->whose.process)
        go_to(view, view->before);
    view->whose = (struct view_whose){ 0 };
    view->filter_size = 0;
}

static void view_move(struct view *view, bool down, size_t by)
{
    const size_t last = view->count ? view->count - 1 : 0;
    if (down)
        view->selected = last - view->selected > by ? view->selected + by : last;
    else
        view->selected = view->selected > by ? view->selected - by : 0;
}

static void type(struct view *view, uint32_t key)
{
    char character[6];
    if (key == VIEW_KEY_ENTER || key == VIEW_KEY_ESCAPE) {
        view->typing = false;
        if (key == VIEW_KEY_ESCAPE)
            view->filter_size = 0;
    } else if (key == VIEW_KEY_BACK) {
        while (view->filter_size > 0 && ((unsigned char)view->filter[--view->filter_size] & 0xC0) == 0x80)
            continue;
    } else if (key >= ' ' && key < VIEW_KEY_UP && key != 0x7F) {
        const size_t size = utf8_put(character, key);
        if (view->filter_size + size <= VIEW_FILTER_MOST) {
            memcpy(view->filter + view->filter_size, character, size);
            view->filter_size += size;
        }
    }
    view->selected = view->first = 0;
}

static enum view_wish take_letter(struct view *view, uint32_t key)
{
    switch (key) {
    case 'q':
        return VIEW_QUITS;
    case 'd':
        return VIEW_DETACHES;
    case 'h':
    case '?':
        view->help = true;
        break;
    case ' ':
        view->paused = !view->paused;
        break;
    case '/':
        view->typing = true;
        view->filter_size = 0;
        break;
    case 'f':
        go_to(view, VIEW_FUNCTIONS);
        break;
    case 't':
        go_to(view, VIEW_THREADS);
        break;
    case 'p':
        go_to(view, VIEW_PROCESSES);
        break;
    case 'a':
        go_to(view, VIEW_TASKS);
        break;
    case 'o':
        go_to(view, VIEW_INSTRUCTIONS);
        break;
    case 's':
        view->sort = (view->sort + 1) % VIEW_SORTS;
        break;
    case 'l':
        view->lines = !view->lines;
        go_to(view, VIEW_FUNCTIONS);
        break;
    case 'w':
        view->all = !view->all;
        break;
    case 'm':
        view->measure = view->measure_chosen ? (view->measure + 1) % VIEW_MEASURES : VIEW_WALL;
        view->measure_chosen = true;
        break;
    case 'j':
        view_move(view, true, 1);
        break;
    case 'k':
        view_move(view, false, 1);
        break;
    default:
        break;
    }
    return VIEW_GOES_ON;
}

enum view_wish view_take_key(struct view *view, uint32_t key)
{
    const size_t page = view->page ? view->page : 1;
    if (view->help) {
        view->help = false;
        return key == 'q' ? VIEW_QUITS : VIEW_GOES_ON;
    }
    if (view->typing) {
        type(view, key);
        return VIEW_GOES_ON;
    }
    if (key < VIEW_KEY_UP)
        return take_letter(view, key);
    if (key == VIEW_KEY_UP || key == VIEW_KEY_DOWN)
        view_move(view, key == VIEW_KEY_DOWN, 1);
    else if (key == VIEW_KEY_PAGE_UP || key == VIEW_KEY_PAGE_DOWN)
        view_move(view, key == VIEW_KEY_PAGE_DOWN, page);
    else if (key == VIEW_KEY_HOME || key == VIEW_KEY_END)
        view_move(view, key == VIEW_KEY_END, SIZE_MAX);
    else if (key == VIEW_KEY_TAB)
        go_to(view, (view->table + 1) % VIEW_CALLS);
    else if (key == VIEW_KEY_ENTER)
        view_enter(view);
    else if (key == VIEW_KEY_BACK || key == VIEW_KEY_ESCAPE)
        back(view);
    return VIEW_GOES_ON;
}

void view_free(struct view *view)
{
    free(view->rows);
    free(view->by_number);
    *view = (struct view){ 0 };
}
