/* SPDX-License-Identifier: MIT */
#include "formats/collapsed/collapsed.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/intern/intern.h"
#include "formats/model/outline.h"
#include "formats/model/paths.h"
#include "formats/model/task_frame.h"
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
    enum aggregate_sum sum;
} weights[] = {
    [WEIGHT_SAMPLES] = { "samples", SUM_SAMPLES },
    [WEIGHT_WALL] = { "wall", SUM_WALL_NS },
    [WEIGHT_CPU] = { "cpu", SUM_CPU_NS },
    [WEIGHT_GIL] = { "gil", SUM_GIL_NS },
    [WEIGHT_GIL_WAIT] = { "gil_wait", SUM_GIL_WAIT_NS },
};

struct collapsed {
    const struct tables *tables;
    const struct collapsed_style *style;
    bool processes; /* there are several processes, so each is named */
    struct paths paths;
    struct task_owners owners;

    struct intern frames; /* every frame as shown */
    struct bytes frame;   /* the frame that is being made */
    uint32_t *labels;     /* by frame of the tables: its label, a number in `frames` */
    uint32_t *opcodes;    /* by frame of the tables: the label of its instruction; 0: none or not wanted */
    struct outline outline;
    struct line_node *nodes; /* by number in the outline */
};

/* The size in bytes of a control character at the start of `text`: C0, DEL, or C1 (two bytes). 0 for other characters.
 */
static size_t control_size(struct text text)
{
    const unsigned char first = (unsigned char)text.bytes[0];
    if (first < ' ' || first == 0x7F)
        return 1;
    return first == 0xC2 && text.size > 1 && (unsigned char)text.bytes[1] < 0xA0 ? 2 : 0;
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

static void put_name(struct bytes *to, struct text name)
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

static void put_string(struct bytes *to, const char *string)
{
    put_bytes(to, string, strlen(string));
}

static void put_decimal(struct bytes *to, uint64_t number)
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

static uint32_t python_frame_label(struct collapsed *collapsed, const struct frame *frame)
{
    const struct tables *tables = collapsed->tables;
    struct bytes *to = &collapsed->frame;
    const struct text name = tables_function_name(tables, frame->function);
    const bool bare = tables->functions[frame->function].file == 0;
    put_name(to, bare && collapsed->style->no_threads ? task_frame_merged(name) : name);
    if (bare)
        return finish_label(collapsed);
    const struct text file = tables_function_file(tables, frame->function);
    put_string(to, " (");
    put_name(to, collapsed->style->full_paths ? file : paths_shorten(&collapsed->paths, file));
    if (frame->line && collapsed->style->detail != DETAIL_FUNCTIONS) {
        put_string(to, ":");
        put_decimal(to, frame->line);
    }
    put_string(to, ")");
    return finish_label(collapsed);
}

static uint32_t opcode_label(struct collapsed *collapsed, const struct frame *frame)
{
    if (!collapsed->style->opcodes || !frame->instruction)
        return 0;
    put_string(&collapsed->frame, "[");
    put_name(&collapsed->frame, tables_string(collapsed->tables, frame->instruction));
    put_string(&collapsed->frame, "]");
    return finish_label(collapsed);
}

static void label_frames(struct collapsed *collapsed)
{
    const struct tables *tables = collapsed->tables;
    collapsed->labels = alloc_zeroed(tables->frames_count + 1, sizeof(*collapsed->labels));
    collapsed->opcodes = alloc_zeroed(tables->frames_count + 1, sizeof(*collapsed->opcodes));
    put_string(&collapsed->frame, NO_PYTHON_FRAMES);
    collapsed->labels[0] = finish_label(collapsed);
    for (size_t i = 1; i < tables->frames_count; i++) {
        if (!tables->frames[i].number)
            continue;
        collapsed->labels[i] = python_frame_label(collapsed, &tables->frames[i]);
        collapsed->opcodes[i] = opcode_label(collapsed, &tables->frames[i]);
    }
}

static uint32_t process_label(struct collapsed *collapsed, const struct process_row *row)
{
    const struct process *process = &row->process;
    put_string(&collapsed->frame, "pid ");
    put_decimal(&collapsed->frame, process->pid);
    put_string(&collapsed->frame, ": ");
    put_name(&collapsed->frame, process->command);
    if (row->recording.size) {
        put_string(&collapsed->frame, " (");
        put_name(&collapsed->frame, row->recording);
        put_string(&collapsed->frame, ")");
    }
    return finish_label(collapsed);
}

static uint32_t interpreter_label(struct collapsed *collapsed, uint64_t interpreter)
{
    put_string(&collapsed->frame, "interpreter ");
    put_decimal(&collapsed->frame, interpreter);
    return finish_label(collapsed);
}

static uint32_t thread_label(struct collapsed *collapsed, uint32_t number)
{
    put_name(&collapsed->frame, task_owner_name(&collapsed->owners, collapsed->tables, number));
    put_string(&collapsed->frame, " (");
    put_decimal(&collapsed->frame, collapsed->tables->threads[number].thread.tid);
    put_string(&collapsed->frame, ")");
    return finish_label(collapsed);
}

static uint32_t task_label(struct collapsed *collapsed, uint32_t task)
{
    put_string(&collapsed->frame, "task ");
    put_name(&collapsed->frame, tables_task(collapsed->tables, task)->task.name);
    return finish_label(collapsed);
}

/* The node under which a thread's stacks are placed. */
static uint32_t thread_root(struct collapsed *collapsed, uint32_t number)
{
    const struct thread *thread = &collapsed->tables->threads[number].thread;
    struct outline *outline = &collapsed->outline;
    uint32_t root = 0;
    if (collapsed->processes) {
        const struct process_row *process = &collapsed->tables->processes[thread->process];
        root = outline_child(outline, root, process_label(collapsed, process));
    }
    if (thread->interpreter)
        root = outline_child(outline, root, interpreter_label(collapsed, thread->interpreter));
    if (collapsed->style->no_threads)
        return root;
    if (thread->tid || !thread->task) /* the owner of an orphaned task is unknown */
        root = outline_child(outline, root, thread_label(collapsed, number));
    if (thread->task)
        root = outline_child(outline, root, task_label(collapsed, thread->task));
    return root;
}

bool collapsed_weight_named(const char *name, enum collapsed_weight *weight)
{
    for (size_t i = 0; i < countof(weights); i++) {
        if (strcmp(weights[i].name, name) == 0) {
            *weight = (enum collapsed_weight)i;
            return true;
        }
    }
    return false;
}

const char *collapsed_weight_name(enum collapsed_weight weight)
{
    return weights[weight].name;
}

enum aggregate_sum collapsed_weight_sum(enum collapsed_weight weight)
{
    return weights[weight].sum;
}

/* The number on the line. Only the total is rounded. */
static uint64_t round_off(const struct collapsed *collapsed, uint64_t sum)
{
    return collapsed->style->weight == WEIGHT_SAMPLES ? sum : (sum + 500) / 1000;
}

static uint32_t leaf_node(struct collapsed *collapsed, uint32_t root, uint32_t stack)
{
    const struct tables *tables = collapsed->tables;
    const uint32_t node = outline_node(&collapsed->outline, tables, collapsed->labels, root, stack);
    const uint32_t opcode = stack ? collapsed->opcodes[tables->stacks[stack].frame] : 0;
    return opcode ? outline_child(&collapsed->outline, node, opcode) : node;
}

static void count_samples(struct collapsed *collapsed, const struct aggregate *aggregate)
{
    const struct tables *tables = collapsed->tables;
    uint32_t *nodes = alloc_zeroed(aggregate->count + 1, sizeof(*nodes));      /* by row */
    uint32_t *roots = alloc_zeroed(tables->threads_count + 1, sizeof(*roots)); /* by thread; 0: not found yet */
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        if (!roots[row->thread])
            roots[row->thread] = thread_root(collapsed, row->thread);
        nodes[i] = leaf_node(collapsed, roots[row->thread], row->stack);
    }
    outline_end_placing(&collapsed->outline);
    collapsed->nodes = alloc_zeroed((size_t)collapsed->outline.count + 1, sizeof(*collapsed->nodes));
    for (size_t i = 0; i < aggregate->count; i++)
        collapsed->nodes[nodes[i]].sum += aggregate->rows[i].sums[collapsed_weight_sum(collapsed->style->weight)];
    for (size_t i = 0; i <= collapsed->outline.count; i++)
        collapsed->nodes[i].sum = round_off(collapsed, collapsed->nodes[i].sum);
    free(roots);
    free(nodes);
}

/* A frame as shown, and the nodes that have it. */
struct shown {
    struct text text;
    uint32_t nodes; /* first node with this frame */
};

/* The shown frames by label; 0 is no label. */
static struct shown *list_frames(const struct intern *frames)
{
    struct shown *list = alloc_zeroed((size_t)frames->count + 1, sizeof(*list));
    for (uint32_t i = 1; i <= frames->count; i++)
        list[i].text = frames->texts[i];
    return list;
}

static int compare_shown(const void *a, const void *b)
{
    const struct text left = ((const struct shown *)a)->text, right = ((const struct shown *)b)->text;
    const int order = memcmp(left.bytes, right.bytes, left.size < right.size ? left.size : right.size);
    return order ? order : (left.size > right.size) - (left.size < right.size);
}

static void list_nodes(struct collapsed *collapsed, struct shown *frames)
{
    for (uint32_t i = 1; i <= collapsed->outline.count; i++) {
        struct shown *frame = &frames[collapsed->outline.nodes[i].frame];
        collapsed->nodes[i].next = frame->nodes;
        frame->nodes = i;
    }
}

/* Sorts the children of every node without comparing them: for each frame, from the last in order to the first, puts
 * each node with this frame before its parent's children so far. */
static void order_nodes(struct collapsed *collapsed, const struct shown *frames)
{
    const size_t count = collapsed->frames.count;
    struct shown *sorted = alloc_zeroed(count, sizeof(*sorted));
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

/* Walks the tree. Going down appends ";frame" to the line, going up removes it. The first ";" is not written. */
static void write_lines(struct output *to, const struct collapsed *collapsed, const struct shown *frames)
{
    const struct line_node *nodes = collapsed->nodes;
    const struct stack *outline = collapsed->outline.nodes;
    struct bytes line = { 0 };
    uint32_t node = nodes[0].child;
    while (node) {
        const struct text frame = frames[outline[node].frame].text;
        put_bytes(&line, ";", 1);
        put_bytes(&line, frame.bytes, frame.size);
        if (nodes[node].sum) {
            output_bytes(to, line.at + 1, line.size - 1);
            output_bytes(to, " ", 1);
            output_number(to, nodes[node].sum);
            output_bytes(to, "\n", 1);
        }
        if (nodes[node].child) {
            node = nodes[node].child;
            continue;
        }
        for (; node && !nodes[node].next; node = outline[node].caller)
            line.size -= 1 + frames[outline[node].frame].text.size;
        if (node)
            line.size -= 1 + frames[outline[node].frame].text.size;
        node = nodes[node].next; /* node 0 has no sibling */
    }
    bytes_free(&line);
}

static bool several_processes(const struct tables *tables)
{
    size_t count = 0;
    for (size_t i = 1; i < tables->processes_count; i++)
        count += tables->processes[i].process.number != 0;
    return count > 1;
}

static void drop(struct collapsed *collapsed)
{
    paths_free(&collapsed->paths);
    task_owner_free(&collapsed->owners);
    intern_free(&collapsed->frames);
    bytes_free(&collapsed->frame);
    outline_free(&collapsed->outline);
    free(collapsed->labels);
    free(collapsed->opcodes);
    free(collapsed->nodes);
}

void collapsed_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                     const struct collapsed_style *style)
{
    struct collapsed collapsed = { .tables = tables, .style = style, .processes = several_processes(tables) };
    paths_find(&collapsed.paths, tables);
    task_owner_find(&collapsed.owners, tables);
    label_frames(&collapsed);
    count_samples(&collapsed, aggregate);

    struct shown *frames = list_frames(&collapsed.frames);
    list_nodes(&collapsed, frames);
    order_nodes(&collapsed, frames);
    write_lines(to, &collapsed, frames);
    free(frames);
    drop(&collapsed);
}
