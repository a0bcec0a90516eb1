/* SPDX-License-Identifier: MIT */
/* The options that only pyreel-gecko has: a table, which is also their help, and what the user wants by them. Which of
 * them do not go together: gecko_conflicts.h. */
#ifndef PYREEL_CONVERT_GECKO_GECKO_OPTIONS_H
#define PYREEL_CONVERT_GECKO_GECKO_OPTIONS_H

#include "convert/convert.h"
#include "convert/sharing/share.h"
#include "convert/viewer/links.h"
#include "formats/gecko/gecko.h"

/* The values of pyreel-gecko's own options: settings->wanted. */
struct gecko_wanted {
    struct gecko_style style;
    bool open, serve; /* show the profile; with `open` in a browser that we start */
    enum view view;
    const char *viewer; /* URL of the viewer; NULL: the usual one */
    bool sanitize;
    bool limits; /* --server, --max-upload or --timeout was given */
    struct share_wishes share;
};

/* The table of the options. It ends in a row of zeros. */
extern const struct argument gecko_options[];

/* Applies an option to settings->wanted, see struct converter. */
bool gecko_options_apply(struct settings *settings, int number, const char *value);

const struct gecko_wanted *gecko_options_wanted(const struct settings *settings);

/* The options for sharing, as the room of sharing takes them. */
struct share_wishes gecko_options_wishes(const struct settings *settings);

/* Whether the user wants to see the profile at once. */
bool gecko_options_shows(const struct settings *settings);

/* Whether the profile is sent while it is made, and no file is written. */
bool gecko_options_streams(const struct settings *settings);

/* Whether the name of a file says that the file is packed. */
bool gecko_options_packed(const char *path);

#endif
