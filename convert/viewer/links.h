/* SPDX-License-Identifier: MIT */
/* The addresses with which the Firefox Profiler opens a profile, and in the profile the view that the user asked for.
 *
 *     https://profiler.firefox.com/from-url/http%3A%2F%2F127.0.0.1%3A4242%2Fprofile.json/flame-graph/?thread=0&v=10
 *
 * A view is a tab of the viewer with its settings, such as a search. */
#ifndef PYREEL_CONVERT_VIEWER_LINKS_H
#define PYREEL_CONVERT_VIEWER_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_VIEWER "https://profiler.firefox.com" /* the viewer when the user names no other one */

enum view { VIEW_NONE, VIEW_MY_CODE, VIEW_GIL, VIEW_GC, VIEW_IMPORTS, VIEW_FLAME, VIEWS };

/* What a link says of the profile. `= {0}` leaves the choice of threads to the viewer. */
struct link_profile {
    const uint32_t *threads; /* indexes of the threads to select, in increasing order */
    size_t threads_count;
    unsigned own_code;       /* index of the category of the user's own code */
    bool lacking;            /* no sample is such as the view is about; the link then shows the flame graph */
    uint64_t from_ns, to_ns; /* the part of the profile to show, from its start; to_ns 0: all of it */
};

/* The view of this name; VIEW_NONE: there is none. */
enum view link_view_named(const char *name);

/* Whether the address can be the address of a viewer: http or https, a host, perhaps a port and a path. */
bool link_viewer_fits(const char *viewer);

/* The origin of an address that fits, as browsers write an origin: https://profiler.firefox.com. The caller frees the
 * origin, and the links below. */
char *link_origin(const char *viewer);

/* The viewer fetches the profile from `url`. */
char *link_from_url(const char *viewer, const char *url, enum view view, const struct link_profile *profile);

/* The viewer fetches the profile that the profile store has under `token`. */
char *link_public(const char *viewer, const char *token, enum view view, const struct link_profile *profile);

/* The viewer waits for a page to hand over the profile (postMessage). */
char *link_from_page(const char *viewer, enum view view, const struct link_profile *profile);

#endif
