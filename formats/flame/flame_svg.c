/* SPDX-License-Identifier: MIT */
#include "formats/flame/flame_svg.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/flame/flame_tree.h"
#include "formats/flame/short_text.h"
#include "formats/frames/weight_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH     1200.0
#define MARGIN    5.0
#define ROW       18
#define HEADING   30
#define NARROWEST 0.4                  /* pixels of a box that is drawn */
#define CHARACTER 6.7                  /* pixels of a character, on average */
#define WORDS     30.0                 /* pixels of a box that has words */
#define MADE_BY   "<!-- pyreel-flame " /* stands in the head of each picture */

/* The colours of the page (page/colours.js), and whether the words on them are light. */
static const struct {
    const char *fill;
    bool dark;
} colours[CODE_KINDS] = {
    [CODE_OTHER] = { "#a7adb6", false },   [CODE_PROGRAM] = { "#f0b03f", false }, [CODE_PACKAGE] = { "#7cc0ee", false },
    [CODE_LIBRARY] = { "#4cae8d", false }, [CODE_IMPORT] = { "#ece28a", false },  [CODE_NATIVE] = { "#2c6da6", true },
    [CODE_GC] = { "#d68fb8", false },      [CODE_ASYNCIO] = { "#7763ad", true },  [CODE_WAITING] = { "#c24e17", true },
    [CODE_IDLE] = { "#dcdfe4", false },
};
#define COLOUR_GROUP "#5b6673"
#define COLOUR_ROOT  "#414b57"

struct svg {
    struct output *to;
    struct flame_tree shown;
    enum aggregate_sum weight;
    double whole;
    double *behind; /* by depth: where the next box begins */
    size_t behind_room;
    char *title;
    struct bytes scratch;
};

/* ---- texts ---- */

/* Writes a text as XML: a recording may have any characters in it. */
static void put_xml(struct output *to, struct text text)
{
    struct text clean = utf8_clean(text);
    for (size_t i = 0; i < clean.size; i++) {
        const unsigned char c = (unsigned char)clean.bytes[i];
        if (c == '&')
            output_string(to, "&amp;");
        else if (c == '<')
            output_string(to, "&lt;");
        else if (c == '>')
            output_string(to, "&gt;");
        else
            output_bytes(to, c < ' ' || c == 0x7F ? " " : (const char *)&c, 1);
    }
    text_free(clean);
}

/* Writes the beginning of a text that fits in so many pixels. */
static void put_fitting(struct output *to, struct text text, double pixels)
{
    const size_t room = (size_t)(pixels / CHARACTER);
    size_t size = 0, characters = 0;
    while (size < text.size && characters < room) {
        size++;
        while (size < text.size && ((unsigned char)text.bytes[size] & 0xC0) == 0x80)
            size++;
        characters++;
    }
    put_xml(to, (struct text){ text.bytes, size });
    if (size < text.size)
        output_string(to, "…");
}

static void svg_put_amount(const struct svg *svg, uint64_t sum)
{
    const double share = svg->whole > 0 ? 100 * (double)sum / svg->whole : 0;
    if (svg->weight == SUM_SAMPLES)
        output_format(svg->to, "%" PRIu64 " samples, %.1f %%", sum, share);
    else
        output_format(svg->to, "%.3f s, %.1f %%", (double)sum / 1e9, share);
}

/* ---- boxes ---- */

/* The name of a node, and where its code is. */
static struct text svg_name(struct svg *svg, const struct call_node *node, struct text *place, uint32_t *line)
{
    *place = (struct text){ 0 };
    *line = 0;
    if (node->entry) {
        const struct shown_code *code = entries_code(&svg->shown.entries, node->entry);
        *place = code->file;
        *line = entries_line(&svg->shown.entries, node->entry);
        return short_text(code->name, &svg->scratch);
    }
    if (node->group == UINT32_MAX)
        return text_of(svg->title);
    const struct group *group = &svg->shown.groups.rows[node->group];
    const struct text thread = group->task.size ? group->task : group->label;
    return short_text(thread.size ? thread : group->process, &svg->scratch);
}

static void svg_put_box(struct svg *svg, const struct call_node *node, double x, double width, size_t depth)
{
    struct text place;
    uint32_t line;
    const struct text name = svg_name(svg, node, &place, &line);
    const enum code_kind kind = node->entry ? entries_code(&svg->shown.entries, node->entry)->kind : CODE_OTHER;
    const char *fill = node->entry ? colours[kind].fill : node->group == UINT32_MAX ? COLOUR_ROOT : COLOUR_GROUP;
    const bool dark = !node->entry || colours[kind].dark;
    const double y = HEADING + (double)depth * ROW;
    output_string(svg->to, "<g><title>");
    put_xml(svg->to, name);
    if (place.size) {
        output_string(svg->to, " (");
        put_xml(svg->to, place);
        if (line)
            output_format(svg->to, ":%" PRIu32, line);
        output_string(svg->to, ")");
    }
    output_string(svg->to, "\n");
    svg_put_amount(svg, node->total[svg->weight]);
    output_format(svg->to, "</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>", x, y,
                  width > 3 ? width - 1 : width, ROW - 1, fill);
    if (width >= WORDS) {
        output_format(svg->to, "<text x=\"%.2f\" y=\"%.0f\" fill=\"%s\">", x + 4, y + 13, dark ? "#ffffff" : "#16191d");
        put_fitting(svg->to, name, width - 8);
        output_string(svg->to, "</text>");
    }
    output_string(svg->to, "</g>\n");
}

/* Where the box of a node begins and how wide it is. Nodes come parents first, and siblings in their order. */
static double svg_place(struct svg *svg, const struct call_node *node, size_t depth, double *width)
{
    svg->behind = alloc_grow(svg->behind, &svg->behind_room, depth + 2, sizeof(*svg->behind));
    const double x = depth == 0 ? MARGIN : svg->behind[depth];
    *width = svg->whole > 0 ? (WIDTH - 2 * MARGIN) * (double)node->total[svg->weight] / svg->whole : 0;
    svg->behind[depth] = x + *width;
    svg->behind[depth + 1] = x;
    return x;
}

/* Calls svg_put_box() for the boxes that can be seen, if `draws`. Returns the depth of the deepest one. */
static size_t svg_walk(struct svg *svg, bool draws)
{
    const struct call_tree *tree = &svg->shown.tree;
    size_t depth = 0, deepest = 0;
    uint32_t node = 0;
    do {
        double width;
        const double x = svg_place(svg, &tree->nodes[node], depth, &width);
        if (width >= NARROWEST && draws)
            svg_put_box(svg, &tree->nodes[node], x, width, depth);
        if (width >= NARROWEST && depth > deepest)
            deepest = depth;
        node = call_tree_next(tree, node, &depth);
    } while (node);
    return deepest;
}

static void svg_write(struct svg *svg)
{
    call_tree_sort(&svg->shown.tree, svg->weight);
    svg->whole = (double)svg->shown.tree.nodes[0].total[svg->weight];
    const size_t height = HEADING + (svg_walk(svg, false) + 1) * ROW + 8;
    output_format(svg->to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%zu\" viewBox=\"0 0 %.0f %zu\" "
                  "font-size=\"12\" font-family=\"system-ui, Arial, sans-serif\">\n" MADE_BY PYREEL_VERSION " -->\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<text x=\"5\" y=\"19\" font-size=\"13\">",
                  WIDTH, height, WIDTH, height);
    put_fitting(svg->to, text_of(svg->title), WIDTH / 2);
    output_format(svg->to, ": %s, ", sum_rows[svg->weight].label);
    svg_put_amount(svg, svg->shown.tree.nodes[0].total[svg->weight]);
    output_string(svg->to, "</text>\n");
    svg_walk(svg, true);
    output_string(svg->to, "</svg>\n");
}

void flame_svg_write(struct output *to, const struct tables *tables, const struct flame_samples *samples,
                     const struct flame_style *style, struct flame_made *made)
{
    struct svg svg = { .to = to, .weight = style->weight };
    *made = (struct flame_made){ .empty = !flame_tree_make(&svg.shown, ENTRY_FUNCTION, tables, samples, style) };
    if (!style->weighted)
        svg.weight = weight_choose(samples->aggregate).weight;
    svg.title = style->title ? alloc_copy(style->title, strlen(style->title))
                             : flame_facts_title(tables, samples->aggregate, false);
    if (!made->empty)
        svg_write(&svg);
    flame_tree_free(&svg.shown);
    bytes_free(&svg.scratch);
    free(svg.behind);
    free(svg.title);
}

bool flame_svg_recognises(struct text head)
{
    return memmem(head.bytes, head.size, MADE_BY, strlen(MADE_BY));
}
