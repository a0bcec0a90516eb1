/* SPDX-License-Identifier: MIT */
#include "convert/symbols/c_lines.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/intern/sorted.h"
#include "formats/model/paths.h"

#include <stdlib.h>

#define MORE_MOST   4096u /* frames that are added to a stack */
#define OPENED_MOST 512   /* modules whose debug information is open */

/* ---- numbers ---- */

static uint32_t raise_of_last(const struct raises *raises)
{
    return raises->count ? raises->rows[raises->count - 1].by : 0;
}

/* Returns the number that a definition of the file has behind the filter. */
static uint32_t raised(const struct raises *raises, uint32_t number)
{
    const size_t behind = sorted_until(raises->rows, raises->count, sizeof(*raises->rows), number);
    const uint32_t by = behind && number ? raises->rows[behind - 1].by : 0;
    return number < UINT32_MAX - by ? number + by : UINT32_MAX;
}

/* The number of a definition that the filter adds behind `count` - 1 others. From here on numbers are raised by one
 * more. */
static uint32_t raise_further(struct raises *raises, size_t count)
{
    const uint32_t number = count ? (uint32_t)count : 1, by = raise_of_last(raises);
    const uint32_t from = number - by; /* the next number of the file */
    if (raises->count == 0 || raises->rows[raises->count - 1].from != from) {
        raises->rows = alloc_grow(raises->rows, &raises->room, raises->count + 1, sizeof(*raises->rows));
        raises->rows[raises->count++] = (struct raise){ from, by };
    }
    raises->rows[raises->count - 1].by = by + 1;
    return number;
}

static void raises_free(struct raises *raises)
{
    free(raises->rows);
    *raises = (struct raises){ 0 };
}

/* ---- what is added ---- */

static bool c_lines_pass(struct c_lines *lines, struct event *event, struct fault *why)
{
    return sink_take(&lines->to, event, why);
}

/* Finds the number of a text behind the filter, and adds a new text. 0 for the empty text. */
static bool c_lines_add_text(struct c_lines *lines, struct text text, uint32_t *number, struct fault *why)
{
    bool added;
    *number = 0;
    if (text.size == 0)
        return true;
    const uint32_t row = intern_number(&lines->texts, text.bytes, text.size, &added);
    lines->text_numbers = alloc_grow(lines->text_numbers, &lines->text_numbers_room, (size_t)row + 1,
                                     sizeof(*lines->text_numbers));
    if (!added) {
        *number = lines->text_numbers[row];
        return true;
    }
    *number = lines->text_numbers[row] = raise_further(&lines->strings, lines->tables->strings_count);
    struct event event = { .kind = EVENT_STRING, .string = { *number, text } };
    return c_lines_pass(lines, &event, why);
}

/* The row of `added` for the function of a place: inlined and out of line it is the same function. */
static uint32_t row_of(struct c_lines *lines, const struct debug_place *place, uint32_t module, bool *added)
{
    struct bytes key = { 0 };
    put_bytes(&key, place->name.bytes, place->name.size);
    put_bytes(&key, "", 1);
    put_bytes(&key, place->file.bytes, place->file.size);
    put_bytes(&key, "", 1);
    put_bytes(&key, &place->first_line, sizeof(place->first_line));
    put_bytes(&key, &module, sizeof(module));
    const uint32_t row = intern_number(&lines->added, key.at, key.size, added);
    bytes_free(&key);
    lines->added_numbers = alloc_grow(lines->added_numbers, &lines->added_numbers_room, (size_t)row + 1,
                                      sizeof(*lines->added_numbers));
    return row;
}

/* Finds the number of an inlined function behind the filter, and adds a new one. */
static bool c_lines_add_function(struct c_lines *lines, const struct debug_place *place, uint32_t module,
                                 uint32_t *number, struct fault *why)
{
    bool added;
    struct event event = { .kind = EVENT_FUNCTION };
    struct function *function = &event.function;
    const uint32_t row = row_of(lines, place, module, &added);
    *number = lines->added_numbers[row];
    if (!added)
        return true;
    *function = (struct function){ .kind = KIND_NATIVE, .module = module, .first_line = place->first_line };
    const struct text name = place->name.size ? place->name : TEXT("<inlined>");
    if (!c_lines_add_text(lines, name, &function->name, why) ||
        !c_lines_add_text(lines, place->file, &function->file, why))
        return false;
    *number = lines->added_numbers[row] = function->number = raise_further(&lines->functions,
                                                                           lines->tables->functions_count);
    return c_lines_pass(lines, &event, why);
}

/* ---- definitions ---- */

/* The debug information of a module; NULL: there is none. Each module is looked for once. */
static struct debug_info *debug_of(struct c_lines *lines, uint32_t path)
{
    const struct module *module = tables_module(lines->tables, path);
    bool added;
    if (!module || module->build_id.size == 0)
        return NULL;
    struct bytes key = { 0 };
    const struct text name = tables_string(lines->tables, path);
    put_bytes(&key, name.bytes, name.size);
    put_bytes(&key, "", 1);
    put_bytes(&key, module->build_id.bytes, module->build_id.size);
    const uint32_t row = intern_number(&lines->modules, key.at, key.size, &added);
    bytes_free(&key);
    lines->opened = alloc_grow(lines->opened, &lines->opened_room, (size_t)row + 1, sizeof(struct debug_info *));
    if (added && row <= OPENED_MOST)
        lines->opened[row] = debug_info_open(name, module->build_id, lines->source == DEBUG_FETCHED);
    return lines->opened[row];
}

/* Finds the places of an address in a function of C code. Returns how many; 0: nothing is known. */
static size_t find_places(struct c_lines *lines, const struct function *function, uint64_t address)
{
    if (function->kind != KIND_NATIVE || !function->module || !address || lines->source == DEBUG_NONE)
        return 0;
    struct debug_info *info = debug_of(lines, function->module);
    return info ? debug_info_find(info, address, lines->places) : 0;
}

/* Numbers of the file are raised when all is added that comes before: a number that is not defined stays so. */
static bool take_function(struct c_lines *lines, struct event *event, struct fault *why)
{
    struct function *function = &event->function;
    struct function known = *function;
    known.module = raised(&lines->strings, function->module);
    known.name = raised(&lines->strings, function->name);
    uint32_t name = 0, file = 0;
    const bool found = find_places(lines, &known, known.address) > 0;
    const struct debug_place *place = &lines->places[0];
    const bool renamed = found && place->name.size && paths_is_nameless(lines->tables, &known);
    if (found && (!c_lines_add_text(lines, place->file, &file, why) ||
                  (renamed && !c_lines_add_text(lines, place->name, &name, why))))
        return false;
    function->module = known.module;
    function->name = name ? name : raised(&lines->strings, function->name);
    function->file = file ? file : raised(&lines->strings, function->file);
    function->first_line = found ? place->first_line : function->first_line;
    function->number = raised(&lines->functions, function->number);
    if (!c_lines_pass(lines, event, why))
        return false;
    bool added = false;
    const uint32_t row = found ? row_of(lines, place, known.module, &added) : 0;
    if (added)
        lines->added_numbers[row] = event->function.number;
    return true;
}

/* Adds the frame of an inlined function behind that of `outer`, in whose machine code it is. */
static bool add_inlined(struct c_lines *lines, const struct frame *outer, size_t depth, uint32_t function,
                        struct fault *why)
{
    struct event event = { .kind = EVENT_FRAME, .frame = *outer };
    event.frame.number = raise_further(&lines->frames, lines->tables->frames_count);
    event.frame.function = function;
    event.frame.line = event.frame.end_line = lines->places[depth].line;
    event.frame.inlined = (uint32_t)depth;
    event.frame.symbol = outer->function;
    return c_lines_pass(lines, &event, why);
}

/* Finds the places of a frame of the file. Returns how many; 0: nothing is known, or they are of another function. */
static size_t places_of(struct c_lines *lines, uint32_t function, uint64_t address)
{
    const struct tables *tables = lines->tables;
    if (function >= tables->functions_count || !tables->functions[function].number)
        return 0;
    const struct function *row = &tables->functions[function];
    const size_t count = find_places(lines, row, address);
    const struct debug_place *place = &lines->places[0];
    const bool same = count > 0 && place->first_line == row->first_line &&
                      text_equal(place->file, tables_string(tables, row->file));
    return same ? count : 0;
}

static bool take_frame(struct c_lines *lines, struct event *event, struct fault *why)
{
    struct frame *frame = &event->frame;
    uint32_t inlined[DEBUG_PLACES];
    frame->function = raised(&lines->functions, frame->function);
    const size_t found = places_of(lines, frame->function, frame->address);
    const size_t places = found && lines->lines_only ? 1 : found;
    for (size_t i = 1; i < places; i++)
        if (!c_lines_add_function(lines, &lines->places[i], lines->tables->functions[frame->function].module,
                                  &inlined[i], why))
            return false;
    if (found)
        frame->line = frame->end_line = lines->places[0].line;
    frame->instruction = raised(&lines->strings, frame->instruction);
    frame->base = raised(&lines->strings, frame->base);
    frame->number = raised(&lines->frames, frame->number);
    const struct frame outer = *frame;
    if (!c_lines_pass(lines, event, why))
        return false;
    for (size_t i = 1; i < places; i++)
        if (!add_inlined(lines, &outer, i, inlined[i], why))
            return false;
    return true;
}

/* ---- samples ---- */

static uint32_t *more_frames_of(struct c_lines *lines, uint32_t thread, size_t depth)
{
    lines->more = alloc_grow(lines->more, &lines->more_room, (size_t)thread + 1, sizeof(*lines->more));
    struct more_frames *more = &lines->more[thread];
    more->rows = alloc_grow(more->rows, &more->room, depth + 1, sizeof(*more->rows));
    return more->rows;
}

/* How many frames a frame of the file has become. Those that were added have the numbers behind it. */
static uint32_t frames_of(const struct raises *frames, uint32_t frame)
{
    return frame < UINT32_MAX ? raised(frames, frame + 1) - raised(frames, frame) : 1;
}

/* Puts the frames that were added into the sample. What does not fit into a stack is left out. */
static void widen(struct c_lines *lines, struct sample *sample)
{
    const size_t depth = (size_t)sample->keep + sample->pushed;
    uint32_t *more = more_frames_of(lines, sample->thread, depth);
    size_t count = 0;
    for (uint32_t i = 0; i < sample->pushed; i++) {
        const uint32_t first = raised(&lines->frames, sample->frames[i]);
        const uint32_t added = frames_of(&lines->frames, sample->frames[i]) - 1;
        const bool fits = more[sample->keep + i] + added <= MORE_MOST && depth + MORE_MOST <= STACK_DEPTH_LIMIT;
        const uint32_t taken = fits ? added : 0;
        lines->stack = alloc_grow(lines->stack, &lines->stack_room, count + taken + 1, sizeof(*lines->stack));
        for (uint32_t at = 0; at <= taken; at++)
            lines->stack[count++] = first + at;
        more[sample->keep + i + 1] = more[sample->keep + i] + taken;
    }
    sample->keep += more[sample->keep];
    sample->pushed = (uint32_t)count;
    sample->frames = lines->stack;
}

/* A sample of an unknown thread, or one that keeps more frames than the thread has, is refused behind the filter. */
static bool take_sample(struct c_lines *lines, struct event *event, struct fault *why)
{
    struct sample *sample = &event->sample;
    const struct tables *tables = lines->tables;
    const bool sane = sample->thread < tables->threads_count && sample->keep <= tables->threads[sample->thread].depth &&
                      (uint64_t)sample->keep + sample->pushed <= STACK_DEPTH_LIMIT;
    if (sane && lines->frames.count > 0)
        widen(lines, sample);
    return c_lines_pass(lines, event, why);
}

bool c_lines_take(struct c_lines *lines, struct event *event, struct fault *why)
{
    switch (event->kind) {
    case EVENT_STRING:
        event->string.number = raised(&lines->strings, event->string.number);
        break;
    case EVENT_MODULE:
        event->module.path = raised(&lines->strings, event->module.path);
        break;
    case EVENT_FUNCTION:
        return take_function(lines, event, why);
    case EVENT_FRAME:
        return take_frame(lines, event, why);
    case EVENT_SAMPLE:
        return take_sample(lines, event, why);
    case EVENT_LEFT_OUT:
        event->left_out.frame = raised(&lines->frames, event->left_out.frame);
        break;
    default:
        break;
    }
    return c_lines_pass(lines, event, why);
}

/* ---- life ---- */

static void forget_recording(struct c_lines *lines)
{
    raises_free(&lines->strings);
    raises_free(&lines->functions);
    raises_free(&lines->frames);
    intern_free(&lines->texts);
    intern_free(&lines->added);
    for (size_t i = 0; i < lines->more_room; i++)
        free(lines->more[i].rows);
    free(lines->more);
    lines->more = NULL;
    lines->more_room = 0;
}

void c_lines_next(struct c_lines *lines, const struct tables *tables)
{
    forget_recording(lines);
    lines->tables = tables;
}

void c_lines_free(struct c_lines *lines)
{
    forget_recording(lines);
    for (size_t i = 0; i < lines->opened_room; i++)
        debug_info_close(lines->opened[i]);
    intern_free(&lines->modules);
    free(lines->opened);
    free(lines->text_numbers);
    free(lines->added_numbers);
    free(lines->stack);
    *lines = (struct c_lines){ 0 };
}
