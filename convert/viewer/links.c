/* SPDX-License-Identifier: MIT */
#include "convert/viewer/links.h"

#include "convert/viewer/address.h"
#include "formats/base/bytes.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The version of the query. Newer viewers convert a query of an older version, and what they convert for 11 to 14 is
 * not used here. For a query below 10 they look for tables that profiles no longer have, and for a query without a
 * version they draw no CPU activity. */
#define QUERY_VERSION "10"

/* A view with a search shows only stacks that have a frame of this name or of this file. The viewer applies a focus on
 * a category only when the link selects threads. */
static const struct view_row {
    const char *name, *tab, *search;
    bool inverted; /* the call tree begins with the leaves */
    bool own_code; /* only frames of the user's own code */
} views[VIEWS] = {
    [VIEW_NONE] = { .tab = "calltree" },
    [VIEW_MY_CODE] = { "my-code", "flame-graph", NULL, false, true },
    [VIEW_GIL] = { "gil", "calltree", "[waiting for GIL]", true, false },
    [VIEW_GC] = { "gc", "calltree", "<GC>", true, false },
    [VIEW_IMPORTS] = { "imports", "flame-graph", "importlib", false, false },
    [VIEW_FLAME] = { "flame", "flame-graph", NULL, false, false },
};

enum view link_view_named(const char *name)
{
    for (enum view view = VIEW_NONE + 1; view < VIEWS; view++)
        if (strcmp(name, views[view].name) == 0)
            return view;
    return VIEW_NONE;
}

bool link_viewer_fits(const char *viewer)
{
    struct address address;
    const bool fits = address_parse_server(&address, viewer, "the viewer", NULL);
    address_free(&address);
    return fits && !strchr(viewer, '\''); /* the link is printed for shells, too */
}

char *link_origin(const char *viewer)
{
    struct address address;
    if (!address_parse_server(&address, viewer, "the viewer", NULL))
        return NULL;
    char *const end = address.url + address.origin_size;
    const char *const usual_port = address.encrypted ? ":443" : ":80";
    *end = '\0';
    for (char *at = address.url; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (strcmp(end - strlen(usual_port), usual_port) == 0)
        end[-(ptrdiff_t)strlen(usual_port)] = '\0';
    return address.url;
}

static void put_char(struct bytes *to, char c)
{
    put_bytes(to, &c, 1);
}

/* Appends a value as JavaScript's encodeURIComponent() writes it. */
static void put_encoded(struct bytes *to, const char *value)
{
    for (const char *at = value; *at; at++) {
        char encoded[4];
        if (isalnum((unsigned char)*at) || strchr("-_.~", *at)) {
            put_char(to, *at);
            continue;
        }
        snprintf(encoded, sizeof(encoded), "%%%02X", (unsigned)(unsigned char)*at);
        put_string(to, encoded);
    }
}

/* Appends a number in the viewer's digits. A digit has five bits, the highest first; all digits but the last are taken
 * from the second half of the alphabet. */
static void put_index(struct bytes *to, uint32_t number)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._";
    unsigned shift = 0;
    while (number >> shift >> 5)
        shift += 5;
    for (; shift > 0; shift -= 5)
        put_char(to, digits[32 + (number >> shift & 31)]);
    put_char(to, digits[number & 31]);
}

/* Appends increasing numbers. Of three and more in a row, the first and the last are written, with a "w" between:
 * 0, 5, 6, 7, 8 is "05w8". */
static void put_indexes(struct bytes *to, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1)
            last++;
        put_index(to, numbers[i]);
        if (last > i + 1)
            put_char(to, 'w');
        if (last > i)
            put_index(to, numbers[last]);
        i = last + 1;
    }
}

/* Appends the tab and its settings. */
static void put_view(struct bytes *to, enum view view, const struct link_profile *profile)
{
    const struct view_row *row = &views[profile->lacking ? VIEW_FLAME : view];
    char setting[64];
    put_char(to, '/');
    put_string(to, row->tab);
    put_string(to, "/?");
    if (profile->threads_count) {
        put_string(to, "thread=");
        put_indexes(to, profile->threads, profile->threads_count);
        put_char(to, '&');
    }
    if (profile->to_ns > profile->from_ns) {
        const uint64_t from_us = profile->from_ns / 1000, to_us = (profile->to_ns + 999) / 1000;
        snprintf(setting, sizeof(setting), "range=%" PRIu64 "u%" PRIu64 "&", from_us, to_us - from_us);
        put_string(to, setting);
    }
    if (row->search) {
        put_string(to, "search=");
        put_encoded(to, row->search);
        put_char(to, '&');
    }
    if (row->inverted)
        put_string(to, "invertCallstack&");
    if (row->own_code && profile->threads_count) {
        snprintf(setting, sizeof(setting), "transforms=fg-%u&", profile->own_code);
        put_string(to, setting);
    }
    put_string(to, "v=" QUERY_VERSION);
}

/* Makes a link. `source` names where the viewer gets the profile, and `name` which profile; NULL: there is one only. */
static char *make_link(const char *viewer, const char *source, const char *name, enum view view,
                       const struct link_profile *profile)
{
    struct bytes link = { 0 };
    size_t size = strlen(viewer);
    while (size && viewer[size - 1] == '/')
        size--;
    put_bytes(&link, viewer, size);
    put_char(&link, '/');
    put_string(&link, source);
    if (name) {
        put_char(&link, '/');
        put_encoded(&link, name);
    }
    put_view(&link, view, profile);
    put_char(&link, '\0');
    return (char *)link.at;
}

char *link_from_url(const char *viewer, const char *url, enum view view, const struct link_profile *profile)
{
    return make_link(viewer, "from-url", url, view, profile);
}

char *link_public(const char *viewer, const char *token, enum view view, const struct link_profile *profile)
{
    return make_link(viewer, "public", token, view, profile);
}

char *link_from_page(const char *viewer, enum view view, const struct link_profile *profile)
{
    return make_link(viewer, "from-post-message", NULL, view, profile);
}
