/* SPDX-License-Identifier: MIT */
#include "formats/collapsed/collapsed.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/base/utf8.h"
#include "formats/frames/plain_name.h"
#include "formats/frames/task_frame.h"
#include "formats/intern/intern.h"
#include "formats/model/outline.h"
#include "formats/model/paths.h"
#include "formats/model/program_name.h"
#include "formats/model/task_owner.h"

#include <stdlib.h>
#include <string.h>

/* A node of the outline while the lines are made. */
struct line_node {
    uint64_t sum;   /* sum of the weight; later the number on the line */
    uint32_t child; /* first child */
    uint32_t next;  /* next sibling; while nodes are sorted: next node with the same label */
};

static const struct {
    const char *name;
    unsigned root;
} root_names[] = {
    { "recording", ROOT_RECORDING }, { "process", ROOT_PROCESS }, { "interpreter", ROOT_INTERPRETER },
    { "thread", ROOT_THREAD },       { "task", ROOT_TASK },
};

/* Functions of one name in one file, as shown. Where they begin on several lines, the line tells them apart. */
struct namesakes {
    struct intern texts;
    struct namesake {
        uint32_t line; /* at which the first of them begins */
        bool several;
    } * rows;              /* by text */
    uint32_t *of_function; /* by function: its row; 0: it is no function of Python */
};

struct collapsed {
    const struct tables *tables;
    const struct collapsed_style *style;
    bool processes; /* there are several processes, so each is named */
    struct paths paths;
    struct task_owners owners;

    struct intern frames; /* every frame as shown */
    struct bytes frame;   /* the frame that is being made */
    struct bytes place;   /* scratch: where its code is */
    struct bytes name;    /* scratch: a name without numbers */
    struct namesakes namesakes;
    uint32_t *labels;  /* by frame of the tables: its label, a number in `frames` */
    uint32_t *opcodes; /* by frame of the tables: the label of its instruction; 0: none or not wanted */
    uint32_t hidden;   /* the label of HIDDEN_FRAMES */
    bool *left_out;    /* by stack: it is left out; NULL: none is */
    struct outline outline;
    struct line_node *nodes; /* by number in the outline */
};

/* The size in bytes of a character at the start of `text` that must not be printed as it is: a control character, or
 * one that hides or turns text. 0 for other characters. */
static size_t control_size(struct text text)
{
    const unsigned char first = (unsigned char)text.bytes[0];
    if (first < 0x7F)
        return first < ' ';
    size_t size;
    const uint32_t code_point = utf8_next(text, &size);
    return code_point != UINT32_MAX && utf8_is_hidden(code_point) ? size : 0;
}

/* The number of bytes that need no replacement. */
static size_t plain_size(struct text text)
{
    size_t size = 0;
    while (size < text.size && text.bytes[size] != ';' &&
           !control_size((struct text){ text.bytes + size, text.size - size }))
        size++;
    return size;
}

static void collapsed_put_name(struct bytes *to, struct text name)
{
    if (name.size == 0)
        name = TEXT("<unknown>");
    for (;;) {
        const size_t plain = plain_size(name);
        put_bytes(to, name.bytes, plain);
        if (plain == name.size)
            return;
        name = (struct text){ name.bytes + plain, name.size - plain };
        const size_t control = control_size(name), size = control ? control : 1;
        put_bytes(to, control ? " " : ":", 1);
        name = (struct text){ name.bytes + size, name.size - size };
    }
}

static void collapsed_put_decimal(struct bytes *to, uint64_t number)
{
    to->size += output_put_digits(bytes_reserve(to, DIGITS_MOST), number);
}

/* Ends the frame that is being made. Returns its label. */
static uint32_t finish_label(struct collapsed *collapsed)
{
    bool added;
    const uint32_t label = intern_number(&collapsed->frames, collapsed->frame.at, collapsed->frame.size, &added);
    collapsed->frame.size = 0;
    return label;
}

/* Whether flame graph tools read the end of a frame as a count: a blank and digits. */
static bool ends_in_count(const struct bytes *frame)
{
    size_t at = frame->size;
    while (at > 0 && ((frame->at[at - 1] >= '0' && frame->at[at - 1] <= '9') || frame->at[at - 1] == '.'))
        at--;
    return at > 0 && at < frame->size && frame->at[at - 1] == ' ';
}

/* A frame of which nobody knows where its code is. */
static uint32_t bare_label(struct collapsed *collapsed, struct text name, enum frame_kind kind)
{
    const bool merged = kind == KIND_TASK && !(collapsed->style->ids && !collapsed->style->no_threads);
    collapsed_put_name(&collapsed->frame, merged ? task_frame_merged(name) : name);
    if (ends_in_count(&collapsed->frame))
        put_string(&collapsed->frame, " ()");
    return finish_label(collapsed);
}

/* ---- functions of one name ---- */

/* Puts a function without its line: work (app.py */
static void collapsed_put_function(struct collapsed *collapsed, uint32_t function)
{
    struct bytes *to = &collapsed->frame;
    collapsed_put_name(to, tables_function_name(collapsed->tables, function));
    put_string(to, " (");
    collapsed_put_name(to, paths_place(&collapsed->paths, collapsed->tables, function, collapsed->style->full_paths,
                                       &collapsed->place));
}

static void find_namesakes(struct collapsed *collapsed)
{
    const struct tables *tables = collapsed->tables;
    struct namesakes *namesakes = &collapsed->namesakes;
    size_t room = 0;
    namesakes->of_function = alloc_zeroed(tables->functions_count + 1, sizeof(*namesakes->of_function));
    for (uint32_t i = 1; i < tables->functions_count; i++) {
        const struct function *function = &tables->functions[i];
        bool added;
        if (!function->number || !function->file || function->module)
            continue;
        collapsed_put_function(collapsed, i);
        const uint32_t number = intern_number(&namesakes->texts, collapsed->frame.at, collapsed->frame.size, &added);
        collapsed->frame.size = 0;
        namesakes->rows = alloc_grow(namesakes->rows, &room, (size_t)number + 1, sizeof(*namesakes->rows));
        struct namesake *row = &namesakes->rows[number];
        row->line = added ? function->first_line : row->line;
        row->several |= row->line != function->first_line;
        namesakes->of_function[i] = number;
    }
}

/* The line that is shown behind a function whose lines are not wanted; 0: none. */
static uint32_t line_of_namesake(const struct collapsed *collapsed, uint32_t function)
{
    const struct namesakes *namesakes = &collapsed->namesakes;
    const uint32_t row = namesakes->of_function ? namesakes->of_function[function] : 0;
    return row && namesakes->rows[row].several ? collapsed->tables->functions[function].first_line : 0;
}

static uint32_t frame_label(struct collapsed *collapsed, const struct frame *frame)
{
    const struct tables *tables = collapsed->tables;
    const enum frame_detail detail = collapsed->style->detail;
    struct bytes *to = &collapsed->frame;
    const struct text name = tables_function_name(tables, frame->function);
    const struct function *function = &tables->functions[frame->function];
    if (function->file == 0 && function->module == 0)
        return bare_label(collapsed, name, function->kind);
    collapsed_put_function(collapsed, frame->function);
    const uint32_t line = detail == DETAIL_FUNCTIONS ? line_of_namesake(collapsed, frame->function) : frame->line;
    if (line) {
        put_string(to, ":");
        collapsed_put_decimal(to, line);
    }
    if (frame->line && frame->column >= 0 && detail == DETAIL_COLUMNS) {
        put_string(to, ":");
        collapsed_put_decimal(to, (uint64_t)frame->column + 1);
    }
    put_string(to, ")");
    return finish_label(collapsed);
}

static uint32_t opcode_label(struct collapsed *collapsed, const struct frame *frame)
{
    if (!collapsed->style->opcodes || !frame->instruction)
        return 0;
    put_string(&collapsed->frame, "[");
    collapsed_put_name(&collapsed->frame, tables_string(collapsed->tables, frame->instruction));
    put_string(&collapsed->frame, "]");
    return finish_label(collapsed);
}

static void collapsed_label_frames(struct collapsed *collapsed)
{
    const struct tables *tables = collapsed->tables;
    collapsed->labels = alloc_zeroed(tables->frames_count + 1, sizeof(*collapsed->labels));
    collapsed->opcodes = alloc_zeroed(tables->frames_count + 1, sizeof(*collapsed->opcodes));
    if (collapsed->style->detail == DETAIL_FUNCTIONS)
        find_namesakes(collapsed);
    put_string(&collapsed->frame, NO_PYTHON_FRAMES);
    collapsed->labels[0] = finish_label(collapsed);
    for (size_t i = 1; i < tables->frames_count; i++) {
        const struct frame *frame = &tables->frames[i];
        if (!frame->number)
            continue;
        collapsed->labels[i] = frame_label(collapsed, frame);
        collapsed->opcodes[i] = opcode_label(collapsed, frame);
    }
}

static void collapsed_filter_frames(struct collapsed *collapsed)
{
    collapsed->left_out = frame_filter_apply(&collapsed->style->filter, collapsed->tables, &collapsed->frames,
                                             collapsed->labels);
    put_string(&collapsed->frame, HIDDEN_FRAMES);
    collapsed->hidden = finish_label(collapsed);
}

/* ---- root frames ---- */

static unsigned root_named(struct text name)
{
    for (size_t i = 0; i < countof(root_names); i++)
        if (text_equal(text_of(root_names[i].name), name))
            return root_names[i].root;
    return 0;
}

bool collapsed_roots_named(const char *list, unsigned *roots)
{
    struct text name;
    *roots = 0;
    if (strcmp(list, "none") == 0) {
        *roots = ROOT_NONE;
        return true;
    }
    while (text_take_word(&list, &name)) {
        const unsigned root = root_named(name);
        if (!root)
            return false;
        *roots |= root;
    }
    return true;
}

static uint32_t recording_label(struct collapsed *collapsed, const struct process_row *row)
{
    collapsed_put_name(&collapsed->frame, row->process.recording);
    return finish_label(collapsed);
}

/* The recording stands behind the process unless it is a frame of its own. */
static void put_process_with_ids(struct collapsed *collapsed, const struct process_row *row)
{
    const struct process *process = &row->process;
    put_string(&collapsed->frame, "pid ");
    collapsed_put_decimal(&collapsed->frame, process->pid);
    put_string(&collapsed->frame, ": ");
    collapsed_put_name(&collapsed->frame, process->command);
    if (row->process.recording.size && !(collapsed->style->roots & ROOT_RECORDING)) {
        put_string(&collapsed->frame, " (");
        collapsed_put_name(&collapsed->frame, row->process.recording);
        put_string(&collapsed->frame, ")");
    }
}

static uint32_t process_label(struct collapsed *collapsed, const struct process_row *row)
{
    if (collapsed->style->ids) {
        put_process_with_ids(collapsed, row);
        return finish_label(collapsed);
    }
    char *title = program_name_title(row->process.command);
    collapsed_put_name(&collapsed->frame, text_of(title));
    free(title);
    return finish_label(collapsed);
}

static uint32_t interpreter_label(struct collapsed *collapsed, uint64_t interpreter)
{
    if (!collapsed->style->ids) {
        put_string(&collapsed->frame, interpreter ? "subinterpreter" : "main interpreter");
        return finish_label(collapsed);
    }
    put_string(&collapsed->frame, "interpreter ");
    collapsed_put_decimal(&collapsed->frame, interpreter);
    return finish_label(collapsed);
}

static uint32_t thread_label(struct collapsed *collapsed, uint32_t number)
{
    const struct text name = task_owner_name(&collapsed->owners, collapsed->tables, number);
    if (!collapsed->style->ids) {
        collapsed->name.size = 0;
        put_plain_name(&collapsed->name, name);
        collapsed_put_name(&collapsed->frame, (struct text){ (const char *)collapsed->name.at, collapsed->name.size });
        return finish_label(collapsed);
    }
    collapsed_put_name(&collapsed->frame, name);
    put_string(&collapsed->frame, " (");
    collapsed_put_decimal(&collapsed->frame, collapsed->tables->threads[number].thread.tid);
    put_string(&collapsed->frame, ")");
    return finish_label(collapsed);
}

static uint32_t task_label(struct collapsed *collapsed, uint32_t task)
{
    const struct text name = tables_task(collapsed->tables, task)->task.name;
    put_string(&collapsed->frame, "task");
    if (collapsed->style->ids || !task_frame_is_automatic(name)) {
        put_string(&collapsed->frame, " ");
        collapsed_put_name(&collapsed->frame, name);
    }
    return finish_label(collapsed);
}

/* Whether a root frame stands before the stacks of a thread. */
static bool has_root(const struct collapsed *collapsed, const struct thread *thread, enum collapsed_root root)
{
    const struct collapsed_style *style = collapsed->style;
    const bool usual = style->roots == ROOTS_USUAL, wanted = style->roots & root;
    switch (root) {
    case ROOT_RECORDING:
        return wanted && collapsed->tables->processes[thread->process].process.recording.size;
    case ROOT_PROCESS:
        return usual ? collapsed->processes : wanted;
    case ROOT_INTERPRETER:
        return usual ? thread->interpreter != 0 : wanted;
    case ROOT_THREAD: /* the owner of an orphaned task is unknown */
        return (usual || wanted) && !style->no_threads && (thread->tid || !thread->task);
    case ROOT_TASK:
        return (usual || wanted) && !style->no_threads && thread->task;
    case ROOT_NONE:
        break;
    }
    return false;
}

/* The node under which a thread's stacks are placed. */
static uint32_t thread_root(struct collapsed *collapsed, uint32_t number)
{
    const struct thread *thread = &collapsed->tables->threads[number].thread;
    const struct process_row *process = &collapsed->tables->processes[thread->process];
    struct outline *outline = &collapsed->outline;
    uint32_t root = 0;
    if (has_root(collapsed, thread, ROOT_RECORDING))
        root = outline_child(outline, root, recording_label(collapsed, process));
    if (has_root(collapsed, thread, ROOT_PROCESS))
        root = outline_child(outline, root, process_label(collapsed, process));
    if (has_root(collapsed, thread, ROOT_INTERPRETER))
        root = outline_child(outline, root, interpreter_label(collapsed, thread->interpreter));
    if (has_root(collapsed, thread, ROOT_THREAD))
        root = outline_child(outline, root, thread_label(collapsed, number));
    if (has_root(collapsed, thread, ROOT_TASK))
        root = outline_child(outline, root, task_label(collapsed, thread->task));
    return root;
}

/* ---- numbers ---- */

/* The number on the line. Only the total is rounded. */
static uint64_t round_off(const struct collapsed *collapsed, uint64_t sum)
{
    return collapsed->style->weight == SUM_SAMPLES ? sum : (sum + 500) / 1000;
}

/* The instruction of a stack's leaf; 0: none is shown. A leaf that is dropped or folded has none. */
static uint32_t collapsed_opcode_of(const struct collapsed *collapsed, uint32_t stack)
{
    const uint32_t frame = stack ? collapsed->tables->stacks[stack].frame : 0;
    const uint32_t label = collapsed->labels[frame];
    return label != OUTLINE_DROPPED && !(label & OUTLINE_FOLDS) ? collapsed->opcodes[frame] : 0;
}

/* The node of a stack's line. */
static uint32_t node_of_line(struct collapsed *collapsed, uint32_t root, uint32_t stack)
{
    struct outline *outline = &collapsed->outline;
    const uint32_t node = outline_node(outline, collapsed->tables, collapsed->labels, root, stack);
    if (node == root)
        return outline_child(outline, root, collapsed->hidden);
    const uint32_t opcode = collapsed_opcode_of(collapsed, stack);
    return opcode ? outline_child(outline, node, opcode) : node;
}

/* Adds up the numbers of all lines. Returns the number of rows that are shown. */
static size_t collapsed_count_samples(struct collapsed *collapsed, const struct aggregate *aggregate)
{
    const struct tables *tables = collapsed->tables;
    uint32_t *nodes = alloc_zeroed(aggregate->count + 1, sizeof(*nodes));      /* by row; 0: left out */
    uint32_t *roots = alloc_zeroed(tables->threads_count + 1, sizeof(*roots)); /* by thread; 0: not found yet */
    size_t shown = 0;
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        if (collapsed->left_out && collapsed->left_out[row->stack])
            continue;
        if (!roots[row->thread])
            roots[row->thread] = thread_root(collapsed, row->thread);
        nodes[i] = node_of_line(collapsed, roots[row->thread], row->stack);
        shown++;
    }
    outline_end_placing(&collapsed->outline);
    collapsed->nodes = alloc_zeroed((size_t)collapsed->outline.count + 1, sizeof(*collapsed->nodes));
    for (size_t i = 0; i < aggregate->count; i++)
        if (nodes[i])
            collapsed->nodes[nodes[i]].sum += aggregate->rows[i].sums[collapsed->style->weight];
    for (size_t i = 0; i <= collapsed->outline.count; i++)
        collapsed->nodes[i].sum = round_off(collapsed, collapsed->nodes[i].sum);
    free(roots);
    free(nodes);
    return shown;
}

/* ---- the order of lines ---- */

/* A frame as shown, and the nodes that have it. */
struct collapsed_shown {
    struct text text;
    uint32_t nodes; /* first node with this frame */
};

/* The shown frames by label; 0 is no label. */
static struct collapsed_shown *list_frames(const struct intern *frames)
{
    struct collapsed_shown *list = alloc_zeroed((size_t)frames->count + 1, sizeof(*list));
    for (uint32_t i = 1; i <= frames->count; i++)
        list[i].text = frames->texts[i];
    return list;
}

static int compare_shown(const void *a, const void *b)
{
    return text_compare(((const struct collapsed_shown *)a)->text, ((const struct collapsed_shown *)b)->text);
}

static void list_nodes(struct collapsed *collapsed, struct collapsed_shown *frames)
{
    for (uint32_t i = 1; i <= collapsed->outline.count; i++) {
        struct collapsed_shown *frame = &frames[collapsed->outline.nodes[i].frame];
        collapsed->nodes[i].next = frame->nodes;
        frame->nodes = i;
    }
}

/* Sorts the children of every node without comparing them: for each frame, from the last in order to the first, puts
 * each node with this frame before its parent's children so far. */
static void order_nodes(struct collapsed *collapsed, const struct collapsed_shown *frames)
{
    const size_t count = collapsed->frames.count;
    struct collapsed_shown *sorted = alloc_zeroed(count, sizeof(*sorted));
    memcpy(sorted, frames + 1, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_shown);

    struct line_node *nodes = collapsed->nodes;
    for (size_t i = count; i-- > 0;) {
        for (uint32_t node = sorted[i].nodes; node;) {
            const uint32_t same_frame = nodes[node].next;
            struct line_node *parent = &nodes[collapsed->outline.nodes[node].caller];
            nodes[node].next = parent->child;
            parent->child = node;
            node = same_frame;
        }
    }
    free(sorted);
}

/* A walk through the tree, in the order of the lines. The line of the present node is kept: going down appends a frame,
 * going up removes it. */
struct collapsed_walk {
    const struct collapsed *collapsed;
    const struct collapsed_shown *frames;
    uint32_t node;     /* 0: before the first node, or behind the last one */
    struct bytes line; /* a `;` before each frame; that before the first is not written */
};

static struct text collapsed_frame_of(const struct collapsed_walk *walk, uint32_t node)
{
    return walk->frames[walk->collapsed->outline.nodes[node].frame].text;
}

static void walk_down(struct collapsed_walk *walk, uint32_t node)
{
    const struct text frame = collapsed_frame_of(walk, node);
    put_string(&walk->line, ";");
    put_bytes(&walk->line, frame.bytes, frame.size);
    walk->node = node;
}

/* Leaves the present node. */
static void walk_up(struct collapsed_walk *walk)
{
    walk->line.size -= 1 + collapsed_frame_of(walk, walk->node).size;
    walk->node = walk->collapsed->outline.nodes[walk->node].caller;
}

/* Goes to the next node. False when there is none. Node 0 has no sibling. */
static bool walk_on(struct collapsed_walk *walk)
{
    const struct line_node *nodes = walk->collapsed->nodes;
    uint32_t next = nodes[walk->node].child;
    while (walk->node && !next) {
        next = nodes[walk->node].next;
        walk_up(walk);
    }
    if (next)
        walk_down(walk, next);
    return next;
}

static void write_line(struct output *to, const struct collapsed_walk *walk, uint64_t number)
{
    output_bytes(to, walk->line.at + 1, walk->line.size - 1);
    output_bytes(to, " ", 1);
    output_number(to, number);
    output_bytes(to, "\n", 1);
}

static void write_by_stack(struct output *to, struct collapsed_walk *walk)
{
    while (walk_on(walk))
        if (walk->collapsed->nodes[walk->node].sum)
            write_line(to, walk, walk->collapsed->nodes[walk->node].sum);
}

struct counted_line {
    uint64_t number;
    uint32_t node, rank; /* the rank of the line in the order of stacks */
};

static int compare_lines(const void *a, const void *b)
{
    const struct counted_line *left = a, *right = b;
    if (left->number != right->number)
        return left->number < right->number ? 1 : -1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Makes the line of a node anew, from the root down. `path` has room for all nodes on the way. */
static void walk_to(struct collapsed_walk *walk, uint32_t node, uint32_t *path)
{
    size_t depth = 0;
    for (; node; node = walk->collapsed->outline.nodes[node].caller)
        path[depth++] = node;
    walk->line.size = 0;
    while (depth--)
        walk_down(walk, path[depth]);
}

static size_t depth_of(const struct stack *nodes, uint32_t node)
{
    size_t depth = 0;
    for (; node; node = nodes[node].caller)
        depth++;
    return depth;
}

/* Memory grows with the lines and not with their text. */
static void write_by_count(struct output *to, struct collapsed_walk *walk)
{
    const struct collapsed *collapsed = walk->collapsed;
    struct counted_line *lines = alloc_zeroed((size_t)collapsed->outline.count + 1, sizeof(*lines));
    uint32_t *path = NULL;
    size_t count = 0, room = 0;
    while (walk_on(walk)) {
        const uint64_t number = collapsed->nodes[walk->node].sum;
        if (number)
            lines[count] = (struct counted_line){ number, walk->node, (uint32_t)count };
        count += number > 0;
    }
    qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; i++) {
        path = alloc_grow(path, &room, depth_of(collapsed->outline.nodes, lines[i].node), sizeof(*path));
        walk_to(walk, lines[i].node, path);
        write_line(to, walk, lines[i].number);
    }
    free(path);
    free(lines);
}

static void write_lines(struct output *to, struct collapsed *collapsed)
{
    struct collapsed_shown *frames = list_frames(&collapsed->frames);
    list_nodes(collapsed, frames);
    order_nodes(collapsed, frames);
    struct collapsed_walk walk = { .collapsed = collapsed, .frames = frames };
    if (collapsed->style->by_count)
        write_by_count(to, &walk);
    else
        write_by_stack(to, &walk);
    bytes_free(&walk.line);
    free(frames);
}

static void collapsed_drop(struct collapsed *collapsed)
{
    paths_free(&collapsed->paths);
    task_owner_free(&collapsed->owners);
    intern_free(&collapsed->frames);
    intern_free(&collapsed->namesakes.texts);
    free(collapsed->namesakes.rows);
    free(collapsed->namesakes.of_function);
    bytes_free(&collapsed->frame);
    bytes_free(&collapsed->place);
    bytes_free(&collapsed->name);
    outline_free(&collapsed->outline);
    free(collapsed->labels);
    free(collapsed->opcodes);
    free(collapsed->left_out);
    free(collapsed->nodes);
}

bool collapsed_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                     const struct collapsed_style *style)
{
    struct collapsed collapsed = { .tables = tables, .style = style, .processes = tables_count_processes(tables) > 1 };
    paths_find(&collapsed.paths, tables);
    task_owner_find(&collapsed.owners, tables);
    collapsed_label_frames(&collapsed);
    collapsed_filter_frames(&collapsed);
    const bool any = collapsed_count_samples(&collapsed, aggregate) > 0 || aggregate->count == 0;
    if (any)
        write_lines(to, &collapsed);
    collapsed_drop(&collapsed);
    return any;
}
