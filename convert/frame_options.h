/* SPDX-License-Identifier: MIT */
/* The options that say which frames an output shows (formats/frames/frame_filter.h): --hide, --focus, --fold, --no-gc
 * and
 * --no-native. A converter has them when it takes TAKES_FRAMES and TAKES_FOCUS; settings.frames is then what the user
 * asked for. */
#ifndef PYREEL_CONVERT_FRAME_OPTIONS_H
#define PYREEL_CONVERT_FRAME_OPTIONS_H

#include "formats/base/arguments.h"
#include "formats/frames/frame_filter.h"

#define OPTION_FRAMES 50 /* the numbers of these options begin here */

/* `= {0}` shows all frames. */
struct frame_options {
    struct frame_filter filter;
    struct fault problem; /* the first expression that is none; empty: all are */
};

/* The rows of the options; the last is a row of zeros. */
extern const struct argument frame_options_rows[];

/* Applies the option with this number. False when the option does not accept the value. An expression that is none is
 * accepted here, and is a problem (options->problem) that has more to say. */
bool frame_options_apply(struct frame_options *options, int number, const char *value);

/* Frees the expressions. */
void frame_options_free(struct frame_options *options);

#endif
